"""Any bytes in the files of a log directory give findings or a clean error: no crash, no hang, bounded memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tidelog.cli.log_decode import decode_internal
from tidelog.common.errors import CorruptRecordError, KafkaError
from tidelog.common.fs import LOCAL_FS
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.log.directory import meta_properties, shutdown_marker
from tidelog.log.reading.reader import LogDirectory, PartitionReader
from tidelog.log.reading.segment_arrow import ArrowSegmentReader
from tidelog.log.reading.segment_reader import decode_offset_index, decode_time_index
from tidelog.log.reading.statistics import StatisticsReader
from tidelog.log.reading.verify import PartitionVerifier, verify_checkpoints
from tidelog.records.format.batch import Record
from tidelog.records.format.builder import BatchBuilder


def good_batch() -> bytes:
    builder = BatchBuilder()
    builder.append(1, b"key", b"value")
    builder.append(2, None, None)
    return builder.build()


@st.composite
def broken_data(draw: st.DrawFn) -> bytes:
    """Whole batches with some bytes changed, or anything at all."""
    if draw(st.booleans()):
        return draw(st.binary(max_size=300))
    data = bytearray(good_batch() * draw(st.integers(1, 3)))
    for _ in range(draw(st.integers(0, 4))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.integers(0, len(data)))])


@settings(max_examples=120, deadline=None)
@given(broken_data(), st.binary(max_size=60), st.binary(max_size=60), st.binary(max_size=80), st.binary(max_size=80))
def test_a_partition_of_anything(data: bytes, index: bytes, times: bytes, aborted: bytes, snapshot: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t-0"
        path.mkdir()
        files = {".log": data, ".index": index, ".timeindex": times, ".txnindex": aborted, ".snapshot": snapshot}
        for kind, content in files.items():
            (path / f"{0:020d}{kind}").write_bytes(content)
        partition = PartitionReader(path)
        findings = list(PartitionVerifier(partition).findings())
        assert all(finding.path.parent == path for finding in findings)
        try:
            list(partition.records())
            _ = partition.end_offset
            StatisticsReader(partition).read()
            for segment in partition.segments:
                reader = ArrowSegmentReader(segment, ("offset", "key", "value"), last_offset=1 << 40, size=1 << 20)
                list(reader.batches(0, 0))
        except CorruptRecordError:
            assert [finding for finding in findings if finding.path.suffix == ".log"]


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.binary(max_size=80), st.text(max_size=80).map(str.encode)))
@example(b"version=1\ncluster.id=\\uZZZZ\nnode.id=1\n")
@example(b'{"version":0,"brokerEpoch":1e999}')
def test_root_files_of_anything(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        for name in ("meta.properties", ".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
            (path / name).write_bytes(data)
        assert isinstance(shutdown_marker.read_broker_epoch(LOCAL_FS, path), int)
        try:
            meta_properties.read(LOCAL_FS, path)
        except KafkaError:
            assert list(verify_checkpoints(path))
        list(verify_checkpoints(path))
        _ = LogDirectory(path).partitions()


@given(st.binary(max_size=200), st.integers(0, 2**40))
def test_indexes_of_anything(data: bytes, base: int) -> None:
    assert len(decode_offset_index(data, base)) <= len(data) // 8
    assert len(decode_time_index(data, base)) <= len(data) // 12


@given(
    st.sampled_from([GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, "__cluster_metadata", "other"]),
    st.one_of(st.none(), st.binary(max_size=60), st.binary(max_size=60).map(lambda b: b"\0\1" + b)),
    st.one_of(
        st.none(),
        st.binary(max_size=80),
        st.binary(max_size=80).map(lambda b: b"\0\3" + b),
        st.binary(max_size=80).map(lambda b: b"\1" + b),
    ),
)
def test_internal_records_of_anything(topic: str, key: bytes | None, value: bytes | None) -> None:
    decoded = decode_internal(topic, Record(0, 0, key, value))
    assert decoded is None or set(decoded) == {"type", "key", "value"}
