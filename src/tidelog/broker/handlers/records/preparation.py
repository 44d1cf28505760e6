"""Records made ready for the log: checked and, where the topic stores another form, packed anew or converted.

A batch that is stored as it came needs a checksum and a look at its records. One that is packed must be unpacked for
that, one of an old magic converted, and one whose topic has a `compression.type` of its own packed again: milliseconds,
in which the event loop would serve nobody. So only what is surely quick is done at once; the rest goes to a worker
thread, and the connection's next request waits, so that a producer's batches stay in order.

Packing messages of an old magic writes their offsets into the packed bytes: those from the log's end when the work
began. If another producer has appended meanwhile, the work is done again, at last on the loop where nobody can come in
between.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tidelog.broker.handlers.records.records_field import codec_of
from tidelog.broker.replication.partition import Partition
from tidelog.broker.workers import Workers
from tidelog.common.errors import KafkaError
from tidelog.records.codec.compression import UnpackedTooLargeError
from tidelog.records.format.attributes import MAGIC_V2, Codec
from tidelog.records.format.layout import MAGIC_OFFSET
from tidelog.records.format.validate import ValidatedRecords

#: Above this many bytes checking takes long enough for a thread; packed records, which must be unpacked, far earlier.
PLAIN_ON_LOOP = 4 << 20
PACKED_ON_LOOP = 8 << 10
#: Two codecs unpack and pack gigabytes a second: for a few hundred kilobytes of records that is less work than to hand
#: them to a thread and to take them back (some 0.3 ms, most of it the threads' waiting for each other).
QUICK_CODECS = frozenset({Codec.SNAPPY, Codec.LZ4})
QUICKLY_PACKED_ON_LOOP = 64 << 10
#: Messages of magic 0 and 1 have a checksum each, and may have to be converted.
MESSAGES_ON_LOOP = 1 << 20
#: How often a set is packed on a thread for offsets that others then take.
PACKINGS = 3


def prepare_at_once(partition: Partition, records: Any, version: int) -> ValidatedRecords | None:
    """Check and convert what is surely quick; None: it is not, or turned out not to be.

    Few packed bytes may unpack to many: a small batch is tried with a limit, and left to a thread if it is a large one.
    """
    if not _is_quick(partition, records):
        return None
    if not codec_of(records):
        return partition.prepare(records, request_version=version)
    try:
        return partition.prepare(records, request_version=version, on_loop=True)
    except KafkaError as error:
        if not isinstance(error.__cause__ or error, UnpackedTooLargeError):
            raise
    return None


async def prepare_on_thread(workers: Workers, partition: Partition, records: Any, version: int) -> ValidatedRecords:
    """Check and convert what may take milliseconds, beside the event loop."""
    return await workers.run(partial(partition.prepare, records, request_version=version))


async def fit(
    workers: Workers, partition: Partition, records: Any, version: int, validated: ValidatedRecords
) -> ValidatedRecords:
    """The same, packed for the offsets that come next: others may have been faster than the packing on a thread."""
    for _ in range(PACKINGS):
        if partition.still_fits(validated):
            return validated
        at_once = prepare_at_once(partition, records, version)
        validated = at_once or await prepare_on_thread(workers, partition, records, version)
    if partition.still_fits(validated):
        return validated
    return partition.prepare(records, request_version=version)


def _is_quick(partition: Partition, records: Any) -> bool:
    """Whether checking (and converting) takes less than a millisecond, which unpacking and packing may not."""
    if len(records) <= PACKED_ON_LOOP:
        return True
    codec = codec_of(records)
    if partition.rules.codec not in (None, codec):
        return False
    if codec:
        return codec in QUICK_CODECS and len(records) <= QUICKLY_PACKED_ON_LOOP
    same = records[MAGIC_OFFSET] == partition.rules.magic == MAGIC_V2
    return len(records) <= (PLAIN_ON_LOOP if same else MESSAGES_ON_LOOP)
