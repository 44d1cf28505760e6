"""aiokafka's and kafka-python's record code as independent oracles: they read what we write and we what they write."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder as AioLegacyBuilder
from aiokafka.record.memory_records import MemoryRecords as AioRecords
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder as KafkaPythonLegacyBuilder
from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords

from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel._batches import BatchRun

ROWS: list[tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]] = [
    (1_600_000_000_000 + (i * 37) % 101 - 50, None if i % 5 == 0 else b"key-%d" % i, b"v" * (i * 31 % 500), [])
    for i in range(150)
]
ROWS[3] = (ROWS[3][0], ROWS[3][1], b"", [("a", b"1"), ("ü", b"")])
OLD_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]
BUILDERS = {"aiokafka": AioBuilder, "kafka-python": KafkaPythonBuilder}
LEGACY_BUILDERS = {"aiokafka": AioLegacyBuilder, "kafka-python": KafkaPythonLegacyBuilder}
READERS = {"aiokafka": AioRecords, "kafka-python": KafkaPythonRecords}


def read_by(peer: str, data: bytes) -> list[tuple[int, int, bytes | None, bytes | None, list[Any]]]:
    records = READERS[peer](data)
    out = []
    while records.has_next():
        batch = records.next_batch()
        assert batch.validate_crc()
        out += [(r.offset, r.timestamp, r.key, r.value, [tuple(header) for header in r.headers]) for r in batch]
    return out


def read_by_us(data: bytes) -> list[tuple[int, int, bytes | None, bytes | None, list[Any]]]:
    return [
        (r.offset, r.timestamp, r.key, r.value, list(r.headers))
        for batch in iter_batches(data, check_crc=True)
        for r in batch
    ]


@pytest.mark.parametrize("peer", BUILDERS)
@pytest.mark.parametrize("codec", list(Codec))
def test_magic_2_both_ways(peer: str, codec: Codec) -> None:
    theirs = BUILDERS[peer](
        magic=2,
        compression_type=int(codec),
        is_transactional=True,
        producer_id=123456,
        producer_epoch=12,
        base_sequence=99,
        batch_size=1 << 20,
    )
    ours = BatchBuilder(codec=codec, producer_id=123456, producer_epoch=12, base_sequence=99, transactional=True)
    for i, (timestamp, key, value, headers) in enumerate(ROWS):
        theirs.append(i, timestamp, key, value, headers)
        ours.append(timestamp, key, value, headers)
    their_bytes, our_bytes = bytes(theirs.build()), ours.build()
    expected = [(i, *row) for i, row in enumerate(ROWS)]
    assert read_by_us(their_bytes) == expected
    assert read_by(peer, our_bytes) == expected
    if codec == Codec.NONE:
        assert our_bytes[16:] == their_bytes[16:]  # they put a leader epoch of 0, librdkafka and we one of -1
    run = BatchRun(bytearray(their_bytes))
    run.add(0, len(their_bytes))
    run.check()
    run.stamp(1000, 3)
    assert [row[0] for row in read_by(peer, bytes(run.buffers()[0]))] == list(range(1000, 1150))


@pytest.mark.parametrize(
    ("peer", "magic", "codec"),
    [
        (peer, magic, codec)
        for peer in LEGACY_BUILDERS
        for magic in (0, 1)
        for codec in OLD_CODECS
        if (peer, magic, codec) != ("aiokafka", 0, Codec.LZ4)  # which aiokafka does not do
    ],
)
def test_message_sets_both_ways(peer: str, magic: int, codec: Codec) -> None:
    theirs = LEGACY_BUILDERS[peer](magic, int(codec), 1 << 20)
    ours = BatchBuilder(magic, codec)
    for i, (timestamp, key, value, _) in enumerate(ROWS):
        theirs.append(i, timestamp=timestamp if magic else None, key=key, value=value)
        ours.append(timestamp, key, value)
    their_bytes, our_bytes = bytes(theirs.build()), ours.build()
    expected = [(i, timestamp if magic else -1, key, value, []) for i, (timestamp, key, value, _) in enumerate(ROWS)]
    if codec == Codec.NONE:
        assert our_bytes == their_bytes
    theirs_read = [(row[0], -1 if row[1] is None else row[1], *row[2:]) for row in read_by(peer, our_bytes)]
    assert theirs_read == expected
    if codec != Codec.NONE and magic == 0:  # they leave the wrapper's offset to the broker, so only compare contents
        assert [row[1:] for row in read_by_us(their_bytes)] == [row[1:] for row in expected]
    else:
        assert read_by_us(their_bytes) == expected
