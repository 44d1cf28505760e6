"""Seeded faults in formats: stored batches, the old message formats, numbers and hashes."""

from __future__ import annotations

from mutant import Mutant

OLD_FORMATS = "unit/broker/handlers/records/test_old_formats.py spec/test_stored_formats.py"
FORMATS = [
    Mutant(
        "old-format-not-stored",
        "broker/replication/produce_rules.py",
        "        magic=config.record_magic,\n",
        "",
        OLD_FORMATS,
    ),
    Mutant(
        "old-format-by-the-short-way",
        "broker/handlers/records/lanes.py",
        "        and partition.rules.magic == MAGIC_V2\n",
        "",
        OLD_FORMATS,
    ),
    Mutant(
        "old-format-packed-for-offsets-of-others",
        "broker/replication/partition.py",
        "return prepared.packed_for in (None, self.log.log_end_offset)",
        "return True",
        OLD_FORMATS,
    ),
    Mutant(
        "old-format-wrong-relative-offsets-kept",
        "records/format/validate.py",
        "return found.magic == MAGIC_V1 and found.in_sequence",
        "return found.magic == MAGIC_V1",
        "unit/records/format/test_stored_formats.py",
    ),
    Mutant(
        "old-format-epochs-kept",
        "log/partition/partition_log.py",
        """        if config.record_magic < MAGIC_V2 <= self.config.record_magic:
            self.leader_epochs.clear()
""",
        "",
        "unit/log/partition/test_old_format_log.py",
    ),
    Mutant(
        "old-format-without-the-protocol",
        "log/message_format.py",
        "    if speaks >= _FIXED_SINCE:\n        return MAGIC_V2\n",
        "",
        "unit/log/test_message_format.py spec/test_stored_formats.py",
    ),
    Mutant(
        "old-format-broker-time-unsealed",
        "records/kernel/_batches.pyx",
        "            store_32(p + MESSAGE_CRC_OFFSET, message_crc(p, batch.size - LOG_OVERHEAD))\n",
        "",
        "unit/records/format/test_stored_formats.py",
    ),
    Mutant(
        "old-format-inner-checksums-unread",
        "records/kernel/_messages.pyx",
        "fault = walk_messages(p, stop, True, &walk)",
        "fault = walk_messages(p, stop, False, &walk)",
        "unit/records/format/test_validate.py",
    ),
    Mutant(
        "varint-overflow-accepted",
        "common/varint.py",
        "if value >> (32 if max_bytes == MAX_VARINT_BYTES else 64):",
        "if False:",
        "unit/common/test_varint.py",
    ),
    Mutant("murmur2-tail-lost", "common/hashing.py", "if tail < length:", "if False:", "unit/common/test_hashing.py"),
    Mutant(
        "crc-skipped",
        "records/kernel/_batches.pyx",
        "        if crc and crc32c_update(",
        "        if False and crc32c_update(",
        "unit/records/kernel/test_batches.py",
    ),
]
