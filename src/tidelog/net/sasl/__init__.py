"""Proving who one is (SASL): the exchanges of both sides, and how Kafka's requests carry them.

An exchange is a state machine that is fed the other side's bytes and returns its own; it opens no socket and knows no
request. So both sides of a mechanism lie in one file and are tested against each other, and the broker, the clients and
the brokers among themselves use the same ones.

    exchange.py       what a mechanism is: a client's side, a server's side
    plain.py          PLAIN (RFC 4616): name and password in one message
    scram.py          SCRAM-SHA-256 and -512 (RFC 5802): both sides prove that they know the password
    oauth_bearer.py   OAUTHBEARER (RFC 7628): a token that somebody else has issued
    authenticate.py   a client's side carried by SaslHandshake and SaslAuthenticate
"""
