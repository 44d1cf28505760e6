"""What the broker's `log.cleaner.*` keys say, in typed form.

The sizes are for all cleaner threads together, as in Kafka: two threads with `dedupe.buffer.size` of 128 MB have maps
of 64 MB each. A map holds some 24 bytes per key, so that one pass of such a thread covers about 2.5 million different
keys (at the load factor of 0.9); a log with more takes several passes.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.common.named_tuple import NamedTuple

#: A map entry's size bounds what one thread can use: Kafka's map is indexed by a 32-bit number.
_LARGEST_MAP = 2**31 - 1


class CleanerConfig(NamedTuple):
    """The values of one moment; they may change while the broker runs (`LogCleaner.reconfigure`)."""

    enable: bool = True
    threads: int = 1
    dedupe_buffer_size: int = 134_217_728
    load_factor: float = 0.9
    io_buffer_size: int = 524_288
    io_max_bytes_per_second: float = float("inf")
    backoff_ms: int = 15_000

    @classmethod
    def from_broker(cls, values: Mapping[str, object]) -> CleanerConfig:
        """From the broker's configuration; keys that are not set take their defaults."""

        def number(name: str, default: float) -> float:
            value = values.get(f"log.cleaner.{name}")
            return default if value is None else float(str(value))

        default = cls()
        rate = number("io.max.bytes.per.second", default.io_max_bytes_per_second)
        return cls(
            enable=str(values.get("log.cleaner.enable", "true")).lower() == "true",
            threads=int(number("threads", default.threads)),
            dedupe_buffer_size=int(number("dedupe.buffer.size", default.dedupe_buffer_size)),
            load_factor=number("io.buffer.load.factor", default.load_factor),
            io_buffer_size=int(number("io.buffer.size", default.io_buffer_size)),
            io_max_bytes_per_second=rate if rate < 1e300 else float("inf"),
            backoff_ms=int(number("backoff.ms", default.backoff_ms)),
        )

    @property
    def map_memory(self) -> int:
        """The bytes of one thread's offset map."""
        return min(self.dedupe_buffer_size // max(1, self.threads), _LARGEST_MAP)

    @property
    def read_buffer(self) -> int:
        """The bytes of one thread's read buffer (as much again is written)."""
        return max(self.io_buffer_size // max(1, self.threads) // 2, 1024)
