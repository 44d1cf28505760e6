"""ConsumerRecord and its cursor: every field, nothing before it is looked at, and what is left out."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from tidelog.client.consumer._records import ConsumerRecord, Decoders, RecordCursor
from tidelog.client.consumer.errors import RecordDeserializationError
from tidelog.client.consumer.records import ConsumerRecords
from tidelog.common.errors import CorruptRecordError
from tidelog.common.types import TopicPartition
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker

TP = TopicPartition("t", 3)
HEADERS = [("h", b"1"), ("h", None), ("ü", b"")]


def batch(first: int, *values: bytes | None, codec: Codec = Codec.NONE, **options: Any) -> bytes:
    builder = BatchBuilder(codec=codec, base_offset=first, **options)
    for index, value in enumerate(values):
        builder.append(1000 + index, b"k%d" % index, value, HEADERS if index == 0 else [])
    return builder.build()


def cursor(*batches: bytes, start: int = 0, **options: Any) -> RecordCursor:
    return RecordCursor(TP, b"".join(batches), start, **options)


def drain(reader: RecordCursor, most: int = 1000) -> list[ConsumerRecord]:
    records: list[ConsumerRecord] = []
    while reader.left:
        reader.take(records, most)
    return records


@pytest.mark.parametrize("codec", list(Codec))
def test_a_record_has_all_eleven_fields_and_the_epoch(codec: Codec) -> None:
    data = bytearray(batch(7, b"value", None, codec=codec))
    data[12:16] = (5).to_bytes(4, "big")
    first, second = drain(RecordCursor(TP, data, 7))
    assert (first.topic, first.partition, first.offset, first.timestamp) == ("t", 3, 7, 1000)
    assert first.timestamp_type is TimestampType.CREATE_TIME
    assert (first.serialized_key_size, first.serialized_value_size) == (2, 5)
    assert first.headers == (("h", b"1"), ("h", None), ("ü", b""))
    assert (first.key, first.value) == (b"k0", b"value")
    assert first.leader_epoch == 5
    assert first.topic_partition == TP
    assert (second.value, second.serialized_value_size, second.headers) == (None, -1, ())
    assert (first.raw_key, first.raw_value, second.raw_value) == (b"k0", b"value", None)


def test_the_checksum_is_java_s_partial_one() -> None:
    """Java's DefaultRecord.computePartialChecksum: CRC-32C of timestamp, key size and value size, big-endian."""
    from tidelog.records.kernel.crc32c import crc32c

    (record,) = drain(cursor(batch(0, b"value")))
    assert record.checksum == crc32c((1000).to_bytes(8, "big") + (2).to_bytes(4, "big") + (5).to_bytes(4, "big"))


@pytest.mark.parametrize("most", [1, 2, 3, 1000])
def test_records_are_the_same_however_they_are_taken(most: int) -> None:
    data = [batch(0, b"a", b"b", b"c"), batch(3, b"d", codec=Codec.GZIP), batch(4, b"e", b"f", codec=Codec.LZ4)]
    expected = [(r.offset, r.value) for b in iter_batches(b"".join(data)) for r in b.records()]
    assert [(r.offset, r.value) for r in drain(cursor(*data), most)] == expected


def test_the_position_goes_with_what_was_taken() -> None:
    reader = cursor(batch(0, b"a", b"b"), batch(2, b"c"))
    records: list[ConsumerRecord] = []
    assert reader.take(records, 1) == 1
    assert reader.next_offset == 1
    assert reader.take(records, 5) == 2
    assert (reader.next_offset, reader.left) == (3, False)


def test_reading_begins_within_a_batch() -> None:
    assert [r.offset for r in drain(cursor(batch(0, b"a", b"b", b"c"), start=2))] == [2]


def test_control_batches_are_passed_and_the_position_with_them() -> None:
    marker = end_txn_marker(9, 0, committed=True, coordinator_epoch=0, timestamp=1, base_offset=1)
    reader = cursor(batch(0, b"a"), marker)
    assert [r.value for r in drain(reader)] == [b"a"]
    assert reader.next_offset == 2


def test_aborted_transactions_are_left_out() -> None:
    own = {"producer_id": 9, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    marker = end_txn_marker(9, 0, committed=False, coordinator_epoch=0, timestamp=1, base_offset=2)
    data = [batch(0, b"a"), batch(1, b"gone", **own), marker, batch(3, b"b", **own)]
    reader = cursor(*data, aborted=[(9, 1)])
    assert [(r.offset, r.value) for r in drain(reader)] == [(0, b"a"), (3, b"b")]
    assert [r.value for r in drain(cursor(*data))] == [b"a", b"gone", b"b"]


def test_the_epoch_is_that_of_the_last_record_taken() -> None:
    old, new = bytearray(batch(0, b"a")), bytearray(batch(1, b"b", b"c"))
    old[12:16], new[12:16] = (4).to_bytes(4, "big"), (6).to_bytes(4, "big")
    reader = RecordCursor(TP, bytes(old + new), 0)
    records: list[ConsumerRecord] = []
    assert reader.leader_epoch == -1
    reader.take(records, 1)
    assert reader.leader_epoch == 4
    reader.take(records, 1)
    assert reader.leader_epoch == 6


def test_log_append_time_is_the_batch_s() -> None:
    builder = BatchBuilder(timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=5555)
    builder.append(1, None, b"x")
    (record,) = drain(cursor(builder.build()))
    assert (record.timestamp, record.timestamp_type) == (5555, TimestampType.LOG_APPEND_TIME)


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_are_read(magic: int) -> None:
    builder = BatchBuilder(magic=magic)
    builder.append(77, b"k", b"v")
    (record,) = drain(cursor(builder.build()))
    assert (record.key, record.value) == (b"k", b"v")
    assert record.timestamp == (77 if magic else -1)
    assert record.timestamp_type is (TimestampType.CREATE_TIME if magic else TimestampType.NO_TIMESTAMP)


def test_damage_is_told_and_what_is_sound_before_it_is_handed_out() -> None:
    bad = bytearray(batch(2, b"c", b"d"))
    bad[61] = 0x7F  # the first record's length
    reader = cursor(batch(0, b"a", b"b"), bytes(bad))
    records: list[ConsumerRecord] = []
    reader.take(records, 2)
    with pytest.raises(CorruptRecordError):
        reader.take(records, 10)
    assert [r.value for r in records] == [b"a", b"b"]
    assert reader.next_offset == 2


def test_a_count_that_lies_is_refused() -> None:
    bad = bytearray(batch(0, b"a"))
    bad[57:61] = (1 << 20).to_bytes(4, "big")
    with pytest.raises(CorruptRecordError, match="cannot hold"):
        drain(RecordCursor(TP, bytes(bad), 0))


def test_nothing_is_decoded_before_it_is_looked_at_and_then_once() -> None:
    calls: list[tuple[str, bytes, Any]] = []

    def decode(topic: str, data: bytes, headers: Any) -> str:
        calls.append((topic, data, headers))
        return data.decode().upper()

    (record,) = drain(cursor(batch(0, b"abc"), decoders=Decoders(str, decode)))
    assert calls == []
    assert (record.key, record.value, record.value) == ("k0", "ABC", "ABC")
    assert calls == [("t", b"abc", (("h", b"1"), ("h", None), ("ü", b"")))]


def test_a_null_is_not_given_to_a_deserializer() -> None:
    def decode(*_: object) -> str:
        raise AssertionError

    (record,) = drain(cursor(batch(0, None), decoders=Decoders(None, decode)))
    assert record.value is None


@pytest.mark.parametrize("decoder", [str, lambda *_: 1 / 0])
def test_what_cannot_be_decoded_says_where_it_is(decoder: Any) -> None:
    (record,) = drain(cursor(batch(4, b"\xff"), start=4, decoders=Decoders(None, decoder)))
    with pytest.raises(RecordDeserializationError, match="value of t-3 offset 4") as caught:
        _ = record.value
    assert (caught.value.topic_partition, caught.value.offset) == (TP, 4)
    assert record.raw_value == b"\xff"


def test_records_outlive_their_cursor_and_can_be_copied_and_pickled() -> None:
    reader = cursor(batch(0, b"a", b"b", codec=Codec.ZSTD), batch(2, b"c"))
    records = drain(reader)
    reader.close()
    del reader
    assert [r.value for r in records] == [b"a", b"b", b"c"]
    again = [pickle.loads(pickle.dumps(record)) for record in records]
    assert again == records == [record.copy() for record in records]
    assert len({*again, *records}) == 3
    assert again[0].headers == records[0].headers
    assert records[0] != records[1]
    assert (records[0] == "something else") is False
    assert "t-3 offset 0" in repr(records[0])


def test_a_record_can_be_made_by_hand() -> None:
    record = ConsumerRecord("t", 0, 5, "k", {"v": 1}, timestamp=9, headers=[("a", b"b")], leader_epoch=2)
    assert (record.key, record.value, record.headers) == ("k", {"v": 1}, (("a", b"b"),))
    assert (record.offset, record.timestamp, record.leader_epoch) == (5, 9, 2)
    assert (record.raw_key, record.raw_value) == (None, None)


def test_a_poll_s_records_are_a_sequence_and_sorted_by_partition() -> None:
    made = [ConsumerRecord("t", p, o) for p, o in [(0, 1), (0, 2), (1, 5), (0, 3)]]
    records = ConsumerRecords(made)
    assert (len(records), bool(records), list(records), records[1], records[1:3]) == (4, True, made, made[1], made[1:3])
    assert records.partitions == {TopicPartition("t", 0), TopicPartition("t", 1)}
    assert [r.offset for r in records.records(TopicPartition("t", 0))] == [1, 2, 3]
    assert [r.offset for r in records.records("t")] == [1, 2, 3, 5]
    assert records.records("another") == []
    assert {tp.partition: len(part) for tp, part in records.by_partition().items()} == {0: 3, 1: 1}
    assert repr(records) == "ConsumerRecords(t-0: 3, t-1: 1)"
    assert not ConsumerRecords([])
