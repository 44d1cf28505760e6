"""Where a producer puts its records, and how many go together: 003 2.1 – 2.3, 004 分区器, 分区写入策略, 实现自定义分区.

What is there today is the producer of Arrow columns; the one that takes single records comes later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pytest

from support.columns import send_rows
from tidelog.client.blocking import BlockingClient
from tidelog.client.producer.aio import Producer
from tidelog.common.errors import UsageError
from tidelog.common.hashing import murmur2, partition_for_key
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker

KEYS = [b"key-%d" % number for number in range(400)]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("t", 4)
        yield broker


def write(broker: Broker, *sends: dict[str, pa.Array], **config: str) -> Counter[int]:
    """Send, and count the records that were written to each partition."""
    with BlockingClient({"bootstrap.servers": broker.address, **config}) as client:
        producer, found = Producer.over(client.cluster), Counter[int]()
        for columns in sends:
            for tp, _, rows in client.run(send_rows(producer, "t", **columns)):
                found[tp.partition] += rows
        return found


def test_a_key_always_goes_to_the_same_partition() -> None:
    """003 2.2 散列, 004 按键保存策略: a hash of the key (murmur2) decides, so that equal keys meet in one partition."""
    assert murmur2(b"foobar") == -790332482 & 0xFFFFFFFF
    for key in KEYS:
        assert partition_for_key(key, 4) == (murmur2(key) & 0x7FFFFFFF) % 4


def test_keys_spread_evenly_over_the_partitions(broker: Broker) -> None:
    """000 文件目录结构, 004 分区器: with a sound rule messages spread evenly; the producer follows the same hash."""
    found = write(broker, {"key": pa.array(KEYS), "value": pa.array(KEYS)})
    assert found == Counter(partition_for_key(key, 4) for key in KEYS)
    assert all(60 < count < 140 for count in found.values())


def test_without_keys_partitions_take_turns(broker: Broker) -> None:
    """003 2.2 Round Robin, 004 轮询策略: without a key, partitions are used one after the other (here: per send)."""
    assert write(broker, *[{"value": pa.array([b"v"] * 10)}] * 8) == {0: 20, 1: 20, 2: 20, 3: 20}


def test_a_row_may_name_its_partition(broker: Broker) -> None:
    """004 实现自定义分区: the partition can be given with the record, which must be one that exists."""
    rows = {"value": pa.array([b"a", b"b", b"c"]), "partition": pa.array([2, 2, 0], pa.int32())}
    assert write(broker, rows) == {2: 2, 0: 1}
    with pytest.raises(UsageError, match="it has 0 to 3"):
        write(broker, {"value": pa.array([b"a"]), "partition": pa.array([4], pa.int32())})


def test_records_travel_in_batches_of_bounded_size(broker: Broker) -> None:
    """003 2.3 发送流程: records of a partition are gathered in batches; a batch that reached its size is sent."""
    rows = {"value": pa.array([bytes(100)] * 1000), "partition": pa.array([1] * 1000, pa.int32())}
    assert write(broker, rows, **{"batch.size": "16384"}) == {1: 1000}
    log = broker.server.log_manager.get(TopicPartition("t", 1))
    assert log is not None
    sizes = [header.size for segment in log.segments for _, run in segment.batches() for header in run.headers()]
    assert 6 <= len(sizes) <= 10
    assert max(sizes) <= 16384
