"""CRC-32C, the checksum of magic 2 batches; the other two names are the forms of lesser machines, for tests."""

from __future__ import annotations

from tidelog.records.kernel._crc32c import crc32c, crc32c_lanes, crc32c_portable

__all__ = ["crc32c", "crc32c_lanes", "crc32c_portable"]
