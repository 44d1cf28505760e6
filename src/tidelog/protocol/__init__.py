"""Kafka's wire protocol as data: schemas, the codecs compiled from them, headers and frames. No I/O.

schemas/       what every message looks like, one numbered file per API (README.md is the language's manual)
parser, schema the files as values
message, messages   classes made from them on first use; `_encoder` and `_decoder` generate the functions
api, headers, frames   the table of keys and versions, and what surrounds a message on a connection
disk           what surrounds a message in an internal topic
"""
