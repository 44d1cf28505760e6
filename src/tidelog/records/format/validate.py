"""What a broker asks of produced records before it appends them, and what it rewrites.

    1  one magic 2 batch per partition (Produce v3 and later); older versions may send message sets
    2  checksums and structure                       → CORRUPT_MESSAGE or INVALID_RECORD
    3  timestamps within message.timestamp.{before,after}.max.ms → INVALID_TIMESTAMP. A producer's claim that they are
       the broker's (LogAppendTime) is cleared where the topic takes the producer's, and refused where it does not
    4  keys, where the topic is compacted            → INVALID_RECORD, with the index of every such record
    5  the topic's compression.type, if it is not `producer`: another codec is packed anew
    6  the topic's message format: 2, unless it is told to be an older one (`log.message_format`). Other magics are
       converted; idempotence, transactions and headers need magic 2 → UNSUPPORTED_FOR_MESSAGE_FORMAT

What passes is left where it is; only 5 and 6 make new bytes. Offsets, epochs and LogAppendTime are not given here:
`BatchRun.stamp` does it when the log appends. There is one exception: a packed set of magic 0 holds absolute offsets
inside. It is packed for those that come next, and again if others were faster (`ValidatedRecords.packed_for`).

The usual case is decided by the kernel without looking at single records again (`BatchRun.screen`, `MessageSet`); this
file is its slow side, where an error message for every bad record is made.

Why so much is checked at all: what a leader has taken is copied to followers and sent to consumers as it is, for years
perhaps. A malformed record that got in stops every reader at that offset, in any language, and no broker can mend it
afterwards. So it is refused while its producer is still there to be told.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.common.errors import ErrorCode, InvalidRecordError, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT64, NO_TIMESTAMP
from tidelog.records.codec.compression import DEFAULT_LIMIT, decompress
from tidelog.records.format.attributes import MAGIC_V0, MAGIC_V1, MAGIC_V2, TIMESTAMP_TYPE_BIT, Codec, TimestampType
from tidelog.records.format.batch import Record, RecordBatch
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.layout import MAGIC_OFFSET, RECORD_BATCH_OVERHEAD
from tidelog.records.format.origin import AppendOrigin
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel._convert import convert
from tidelog.records.kernel._messages import MessageSet

LATEST_PRODUCE = 13
ONE_BATCH_SINCE = 3
ZSTD_SINCE = 7
HOUR_MS = 3_600_000
#: How many record errors the error's own text shows; `record_errors` has more of them.
SHOWN = 3
#: As many bad records are named one by one, far more than usual batches hold. Apache Kafka names all: a megabyte may
#: hold a hundred thousand, packed in a few bytes, and their answer would keep the event loop for long.
MOST_NAMED = 1000


class ProduceRules(NamedTuple):
    """The part of a topic's configuration that says what it takes.

    Made when the topic's configuration changes, not for each request. `before_max_ms` and `after_max_ms` are
    `message.timestamp.before.max.ms` and `.after.max.ms` (KIP-937): by default any age is fine, and an hour into the
    future, for clocks that differ; a time far ahead would keep a segment from retention for as long.
    """

    codec: Codec | None = None  # None: the producer's own
    level: int | None = None
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    before_max_ms: int = MAX_INT64
    after_max_ms: int = HOUR_MS
    compacted: bool = False
    max_unpacked_bytes: int = DEFAULT_LIMIT
    magic: int = MAGIC_V2  # in which the leader stores them

    def time_range(self, now_ms: int) -> tuple[int, int]:
        """The timestamps that may be sent now; any, when the broker sets its own."""
        if self.timestamp_type == TimestampType.LOG_APPEND_TIME:
            return -MAX_INT64, MAX_INT64
        return max(now_ms - self.before_max_ms, -MAX_INT64), min(now_ms + self.after_max_ms, MAX_INT64)


class ValidatedRecords(NamedTuple):
    """What may be appended. `run` is the one that was given, unless something had to be rewritten.

    The counts are what Kafka's metrics call produce message conversions; they are 0 for what was taken as it came.
    """

    run: BatchRun
    max_timestamp: int = NO_TIMESTAMP
    #: Index, counted over the whole run, of the first record with that timestamp; -1 if none has one.
    index_of_max_timestamp: int = -1
    #: Records that were converted or packed anew, and the bytes that took.
    converted_records: int = 0
    converted_bytes: int = 0
    #: The first offset that the run must get, where it cannot get any other (a packed set of magic 0).
    packed_for: int | None = None


class _Findings:
    """Per-record errors of one partition's records.

    KIP-467: the answer names each bad record by its index in the batch, so that a producer can drop those and send the
    rest. All findings of a request have one code, that of the first.
    """

    def __init__(self) -> None:
        self.errors: list[tuple[int, str | None]] = []
        self.code = ErrorCode.INVALID_RECORD

    def add(self, index: int, text: str, code: ErrorCode) -> None:
        """Note one; stops everything when there are too many to name."""
        if not self.errors:
            self.code = code
        self.errors.append((index, text))
        if len(self.errors) >= MOST_NAMED:
            self.raise_if_any()

    def raise_if_any(self) -> None:
        if self.errors:
            count = len(self.errors)
            most = "at least " if count >= MOST_NAMED else ""
            shown = "; ".join(f"record {index}: {text}" for index, text in self.errors[:SHOWN])
            rest = f"; and {count - SHOWN} more" if count > SHOWN else ""
            raise InvalidRecordError(f"{most}{count} records were refused: {shown}{rest}", self.code, self.errors)


def validate_produce(
    records: BatchRun | bytes | bytearray | memoryview,
    rules: ProduceRules,
    *,
    now_ms: int,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    request_version: int = LATEST_PRODUCE,
    next_offset: int = 0,
) -> ValidatedRecords:
    """Check the records of one partition; raise KafkaError or answer what to append.

    A run may hold the batches of several requests; bytes are the records field of one request, taken whole. Bytes that
    pass as they are must be writable to be stamped; read-only ones are copied. `next_offset` is what the first record
    will probably get."""
    run = records if isinstance(records, BatchRun) else _run_of(records, request_version)
    if run is None:
        view = memoryview(records)  # type: ignore[arg-type]  # no run: it was bytes
        return _validate_messages(view, rules, now_ms, next_offset)
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
            if rules.magic == MAGIC_V2:
                return _recompress(run, rules)
    if rules.magic < MAGIC_V2:
        return _to_messages(run, rules, now_ms, next_offset)
    return ValidatedRecords(run, *run.largest_timestamp())


def _run_of(records: bytes | bytearray | memoryview, request_version: int) -> BatchRun | None:
    """The run of a request's records field, or None if it is a message set of magic 0 or 1.

    From version 3 on the field holds exactly one batch, and anything behind it is an error (`BatchRun.add` says so);
    before, it is whatever message set the client made.
    """
    if len(records) == 0:
        raise InvalidRecordError("the request has no record batch for the partition")
    legacy = len(records) > MAGIC_OFFSET and records[MAGIC_OFFSET] < MAGIC_V2
    if legacy and request_version < ONE_BATCH_SINCE:
        return None
    run = BatchRun(records)
    if run.readonly:
        run = BatchRun(bytearray(records))
    run.add(0, len(records))
    return run


def _refuse_zstd(run: BatchRun, request_version: int) -> None:
    """A client that old could not have made it; and who fetches with the versions of its time could not read it."""
    if any(header.attributes & 7 == Codec.ZSTD for header in run.headers()):
        text = f"Produce version {request_version} is too old for zstd: expected {ZSTD_SINCE} or newer"
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, text)


def _inspect(batch: RecordBatch, rules: ProduceRules, earliest: int, latest: int) -> None:
    """The slow look at one batch that the kernel did not let pass: either a record of it is refused here, with its
    index, or only its codec was in the way.
    """
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
    """A record without a time passes whatever the range: old producers had none."""
    if rules.compacted and record.key is None:
        findings.add(index, "a compacted topic takes no record without a key", ErrorCode.INVALID_RECORD)
    elif record.timestamp != NO_TIMESTAMP and not earliest <= record.timestamp <= latest:
        text = f"the timestamp is {record.timestamp}: expected {earliest} to {latest}"
        findings.add(index, text, ErrorCode.INVALID_TIMESTAMP)


def _append_time_from_client() -> InvalidRecordError:
    """The error of a batch that claims to be stamped by a broker already."""
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
    """The same records with another codec. Producer, epoch and sequence are kept, as duplicates are found by them; so
    is the order of the records, and with that their offsets.
    """
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


def _validate_messages(view: memoryview, rules: ProduceRules, now_ms: int, next_offset: int) -> ValidatedRecords:
    """Check a message set of magic 0 or 1; it stays as it is where the topic's format and codec allow."""
    found = MessageSet(view, limit=rules.max_unpacked_bytes)
    if found.claims and (rules.timestamp_type == TimestampType.LOG_APPEND_TIME or found.claims_without_time):
        raise _append_time_from_client()
    earliest, latest = rules.time_range(now_ms)
    if not found.fits(earliest, latest) or (rules.compacted and found.null_key >= 0):
        findings = _Findings()
        for index, record in enumerate(found.records()):
            _inspect_record(findings, index, record, rules, earliest, latest)
        findings.raise_if_any()
    codec = Codec(found.codec) if rules.codec is None else rules.codec
    packed = codec != Codec.NONE
    if found.magic == rules.magic and codec == found.codec and (not packed or _relative(found)):
        return _as_they_are(view, found)
    return _rewritten(
        found.plain,
        rules,
        now_ms,
        next_offset,
        codec,
        magic=found.magic,
        timestamp=found.fixed_timestamp,
    )


def _relative(found: MessageSet) -> bool:
    """Whether the wrapper's own offset is all that has to be set.

    The inner offsets are 0, 1, 2 …: then the absolute ones follow from the wrapper's, which is patched without
    unpacking.
    """
    return found.magic == MAGIC_V1 and found.in_sequence


def _as_they_are(view: memoryview, found: MessageSet) -> ValidatedRecords:
    """Nothing but offsets, and perhaps a time, will be set; what the walk has found is noted for that."""
    run = BatchRun(bytearray(view) if view.readonly else view)
    run.scan()
    if found.codec != Codec.NONE:
        run.know_wrapper(0, found.count, found.max_timestamp)
    return ValidatedRecords(run, found.max_timestamp, found.max_index)


#: What follows Kafka's own words, which leave everybody alone with a number.
_WAYS_OUT = (
    ", which is the topic's message.format.version: set that to 0.11.0 or later, or write without enable.idempotence "
    "and transactions"
)


def _to_messages(run: BatchRun, rules: ProduceRules, now_ms: int, next_offset: int) -> ValidatedRecords:
    """The one magic 2 batch of a request, or of a coordinator, for a topic of an older format."""
    if len(run) != 1:
        raise InvalidRecordError(f"a topic of magic {rules.magic} takes one batch at a time: found {len(run)}")
    batch = RecordBatch(run, 0)
    header = batch.header
    kind = "Transactional" if header.is_transactional else "Idempotent" if header.producer_id >= 0 else None
    if header.is_control or kind is not None:
        text = f"{kind or 'Control'} records cannot be used with magic version {rules.magic}{_WAYS_OUT}"
        raise KafkaError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, text)
    plain: bytes | memoryview = batch.raw[RECORD_BATCH_OVERHEAD:]
    if header.is_compressed:
        plain = decompress(batch.codec, plain, limit=rules.max_unpacked_bytes)
    return _rewritten(
        plain,
        rules,
        now_ms,
        next_offset,
        batch.codec if rules.codec is None else rules.codec,
        magic=MAGIC_V2,
        count=header.record_count,
        base_timestamp=header.base_timestamp,
    )


def _rewritten(
    plain: bytes | bytearray | memoryview,
    rules: ProduceRules,
    now_ms: int,
    next_offset: int,
    codec: Codec,
    *,
    magic: int,
    count: int = 0,
    base_timestamp: int = 0,
    timestamp: int | None = None,
) -> ValidatedRecords:
    """The records in the topic's format and codec."""
    fixed = rules.magic == MAGIC_V0 and codec != Codec.NONE
    broker_time = rules.timestamp_type == TimestampType.LOG_APPEND_TIME and rules.magic == MAGIC_V1
    made, total, max_timestamp, max_index = convert(
        plain,
        magic,
        rules.magic,
        count=count,
        base_timestamp=base_timestamp,
        timestamp=timestamp,
        append_time=now_ms if broker_time else None,
        number_from=next_offset if fixed else 0,
        codec=codec,
        level=rules.level,
        refuse_headers=rules.magic < MAGIC_V2,
    )
    run = BatchRun(bytearray(made))
    run.scan()
    if rules.magic < MAGIC_V2 and codec != Codec.NONE:
        run.know_wrapper(0, total, max_timestamp)
    return ValidatedRecords(run, max_timestamp, max_index, total, run.size, next_offset if fixed else None)


def _converted(batches: bytes, records: int, rules: ProduceRules) -> ValidatedRecords:
    """A run over new bytes. Their checksums were made just now; the structure is walked for timestamps."""
    run = BatchRun(bytearray(batches))
    run.scan()
    run.check(crc=False, limit=rules.max_unpacked_bytes)
    return ValidatedRecords(run, *run.largest_timestamp(), converted_records=records, converted_bytes=run.size)
