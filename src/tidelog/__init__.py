"""Tidelog: Kafka's commit log for the Python world.

    import tidelog

    with tidelog.Producer(bootstrap_servers="localhost:9092") as producer:
        producer.send("greetings", b"hello")

`Producer`, `Consumer` and `Admin` block; those of `tidelog.aio` are for asyncio. Nothing is imported before it is used:
`import tidelog` costs next to nothing, also for a program that wants one small part.

The packages, in the order in which a record meets them, are described in ARCHITECTURE.md.
"""

__version__ = "0.1.0"

# A name by which only type checkers know this; at run time nothing is imported here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from tidelog.client.values import ConsumerGroupMetadata, Node, OffsetAndMetadata, OffsetAndTimestamp, Token
    from tidelog.common.errors import ErrorCode, KafkaError, TidelogError, UsageError
    from tidelog.common.types import TopicPartition

#: Where each public name lives.
_HOMES = {
    "Admin": "tidelog.client.admin.blocking",
    "Consumer": "tidelog.client.consumer.blocking",
    "ConsumerGroupMetadata": "tidelog.client.values",
    "ErrorCode": "tidelog.common.errors",
    "KafkaError": "tidelog.common.errors",
    "Node": "tidelog.client.values",
    "OffsetAndMetadata": "tidelog.client.values",
    "OffsetAndTimestamp": "tidelog.client.values",
    "Producer": "tidelog.client.producer.blocking",
    "TidelogError": "tidelog.common.errors",
    "Token": "tidelog.client.values",
    "TopicPartition": "tidelog.common.types",
    "UsageError": "tidelog.common.errors",
}

__all__ = [
    "ConsumerGroupMetadata",
    "ErrorCode",
    "KafkaError",
    "Node",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TidelogError",
    "Token",
    "TopicPartition",
    "UsageError",
    "__version__",
]


def __getattr__(name: str) -> object:
    """Import a public name with its first use (PEP 562); from then on it is an attribute like any other."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tidelog' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
