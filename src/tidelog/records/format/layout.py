"""Where the fields lie in the entries of a log, counted from the entry's first byte: `kernel/_layout.h` in Python.

A log, a Produce request and a Fetch response hold entries one after another. An entry is a batch (magic 2) or a message
(magic 0 and 1, alone or wrapping others). What a reader must know before it knows the magic lies at the same place in
all of them: the offset, the length of what follows it, and the magic itself:

    magic 2    base offset | length | leader epoch | magic | crc | attributes ...
    magic 0/1      offset  | length |     crc      | magic | attributes ...

So 17 bytes tell how an entry is to be read, and 12 how to skip it: `LOG_OVERHEAD` plus its length, which counts the
bytes after itself. Base offset and leader epoch lie in front of the checksummed part of a batch, because the leader
sets both when it appends; the checksum of an old message covers its magic as well, but not its offset.

The names are those of Kafka's DefaultRecordBatch and Records (`…_OFFSET` is the place of a field, `…_OVERHEAD` how much
lies in front of something), with MESSAGE_ before those of its LegacyRecord. There the places are counted from the crc
on, here from the entry's start like all others.
"""

from __future__ import annotations

# Every entry, whatever its magic.
BASE_OFFSET_OFFSET = 0
LENGTH_OFFSET = 8
#: Offset and length; the length does not count these bytes.
LOG_OVERHEAD = 12
MAGIC_OFFSET = 16

# A batch of magic 2.
PARTITION_LEADER_EPOCH_OFFSET = 12
CRC_OFFSET = 17
#: CRC-32C covers everything from here to the end of the batch.
ATTRIBUTES_OFFSET = 21
LAST_OFFSET_DELTA_OFFSET = 23
BASE_TIMESTAMP_OFFSET = 27
MAX_TIMESTAMP_OFFSET = 35
PRODUCER_ID_OFFSET = 43
PRODUCER_EPOCH_OFFSET = 51
BASE_SEQUENCE_OFFSET = 53
RECORDS_COUNT_OFFSET = 57
#: The whole header: the records, packed or not, start here.
RECORD_BATCH_OVERHEAD = 61

# A message of magic 0 or 1. CRC-32 covers it from its magic to its end.
MESSAGE_CRC_OFFSET = 12
MESSAGE_ATTRIBUTES_OFFSET = 17
#: Magic 1 only: magic 0 knows no time.
MESSAGE_TIMESTAMP_OFFSET = 18
MESSAGE_KEY_SIZE_OFFSET_V0 = 18
MESSAGE_KEY_SIZE_OFFSET_V1 = 26
#: The smallest length that a message can have: crc, magic, attributes, and two sizes that say null.
MESSAGE_OVERHEAD_V0 = 14
MESSAGE_OVERHEAD_V1 = 22


def entry_size(entry: bytes | bytearray | memoryview, position: int = 0) -> int:
    """The size of the entry at `position`, of which the first twelve bytes must be there.

    A length is a signed number that nobody has checked yet: what comes out can be less than nothing.
    """
    length = entry[position + LENGTH_OFFSET : position + LOG_OVERHEAD]
    return LOG_OVERHEAD + int.from_bytes(length, "big", signed=True)
