"""Which node a resource of type BROKER or BROKER_LOGGER names: a broker answers for itself alone.

Kafka's clients send such requests to the broker in question. One that arrives elsewhere is INVALID_REQUEST, not
forwarded: nobody else knows the values that are in force there, or has its loggers.
"""

from __future__ import annotations

from tidelog.common.errors import ErrorCode, KafkaError


def check_node(node_id: int, name: str, also: str = "") -> None:
    """Whether a resource's name is our node id; `also` says in words what else would have been accepted."""
    try:
        wanted = int(name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}") from None
    if wanted != node_id:
        text = f"Unexpected broker id, expected {node_id} {also}but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)
