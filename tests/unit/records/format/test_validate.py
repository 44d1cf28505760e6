"""What a broker refuses and rewrites on produce, by the rules of Kafka's LogValidator."""

from __future__ import annotations

import struct

import pytest

from reference.records.batch_v2 import PlainRecord, encode_batch
from tidelog.common.errors import CorruptRecordError, ErrorCode, InvalidRecordError, KafkaError
from tidelog.records.codec.compression import compress
from tidelog.records.format.attributes import TIMESTAMP_TYPE_BIT, Codec, TimestampType
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker
from tidelog.records.format.legacy import encode_message
from tidelog.records.format.origin import AppendOrigin
from tidelog.records.format.validate import HOUR_MS, MOST_NAMED, ProduceRules, validate_produce
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel.crc32c import crc32c

NOW = 10_000_000
DEFAULT = ProduceRules()


def batch(
    timestamps: list[int], codec: Codec = Codec.NONE, magic: int = 2, keys: bool = True, **options: object
) -> bytearray:
    builder = BatchBuilder(magic, codec, **options)  # type: ignore[arg-type]  # the builder's own options
    for i, timestamp in enumerate(timestamps):
        builder.append(timestamp, b"k%d" % i if keys else None, b"v%d" % i)
    return bytearray(builder.build())


@pytest.mark.parametrize("codec", list(Codec))
def test_a_good_batch_stays_where_it_is(codec: Codec) -> None:
    data = batch([NOW, NOW + 5, NOW + 5], codec)
    before = bytes(data)
    result = validate_produce(data, DEFAULT, now_ms=NOW)
    assert result.run.buffer is data
    assert data == before
    assert (result.max_timestamp, result.index_of_max_timestamp) == (NOW + 5, 1)
    assert (result.converted_records, result.converted_bytes) == (0, 0)


def test_several_requests_in_one_run() -> None:
    data = batch([NOW]) + batch([NOW + 1, NOW + 9])
    run = BatchRun(data)
    run.scan()
    result = validate_produce(run, DEFAULT, now_ms=NOW)
    assert result.run is run
    assert (result.max_timestamp, result.index_of_max_timestamp) == (NOW + 9, 2)


def test_read_only_bytes_are_copied_so_that_they_can_be_stamped() -> None:
    result = validate_produce(bytes(batch([NOW])), DEFAULT, now_ms=NOW)
    assert result.run.stamp(7, 1) == 7


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_timestamps_out_of_range_are_listed(codec: Codec) -> None:
    rules = ProduceRules(before_max_ms=1000)
    late, early = NOW + HOUR_MS + 1, NOW - 1001
    data = batch([NOW, late, early, NOW + HOUR_MS, NOW - 1000, -1], codec)
    with pytest.raises(InvalidRecordError) as caught:
        validate_produce(data, rules, now_ms=NOW)
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in caught.value.record_errors] == [1, 2]
    assert f"the timestamp is {late}: expected {NOW - 1000} to {NOW + HOUR_MS}" in str(caught.value)


def test_any_timestamp_will_do_when_the_broker_sets_its_own() -> None:
    rules = ProduceRules(timestamp_type=TimestampType.LOG_APPEND_TIME, before_max_ms=1, after_max_ms=1)
    data = batch([1, 2**60])
    assert validate_produce(data, rules, now_ms=NOW).run.buffer is data


def test_a_client_that_claims_log_append_time_is_refused_only_where_the_broker_sets_it() -> None:
    data = encode_batch([PlainRecord(0, 0, b"k", b"v", ())], attributes=TIMESTAMP_TYPE_BIT)
    with pytest.raises(InvalidRecordError, match="LogAppendTime") as caught:
        validate_produce(data, ProduceRules(timestamp_type=TimestampType.LOG_APPEND_TIME), now_ms=NOW)
    assert caught.value.code is ErrorCode.INVALID_TIMESTAMP
    taken = bytearray(data)
    validate_produce(taken, DEFAULT, now_ms=NOW).run.stamp(0, 0)
    (entry,) = iter_batches(bytes(taken), check_crc=True)
    assert entry.timestamp_type is TimestampType.CREATE_TIME


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_compacted_topics_need_keys(codec: Codec) -> None:
    builder = BatchBuilder(codec=codec)
    for i in range(10):
        builder.append(NOW, b"k" if i % 2 else None, b"v")
    with pytest.raises(InvalidRecordError) as caught:
        validate_produce(builder.build(), ProduceRules(compacted=True), now_ms=NOW)
    assert caught.value.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in caught.value.record_errors] == [0, 2, 4, 6, 8]
    assert "and 2 more" in str(caught.value)
    validate_produce(builder.build(), DEFAULT, now_ms=NOW)
    validate_produce(batch([NOW]), ProduceRules(compacted=True), now_ms=NOW)


@pytest.mark.parametrize("target", list(Codec))
@pytest.mark.parametrize("source", list(Codec))
def test_the_topic_s_codec(source: Codec, target: Codec) -> None:
    data = batch([NOW, NOW + 1], source, producer_id=5, producer_epoch=1, base_sequence=9, transactional=True)
    result = validate_produce(data, ProduceRules(codec=target), now_ms=NOW)
    (entry,) = iter_batches(bytes(result.run.buffers()[0]), check_crc=True)
    assert entry.codec is target
    assert [(record.timestamp, record.key) for record in entry] == [(NOW, b"k0"), (NOW + 1, b"k1")]
    assert (entry.producer_id, entry.producer_epoch, entry.base_sequence) == (5, 1, 9)
    assert entry.is_transactional
    assert result.converted_records == (0 if source == target else 2)
    assert result.index_of_max_timestamp == 1
    assert (result.run.buffer is data) == (source == target)


def test_only_batches_of_the_wrong_codec_are_packed_anew() -> None:
    good = batch([NOW], Codec.LZ4)
    data = good + batch([NOW])
    run = BatchRun(data)
    run.scan()
    result = validate_produce(run, ProduceRules(codec=Codec.LZ4, level=12), now_ms=NOW)
    assert result.converted_records == 1
    assert bytes(result.run.view(0)) == good
    assert result.run.header(1).codec is Codec.LZ4


def test_corruption_comes_before_everything_else() -> None:
    data = batch([2**60])
    data[-1] ^= 1
    with pytest.raises(CorruptRecordError):
        validate_produce(data, DEFAULT, now_ms=NOW)
    with pytest.raises(InvalidRecordError, match="no record batch"):
        validate_produce(b"", DEFAULT, now_ms=NOW)


def test_markers_are_the_coordinators_to_write() -> None:
    marker = end_txn_marker(1, 0, committed=True, coordinator_epoch=1, timestamp=NOW)
    with pytest.raises(InvalidRecordError, match="control"):
        validate_produce(marker, DEFAULT, now_ms=NOW)
    validate_produce(marker, DEFAULT, now_ms=NOW, origin=AppendOrigin.COORDINATOR)


def test_versions_of_the_request() -> None:
    two = batch([NOW]) + batch([NOW])
    with pytest.raises(InvalidRecordError, match="exactly one batch"):
        validate_produce(two, DEFAULT, now_ms=NOW)
    old = batch([NOW], magic=1)
    with pytest.raises(InvalidRecordError, match="magic 1"):
        validate_produce(old, DEFAULT, now_ms=NOW, request_version=3)
    packed = batch([NOW], Codec.ZSTD)
    with pytest.raises(KafkaError) as caught:
        validate_produce(packed, DEFAULT, now_ms=NOW, request_version=6)
    assert caught.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    validate_produce(packed, DEFAULT, now_ms=NOW, request_version=7)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
@pytest.mark.parametrize("magic", [0, 1])
def test_message_sets_become_one_batch(magic: int, codec: Codec) -> None:
    data = batch([NOW, NOW + 3, NOW + 1], codec, magic)
    result = validate_produce(data, DEFAULT, now_ms=NOW, request_version=2)
    (entry,) = iter_batches(bytes(result.run.buffers()[0]), check_crc=True)
    assert (entry.magic, entry.codec, entry.record_count) == (2, codec, 3)
    assert [record.value for record in entry] == [b"v0", b"v1", b"v2"]
    assert (result.max_timestamp, result.index_of_max_timestamp) == ((NOW + 3, 1) if magic else (-1, -1))
    assert result.converted_records == 3
    assert result.run.stamp(100, 1) == 102


def test_message_sets_are_held_to_the_same_rules() -> None:
    def check(data: bytes | bytearray, rules: ProduceRules = DEFAULT) -> None:
        validate_produce(data, rules, now_ms=NOW, request_version=2)

    with pytest.raises(InvalidRecordError, match="without a key"):
        check(batch([NOW], magic=1, keys=False), ProduceRules(compacted=True))
    with pytest.raises(InvalidRecordError, match="timestamp"):
        check(batch([NOW, 2**60], Codec.GZIP, magic=1))
    with pytest.raises(InvalidRecordError, match="comes alone"):
        check(batch([NOW], Codec.GZIP, magic=1) + batch([NOW], magic=1))
    claims = encode_message(1, 0, TIMESTAMP_TYPE_BIT, NOW, b"k", b"v")
    with pytest.raises(InvalidRecordError, match="LogAppendTime"):
        check(claims, ProduceRules(timestamp_type=TimestampType.LOG_APPEND_TIME))
    with pytest.raises(InvalidRecordError, match="LogAppendTime"):
        check(encode_message(1, 0, TIMESTAMP_TYPE_BIT, -1, b"k", b"v"))
    check(claims)  # a claim that is not true any more once it is stored
    with pytest.raises(InvalidRecordError, match="no whole message"):
        check(batch([NOW], magic=1)[:-1])
    with pytest.raises(InvalidRecordError, match="codec 4"):
        check(encode_message(1, 0, Codec.ZSTD, NOW, None, b"v"))
    bad = batch([NOW], magic=1)
    bad[-1] ^= 1
    with pytest.raises(CorruptRecordError, match="checksum"):
        check(bad)


def test_a_wrong_checksum_inside_a_wrapper_is_found() -> None:
    inner = bytearray(encode_message(1, 0, 0, NOW, b"k", b"v"))
    inner[-1] ^= 1
    data = encode_message(1, 0, Codec.GZIP, NOW, None, compress(Codec.GZIP, inner, magic=1))
    with pytest.raises(CorruptRecordError, match="checksum"):
        validate_produce(data, DEFAULT, now_ms=NOW, request_version=2)


def test_a_bomb_is_refused() -> None:
    builder = BatchBuilder(codec=Codec.ZSTD)
    builder.append(NOW, b"k", bytes(3_000_000))
    with pytest.raises(InvalidRecordError, match="more than 1000000 bytes"):
        validate_produce(builder.build(), ProduceRules(max_unpacked_bytes=1_000_000), now_ms=NOW)


def test_a_wrong_largest_timestamp_is_set_right_when_stamped() -> None:
    data = batch([NOW, NOW + 7])
    struct.pack_into(">q", data, 35, NOW + 999_999_999)
    struct.pack_into(">I", data, 17, crc32c(memoryview(data)[21:]))
    result = validate_produce(data, DEFAULT, now_ms=NOW)
    result.run.stamp(0, 0)
    (entry,) = iter_batches(bytes(data), check_crc=True)
    assert entry.max_timestamp == NOW + 7


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize("magic", [1, 2])
def test_of_very_many_bad_records_the_first_are_named(codec: Codec, magic: int) -> None:
    codec = Codec.GZIP if codec and magic < 2 else codec
    data = batch([NOW] * (3 * MOST_NAMED), codec, magic, keys=False)
    version = 9 if magic == 2 else 2
    with pytest.raises(InvalidRecordError, match=f"at least {MOST_NAMED} records were refused") as caught:
        validate_produce(data, ProduceRules(compacted=True), now_ms=NOW, request_version=version)
    assert [index for index, _ in caught.value.record_errors] == list(range(MOST_NAMED))
