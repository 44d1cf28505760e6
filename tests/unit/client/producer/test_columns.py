"""Arrow tables through the one producer: the same deques, order, transactions and memory as single records."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import pyarrow as pa
import pytest

from support.produced import batches_of, records_of, values_of
from support.wire_proxy import WireProxy, hole
from tidelog import Consumer, PartlyQueuedError, Producer, aio
from tidelog.client.producer.columns import TableEntry
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.hashing import partition_for_key
from tidelog.common.types import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.testing import Broker


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


def test_a_row_that_is_too_large_is_named_before_anything_is_queued(broker: Broker, topic: str) -> None:
    rows = [b"x", b"y" * 90_000, b"z" * 100_000, b"last"]
    with Producer(bootstrap_servers=broker.address, max_request_size=100_000) as producer:
        with pytest.raises(
            KafkaError, match=r"row 2, a record of 1000\d\d bytes is larger than max\.request"
        ) as raised:
            producer.send_arrow(topic, {"value": rows, "partition": [0, 1, 2, 3]})
        assert raised.value.code is ErrorCode.MESSAGE_TOO_LARGE
        with pytest.raises(KafkaError, match=r"a record of 1000\d\d bytes") as single:
            producer.send(topic, rows[2])
        assert raised.value.message.removeprefix("row 2, ") == single.value.message
        producer.send_arrow(topic, {"value": rows[:2], "partition": [0, 1]}).result(30)
    assert [values_of(broker, topic, number) for number in range(4)] == [[rows[0]], [rows[1]], [], []]
    with (
        Producer(bootstrap_servers=broker.address, buffer_memory=50_000) as producer,
        pytest.raises(KafkaError, match=r"row 1, .*buffer\.memory \(50000\)"),
    ):
        producer.send_arrow(topic, {"value": rows[:2]})


def test_times_before_1970_are_refused_as_of_single_records(broker: Broker, topic: str) -> None:
    with (
        Producer(bootstrap_servers=broker.address) as producer,
        pytest.raises(UsageError, match="row 1 has a timestamp of -5 ms: expected milliseconds since 1970"),
    ):
        producer.send_arrow(topic, {"value": [b"a", b"b"], "timestamp": [5, -5], "partition": [0, 0]})
    assert values_of(broker, topic, 0) == []


@pytest.mark.parametrize("keyed", [True, False], ids=["by key", "in one partition"])
def test_a_table_that_gets_stuck_says_what_is_on_its_way_and_what_is_left(
    broker: Broker, topic: str, keyed: bool
) -> None:
    """Nothing is acknowledged, so there is no room for the rest. Later there is: nothing is lost, nothing twice."""
    rows = pa.table({"value": numbers(2000), **({"key": numbers(2000)} if keyed else {})})
    with WireProxy(broker.address) as proxy:
        settings: Any = {"buffer_memory": 50_000, "batch_size": 10_000, "max_block_ms": 200}
        with Producer(bootstrap_servers=proxy.address, **settings) as producer:
            producer.partitions_for(topic)
            proxy.on(ApiKey.PRODUCE, hole())
            with pytest.raises(PartlyQueuedError, match=r"of 2000 rows are queued") as raised:
                producer.send_arrow(topic, rows)
            left, queued = raised.value.left, raised.value.queued
            assert raised.value.code is ErrorCode.REQUEST_TIMED_OUT
            assert 0 < len(left) < 2000
            assert not queued.done()
            proxy.heal()
            assert sum(part.rows for part in queued.result(30)) == 2000 - len(left)
            while len(rows := rows.take(left)):
                try:
                    producer.send_arrow(topic, rows).result(30)
                    break
                except PartlyQueuedError as error:
                    left = error.left
    found = [values_of(broker, topic, number) for number in range(4)]
    assert sorted(value for values in found for value in values) == numbers(2000)
    if keyed:
        assert all(values == sorted(values) for values in found)


def test_rows_that_find_room_too_late_are_in_no_other_transaction(
    broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        settings: Any = {"buffer_memory": 20_000, "batch_size": 10_000, "transactional_id": topic}
        waits, may_go_on = asyncio.Event(), asyncio.Event()

        async def room(deadline: float) -> None:
            waits.set()
            await may_go_on.wait()

        async with aio.Producer(bootstrap_servers=broker.address, **settings) as producer:
            monkeypatch.setattr(producer, "_room", room)
            await producer.init_transactions()
            producer.begin_transaction()
            rows = {"value": numbers(300_000), "partition": [0] * 300_000}  # many times what there is room for
            late = asyncio.create_task(producer.send_arrow(topic, rows))
            await waits.wait()
            await producer.abort_transaction()
            producer.begin_transaction()
            may_go_on.set()
            with pytest.raises(PartlyQueuedError, match="the transaction ended before"):
                await late
            await producer.send(topic, b"alone", partition=0)
            await producer.commit_transaction()

    asyncio.run(main())
    with Consumer(bootstrap_servers=broker.address, isolation_level="read_committed") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        consumer.seek_to_beginning()
        assert [record.value for record in consumer.poll(30)] == [b"alone"]


def test_a_large_table_is_encoded_beside_the_loop(broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    step = TableEntry.next

    def noted(self: TableEntry) -> Any:
        threads.append(threading.get_ident())
        return step(self)

    monkeypatch.setattr(TableEntry, "next", noted)

    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address, compression_type="gzip") as producer:
            await (await producer.send_arrow(topic, pa.table({"value": numbers(100), "partition": [0] * 100})))
            assert set(threads) == {threading.get_ident()}
            threads.clear()
            await (await producer.send_arrow(topic, pa.table({"value": numbers(9000), "partition": [1] * 9000})))
            assert threading.get_ident() not in threads

    asyncio.run(main())
    assert values_of(broker, topic, 1) == numbers(9000)
