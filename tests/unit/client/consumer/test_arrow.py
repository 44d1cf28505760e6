"""Records as Arrow tables: the same records, positions and commits as `poll`; and what `read_committed` leaves out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from support.consumers import FACES, Face, of, take, values, write
from tidelog.client.consumer import arrow
from tidelog.client.producer.blocking import Producer
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition
from tidelog.records.arrow import parts
from tidelog.records.format.attributes import Codec
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param


@pytest.fixture
def tp(broker: Broker, request: pytest.FixtureRequest) -> TopicPartition:
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:150]
    broker.create_topic(name)
    tp = TopicPartition(name, 0)
    write(broker, tp, ["a", "b", "c"], of("d", "e", codec=Codec.GZIP), ["f"])
    return tp


def read(consumer: Any, rows: int, **options: Any) -> pa.Table:
    tables: list[pa.Table] = []
    while sum(table.num_rows for table in tables) < rows:
        tables.append(consumer.poll_arrow(30, **options))
    return pa.concat_tables(tables)


def test_all_columns(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign([tp])
        table = read(consumer, 6)
        assert table.column_names[:3] == ["topic", "partition", "offset"]
        assert table["value"].to_pylist() == [b"a", b"b", b"c", b"d", b"e", b"f"]
        assert table["offset"].to_pylist() == list(range(6))
        assert set(table["topic"].to_pylist()) == {tp.topic}
        assert set(table["partition"].to_pylist()) == {0}
        assert consumer.position(tp) == 6
        empty = consumer.poll_arrow(0.05)
        assert (empty.num_rows, empty.schema) == (0, table.schema)


def test_some_columns_and_wrong_ones(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign([tp])
        assert read(consumer, 6, columns=["value", "partition"]).column_names == ["value", "partition"]
        consumer.seek_to_beginning()
        assert read(consumer, 6, columns=["topic"]).num_rows == 6
        with pytest.raises(UsageError, match="unknown columns nonsense"):
            consumer.poll_arrow(1, columns=["nonsense"])


def test_poll_and_poll_arrow_may_be_mixed(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker, max_poll_records=2) as consumer:
        consumer.assign([tp])
        assert values(take(consumer, 2)) == [b"a", b"b"]
        assert read(consumer, 4)["value"].to_pylist() == [b"c", b"d", b"e", b"f"]
        write(broker, tp, ["g"])
        assert values(take(consumer, 1)) == [b"g"]


def test_a_large_piece_comes_in_several_tables_with_positions_between(
    broker: Broker, face: Face, tp: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "_TABLE_BYTES", 1)
    smaller = {**(parts.batches_in_parts.__kwdefaults__ or {}), "part_bytes": 1}
    monkeypatch.setattr(parts.batches_in_parts, "__kwdefaults__", smaller)
    with face.consumer(broker) as consumer:
        consumer.assign([tp])
        first = consumer.poll_arrow(30)
        assert 0 < first.num_rows < 6
        assert consumer.position(tp) == first.num_rows
        assert read(consumer, 6 - first.num_rows)["offset"].to_pylist() == list(range(first.num_rows, 6))


def test_groups_and_commits(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker, group_id=tp.topic) as consumer:
        consumer.subscribe([tp.topic])
        assert read(consumer, 6).num_rows == 6
        consumer.commit()
        assert consumer.committed([tp])[tp].offset == 6


def test_large_pieces_of_the_asyncio_face_are_decoded_on_a_thread(broker: Broker, tp: TopicPartition) -> None:
    write(broker, tp, of(*["x" * 1000] * 500))
    with FACES[1].consumer(broker) as consumer:
        consumer.assign([tp])
        assert read(consumer, 506).num_rows == 506


@pytest.mark.parametrize("level", ["read_committed", "read_uncommitted"])
def test_aborted_transactions_are_left_out_of_both(broker: Broker, face: Face, tp: TopicPartition, level: str) -> None:
    with Producer(bootstrap_servers=broker.address, transactional_id=tp.topic) as producer:
        producer.init_transactions()
        for value, end in ((b"kept", producer.commit_transaction), (b"gone", producer.abort_transaction)):
            producer.begin_transaction()
            producer.send(tp.topic, value, partition=0).result(10)
            end()
        producer.begin_transaction()
        producer.send(tp.topic, b"open", partition=0).result(10)
        expected = [b"a", b"b", b"c", b"d", b"e", b"f", b"kept"]
        if level == "read_uncommitted":
            expected += [b"gone", b"open"]
        with face.consumer(broker, isolation_level=level) as consumer:
            consumer.assign([tp])
            assert values(take(consumer, len(expected))) == expected
            assert not consumer.poll(0.1)
            consumer.seek_to_beginning()
            assert read(consumer, len(expected))["value"].to_pylist() == expected
            assert consumer.poll_arrow(0.1).num_rows == 0
            if level == "read_committed":
                assert consumer.end_offsets([tp])[tp] == consumer.position(tp)
                assert consumer.lag() == {tp: 0}
        producer.abort_transaction()
