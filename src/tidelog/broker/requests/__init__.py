"""The wire form of requests and answers as compiled code shares it: reading frames, writing answers, whose they are."""
