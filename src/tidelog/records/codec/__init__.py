"""Compression codecs, and the framings that Kafka gives them."""
