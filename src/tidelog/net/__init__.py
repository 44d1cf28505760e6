"""Connections: sockets on one side, whole frames on the other. What a frame means is known above (`broker`, `client`).

The server's side, in the order of a request's way:

    listener.py             accepts, and admits: whoever owns the listener gives a connection its session
    connection_table.py     who may come, who has been silent for too long
    _connection.pyx         one connection; the next four are its parts
    _incoming.pyx           memory for what is read (`_receive.pyx`: what all connections share of it)
    _framing.pxd            where a frame ends
    _back_pressure.pyx      when the next frame is looked at, by the table in `_flow.h`
    _sending.pyx            how answers leave; `_socket_sending.pyx` in plain text, with `_outgoing.pyx`, the queue
    _sendfile_threads.pyx   threads that send files when several connections read much at once

The client's side, which brokers use among themselves as well:

    node_client.py          one broker: versions agreed on, requests and answers as messages
    dialing.py              how a connection is made; `stages.py` says what failed, and what to do
    client_connection.py    the connection; `large_buffers.py` and `gulp.py` for answers of megabytes
    fetch_session.py        what a fetcher remembers of its session (KIP-227)
    sasl/                   proving who one is, both sides

For both: `tuning.py` (socket options), `descriptors.py` (how many descriptors connections may take) and `pauses.py`
(waiting on the loop).

The server's side runs on uvloop and is compiled: it is on the way of every record. The client's runs on any
asyncio loop. Neither knows files but as slices that can be sent, nor topics, nor records.
"""

import logging

# Whether and where a log is shown is the program's choice.
logging.getLogger("tidelog").addHandler(logging.NullHandler())
