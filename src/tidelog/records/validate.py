"""What a broker asks of produced records before it appends them, and what it rewrites.

    1  one magic 2 batch per partition (Produce v3 and later); older versions may send message sets
    2  checksums and structure                       → CORRUPT_MESSAGE or INVALID_RECORD
    3  timestamps within message.timestamp.{before,after}.max.ms → INVALID_TIMESTAMP. A producer's claim that they are
       the broker's (LogAppendTime) is cleared where the topic takes the producer's, and refused where it does not
    4  keys, where the topic is compacted            → INVALID_RECORD, with the index of every such record
    5  the topic's compression.type, if it is not `producer`: another codec is packed anew
    6  magic 0 and 1 become magic 2

Batches that pass are left where they are; only 5 and 6 make new bytes. Offsets, epochs and LogAppendTime are not given
here: `BatchRun.stamp` does it when the log appends. The usual case is decided by the kernel without looking at single
records again (`BatchRun.screen`); this file is its slow side, where an error message for every bad record is made.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.common.errors import CorruptRecordError, ErrorCode, InvalidRecordError, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT64, NO_TIMESTAMP
from tidelog.records._batches import BatchRun
from tidelog.records.attributes import CODEC_MASK, MAGIC_V2, TIMESTAMP_TYPE_BIT, Codec, TimestampType
from tidelog.records.batch import Record, RecordBatch
from tidelog.records.builder import BatchBuilder
from tidelog.records.compression import DEFAULT_LIMIT
from tidelog.records.legacy import Message, iter_messages, records_of
from tidelog.records.origin import AppendOrigin

LATEST_PRODUCE = 13
ONE_BATCH_SINCE = 3
ZSTD_SINCE = 7
HOUR_MS = 3_600_000
#: How many record errors the error's own text shows; all of them are in `record_errors`.
SHOWN = 3


class ProduceRules(NamedTuple):
    """The part of a topic's configuration that says what it takes."""

    codec: Codec | None = None  # None: the producer's own
    level: int | None = None
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    before_max_ms: int = MAX_INT64
    after_max_ms: int = HOUR_MS
    compacted: bool = False
    max_unpacked_bytes: int = DEFAULT_LIMIT

    def time_range(self, now_ms: int) -> tuple[int, int]:
        """The timestamps that may be sent now; any, when the broker sets its own."""
        if self.timestamp_type == TimestampType.LOG_APPEND_TIME:
            return -MAX_INT64, MAX_INT64
        return max(now_ms - self.before_max_ms, -MAX_INT64), min(now_ms + self.after_max_ms, MAX_INT64)


class ValidatedRecords(NamedTuple):
    """What may be appended. `run` is the one that was given, unless something had to be rewritten."""

    run: BatchRun
    max_timestamp: int = NO_TIMESTAMP
    #: Index, counted over the whole run, of the first record with that timestamp; -1 if none has one.
    index_of_max_timestamp: int = -1
    #: Records that were converted or packed anew, and the bytes that took.
    converted_records: int = 0
    converted_bytes: int = 0


class _Findings:
    """Per-record errors of one partition's records."""

    def __init__(self) -> None:
        self.errors: list[tuple[int, str | None]] = []
        self.code = ErrorCode.INVALID_RECORD

    def add(self, index: int, text: str, code: ErrorCode) -> None:
        if not self.errors:
            self.code = code
        self.errors.append((index, text))

    def raise_if_any(self) -> None:
        if self.errors:
            shown = "; ".join(f"record {index}: {text}" for index, text in self.errors[:SHOWN])
            rest = f"; and {len(self.errors) - SHOWN} more" if len(self.errors) > SHOWN else ""
            raise InvalidRecordError(f"{len(self.errors)} records were refused: {shown}{rest}", self.code, self.errors)


def validate_produce(
    records: BatchRun | bytes | bytearray | memoryview,
    rules: ProduceRules,
    *,
    now_ms: int,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    request_version: int = LATEST_PRODUCE,
) -> ValidatedRecords:
    """Check the records of one partition; raise KafkaError or answer what to append.

    A run may hold the batches of several requests; bytes are the records field of one request, taken whole. Bytes that
    pass as they are must be writable to be stamped; read-only ones are copied."""
    run = records if isinstance(records, BatchRun) else _run_of(records, request_version)
    if run is None:
        return _validate_legacy(memoryview(records), rules, now_ms)  # type: ignore[arg-type]  # no run: it was bytes
    client = origin is AppendOrigin.CLIENT
    run.check(crc=True, records=True, client=client, limit=rules.max_unpacked_bytes)
    if request_version < ZSTD_SINCE and run.compressed:
        _refuse_zstd(run, request_version)
    if client:
        earliest, latest = rules.time_range(now_ms)
        wanted = -1 if rules.codec is None else int(rules.codec)
        if run.screen(wanted, rules.compacted, earliest, latest) >= 0:
            for index in range(len(run)):
                _inspect(RecordBatch(run, index), rules, earliest, latest)
            return _recompress(run, rules)
    return ValidatedRecords(run, *run.largest_timestamp())


def _run_of(records: bytes | bytearray | memoryview, request_version: int) -> BatchRun | None:
    """The run of a request's records field, or None if it is a message set of magic 0 or 1."""
    if len(records) == 0:
        raise InvalidRecordError("the request has no record batch for the partition")
    legacy = len(records) > 16 and records[16] < MAGIC_V2
    if legacy and request_version < ONE_BATCH_SINCE:
        return None
    run = BatchRun(records)
    if run.readonly:
        run = BatchRun(bytearray(records))
    run.add(0, len(records))
    return run


def _refuse_zstd(run: BatchRun, request_version: int) -> None:
    if any(header.attributes & 7 == Codec.ZSTD for header in run.headers()):
        text = f"Produce version {request_version} is too old for zstd: expected {ZSTD_SINCE} or newer"
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, text)


def _inspect(batch: RecordBatch, rules: ProduceRules, earliest: int, latest: int) -> None:
    claims = bool(batch.header.attributes & TIMESTAMP_TYPE_BIT)
    if claims and rules.timestamp_type == TimestampType.LOG_APPEND_TIME:
        raise _append_time_from_client()
    findings = _Findings()
    for index, record in enumerate(batch.records(limit=rules.max_unpacked_bytes)):
        if claims and record.timestamp == NO_TIMESTAMP:
            raise _append_time_from_client()
        _inspect_record(findings, index, record, rules, earliest, latest)
    findings.raise_if_any()


def _inspect_record(
    findings: _Findings, index: int, record: Record, rules: ProduceRules, earliest: int, latest: int
) -> None:
    if rules.compacted and record.key is None:
        findings.add(index, "a compacted topic takes no record without a key", ErrorCode.INVALID_RECORD)
    elif record.timestamp != NO_TIMESTAMP and not earliest <= record.timestamp <= latest:
        text = f"the timestamp is {record.timestamp}: expected {earliest} to {latest}"
        findings.add(index, text, ErrorCode.INVALID_TIMESTAMP)


def _append_time_from_client() -> InvalidRecordError:
    text = "the timestamp type is LogAppendTime: expected CreateTime, for only brokers may set the other"
    return InvalidRecordError(text, ErrorCode.INVALID_TIMESTAMP)


def _recompress(run: BatchRun, rules: ProduceRules) -> ValidatedRecords:
    """A new run in which every batch has the topic's codec."""
    parts: list[bytes | memoryview] = []
    converted = 0
    for index in range(len(run)):
        batch = RecordBatch(run, index)
        if rules.codec is None or batch.codec == rules.codec:
            parts.append(batch.raw)
        else:
            parts.append(_repack(batch, rules.codec, rules.level, batch.records(limit=rules.max_unpacked_bytes)))
            converted += batch.record_count
    if not converted:
        return ValidatedRecords(run, *run.largest_timestamp())
    return _converted(b"".join(parts), converted, rules)


def _repack(batch: RecordBatch, codec: Codec, level: int | None, records: Iterable[Record]) -> bytes:
    header = batch.header
    builder = BatchBuilder(
        codec=codec,
        level=level,
        base_offset=header.base_offset,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.is_transactional,
        leader_epoch=header.leader_epoch,
    )
    for record in records:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    return builder.build()


def _validate_legacy(view: memoryview, rules: ProduceRules, now_ms: int) -> ValidatedRecords:
    """Check a message set of magic 0 or 1 and make one magic 2 batch of it."""
    entries = list(iter_messages(view, check_crc=True))
    source = _codec_of_set(entries)
    if any(entry.is_log_append_time for entry in entries):
        raise _append_time_from_client()
    earliest, latest = rules.time_range(now_ms)
    findings = _Findings()
    builder = BatchBuilder(codec=source if rules.codec is None else rules.codec, level=rules.level)
    index = 0
    for entry in entries:
        for record in records_of(entry, limit=rules.max_unpacked_bytes, check_crc=True):
            _inspect_record(findings, index, record, rules, earliest, latest)
            builder.append(record.timestamp, record.key, record.value)
            index += 1
    findings.raise_if_any()
    return _converted(builder.build(), index, rules)


def _codec_of_set(entries: list[Message]) -> Codec:
    if not entries:
        raise InvalidRecordError("the request has no whole message for the partition")
    if not any(entry.attributes & CODEC_MASK for entry in entries):
        return Codec.NONE
    codecs = {entry.codec for entry in entries}
    if len(entries) > 1:
        raise InvalidRecordError(f"a packed message set comes alone: found {len(entries)} entries")
    if Codec.ZSTD in codecs:
        raise CorruptRecordError("zstd needs magic 2", 0)
    return codecs.pop()


def _converted(batches: bytes, records: int, rules: ProduceRules) -> ValidatedRecords:
    run = BatchRun(bytearray(batches))
    run.scan()
    run.check(crc=False, limit=rules.max_unpacked_bytes)
    return ValidatedRecords(run, *run.largest_timestamp(), converted_records=records, converted_bytes=run.size)
