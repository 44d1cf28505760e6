"""Tidelog: Kafka's commit log for the Python world.

    import tidelog

    with tidelog.Producer(bootstrap_servers="localhost:9092") as producer:
        producer.send("greetings", b"hello")

`Producer`, `Consumer` and `Admin` block; those of `tidelog.aio` are for asyncio. Nothing is imported before it is used:
`import tidelog` costs next to nothing, also for a program that wants one small part.

The packages, in the order in which a record meets them, are described in ARCHITECTURE.md.
"""

__version__ = "0.1.0"

#: Where each public name lives. Type checkers read the same from `__init__.pyi`: an import here, even one that never
#: runs, would let every package below this one reach the clients, and the layers could not be checked.
_HOMES = {
    "Admin": "tidelog.client.admin.blocking",
    "CommitFailedError": "tidelog.client.consumer.commits",
    "ConnectError": "tidelog.net.stages",
    "Consumer": "tidelog.client.consumer.blocking",
    "ConsumerGroupMetadata": "tidelog.client.values",
    "ConsumerInterceptor": "tidelog.client.consumer.interceptors",
    "ConsumerRebalanceListener": "tidelog.client.consumer.listener",
    "ConsumerRecord": "tidelog.client.consumer._records",
    "ConsumerRecords": "tidelog.client.consumer.records",
    "Deserializer": "tidelog.client.serialization",
    "ErrorCode": "tidelog.common.errors",
    "KafkaError": "tidelog.common.errors",
    "NewTopic": "tidelog.client.admin.topic_values",
    "NoOffsetForPartitionError": "tidelog.client.consumer.errors",
    "Node": "tidelog.client.values",
    "OffsetAndMetadata": "tidelog.client.values",
    "OffsetAndTimestamp": "tidelog.client.values",
    "OffsetOutOfRangeError": "tidelog.client.consumer.errors",
    "PartlyQueuedError": "tidelog.client.producer.columns",
    "Partitioner": "tidelog.client.producer.partitioners",
    "Producer": "tidelog.client.producer.blocking",
    "ProducerInterceptor": "tidelog.client.producer.interceptors",
    "ProducerRecord": "tidelog.client.producer.record",
    "RecordFuture": "tidelog.client.producer._batch",
    "RecordMetadata": "tidelog.client.producer.record",
    "Serializer": "tidelog.client.serialization",
    "TidelogError": "tidelog.common.errors",
    "Token": "tidelog.client.values",
    "TopicPartition": "tidelog.common.types",
    "UsageError": "tidelog.common.errors",
    "WakeupError": "tidelog.client.consumer.errors",
    "dead_letter": "tidelog.client.consumer.handling.policies",
    "retry": "tidelog.client.consumer.handling.policies",
    "skip": "tidelog.client.consumer.handling.policies",
    "stop": "tidelog.client.consumer.handling.policies",
}

__all__ = ["__version__", *_HOMES]


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
