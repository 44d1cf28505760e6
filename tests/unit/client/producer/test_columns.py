"""Arrow tables through the one producer: the same deques, order, transactions and memory as single records."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator

import pyarrow as pa
import pytest

from support.produced import batches_of, records_of, values_of
from tidelog import Producer, aio
from tidelog.common.errors import UsageError
from tidelog.common.hashing import partition_for_key
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = f"t-{abs(hash(request.node.name))}"
    broker.create_topic(name, 4)
    return name


def numbers(count: int, start: int = 0) -> list[bytes]:
    return [b"%0100d" % number for number in range(start, start + count)]


def test_columns_by_their_names(broker: Broker, topic: str) -> None:
    headers = pa.array([[("a", b"1")], None], pa.map_(pa.string(), pa.binary()))
    table = pa.table({"k": ["x", None], "v": [b"1", None], "p": [2, 2], "h": headers, "t": [5, 6]})
    with Producer(bootstrap_servers=broker.address) as producer:
        sent = producer.send_arrow(topic, table, key="k", value="v", partition="p", headers="h", timestamp="t")
        ((tp, offset, count),) = sent.result(10)
        assert sent.done()
        with pytest.raises(UsageError, match="no column nothing"):
            producer.send_arrow(topic, table, value="nothing")
        with pytest.raises(UsageError, match="neither"):
            producer.send_arrow(topic, table)
        with pytest.raises(UsageError, match="does not have"):
            producer.send_arrow(topic, table, value="v", partition=pa.array([2, 4]))
    assert (tp.partition, offset, count) == (2, 0, 2)
    first, second = records_of(broker, topic, 2)
    assert (first.key, first.value, first.timestamp, list(first.headers)) == (b"x", b"1", 5, [("a", b"1")])
    assert (second.key, second.value, second.timestamp) == (None, None, 6)


def test_without_pyarrow_it_says_how_to_get_it(broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with (
        Producer(bootstrap_servers=broker.address) as producer,
        pytest.raises(UsageError, match=r"needs pyarrow: pip install 'tidelog\[arrow\]'"),
    ):
        producer.send_arrow(topic, {"value": [b"x"]})


def test_rows_go_where_single_records_go(broker: Broker, topic: str) -> None:
    keys = [b"key-%d" % number for number in range(1000)]
    with Producer(bootstrap_servers=broker.address) as producer:
        producer.send_arrow(topic, {"key": keys, "value": keys}).result(10)
    for partition in range(4):
        expected = [key for key in keys if partition_for_key(key, 4) == partition]
        assert values_of(broker, topic, partition) == expected


def test_rows_and_records_keep_their_order(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, linger_ms=1000) as producer:
        for start in range(0, 1000, 200):
            for value in numbers(100, start):
                producer.send(topic, value, partition=0)
            rows = pa.array(numbers(100, start + 100))
            producer.send_arrow(topic, {"value": rows, "partition": [0] * 100})
    assert values_of(broker, topic, 0) == numbers(1000)


def test_large_tables_wait_for_room(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, buffer_memory=100_000, batch_size=20_000) as producer:
        rows = numbers(10_000)
        sent = producer.send_arrow(topic, {"value": rows, "partition": [1] * len(rows)})
        assert sum(part.rows for part in sent.result(30)) == 10_000
    assert values_of(broker, topic, 1) == rows
    assert max(batch.size for batch in batches_of(broker, topic, 1)) <= 20_000


def test_columns_in_transactions_and_compressed(broker: Broker, topic: str) -> None:
    settings = {"transactional.id": topic, "compression.type": "zstd"}
    with Producer({"bootstrap.servers": broker.address, **settings}) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send_arrow(topic, pa.array(numbers(1000)), partition=pa.array([3] * 1000))
        producer.commit_transaction()
    batches = [batch for batch in batches_of(broker, topic, 3) if not batch.header.is_control]
    assert all(batch.header.is_transactional and batch.header.producer_id >= 0 for batch in batches)
    assert values_of(broker, topic, 3) == numbers(1000)


def test_columns_in_asyncio(broker: Broker, topic: str) -> None:
    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address, buffer_memory=50_000, batch_size=10_000) as producer:
            sent = await producer.send_arrow(topic, {"value": numbers(3000)})
            assert sum(part.rows for part in await sent) == 3000

    asyncio.run(main())
