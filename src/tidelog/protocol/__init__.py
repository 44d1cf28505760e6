"""Kafka's wire protocol as data: schemas, the codecs compiled from them, headers and frames. No I/O.

schemas/       what every message looks like, one numbered file per API (README.md is the language's manual)
parser, schema the files as values
message, messages   classes made from them on first use; `_encoder` and `_decoder` generate the functions
api, headers, frames   the table of keys and versions, and what surrounds a message on a connection
disk           what surrounds a message in an internal topic
consumer_protocol   what consumers tell each other through a classic group

What one has to know of the protocol to read this package:

- A connection carries frames: an int32 length, then that many bytes. A request's header names an API (its key), the
  version that the client chose for this request, and a number that the answer repeats. Nothing in a message says where
  a field begins; both sides derive it from key and version. So a reader must know the exact schema of every version,
  and a wrong guess turns the rest of the frame into noise.
- Versions only ever grow. A client asks by ApiVersions which ones the broker serves and takes the highest that both
  know, API by API. Fields come and go with versions; a *flexible* version (KIP-482, Kafka 2.4) writes shorter lengths
  and ends each struct with tagged fields, which older readers can skip, so that not every new field costs a version.
- A decoder is given bytes from strangers. Nothing is made in proportion to a number that was read, only in proportion
  to the bytes that are there.

A message class with all its versions is a table of functions, one per version, each generated from the schema when that
version is first used: an interpreter of schemas decides for every field of every message what it is, the generated code
has done so. It is also why a start needs only the few messages that somebody asks for.
"""
