"""The offsets that divide a log, and the rules between them.

    log start offset ≤ last stable offset ≤ high watermark ≤ log end offset
                                              recovery point ≤ log end offset

Kafka spreads them over two classes (`LocalLog` has the end and the recovery point, `UnifiedLog` the others); here they
are together, since every rule is about two of them.

- Offsets below the **log start offset** are deleted, even where their segment still lies on disk. It moves by
  DeleteRecords, by retention, and with the leader's own.
- Below the **high watermark** every in-sync replica has the record; consumers see nothing at or above it. It moves back
  when the log is cut (a follower that followed another leader), and never below the log start.
- Below the **last stable offset** no transaction is open either: what `read_committed` consumers see. It is the first
  unstable offset (the first record of the earliest transaction that is open, or whose marker is not replicated yet),
  and the high watermark while there is none.
- The **log end offset** is the next record's.
- Below the **recovery point** everything is synced to this disk; after a crash the log is checked from there on.

Example: 100 records, the first 20 deleted, all replicated but the last 10, a transaction open since 70, synced up to
60: log start 20, last stable 70, high watermark 90, end 100, recovery point 60.
"""

from __future__ import annotations


class Watermarks:
    """See the module's text. The log's owner changes them; a reader on another thread may see any of them moved."""

    __slots__ = (
        "first_unstable_offset", "found_end_offset", "high_watermark", "log_end_offset", "log_start_offset",
        "recovery_point", "unflushed_since_ms",
    )  # fmt: skip

    def __init__(self, log_start_offset: int, log_end_offset: int, recovery_point: int) -> None:
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.high_watermark = log_start_offset
        #: None: no transaction is open, and the end of every one is replicated.
        self.first_unstable_offset: int | None = None
        #: Where the log ended when it was opened, or was cut since: what a start finds has counted as written before.
        self.found_end_offset = log_end_offset
        #: Since when there are records that are not synced; None: there are none.
        self.unflushed_since_ms: int | None = None

    def __repr__(self) -> str:
        return (
            f"Watermarks({self.log_start_offset} ≤ {self.last_stable_offset} ≤ {self.high_watermark} ≤ "
            f"{self.log_end_offset}, synced to {self.recovery_point})"
        )

    @property
    def last_stable_offset(self) -> int:
        """Below it no transaction is open and every record is replicated."""
        first = self.first_unstable_offset
        if first is None or first >= self.high_watermark:
            return self.high_watermark
        return max(first, self.log_start_offset)

    @property
    def unflushed(self) -> int:
        """How many offsets are not synced."""
        return self.log_end_offset - self.recovery_point

    def written_end_offset(self, flush_messages: int) -> int:
        """Everything before it counts as written: the log's end; with `flush.messages` what is synced, or was found.

        The high watermark does not pass it, so that nobody reads what `flush.messages` promises to be on disk, and is
        not. What a start finds is exempt: it was acknowledged before, and followers may have it.
        """
        if self.log_end_offset - self.recovery_point < flush_messages:
            return self.log_end_offset
        return max(self.recovery_point, min(self.found_end_offset, self.log_end_offset))

    def advance_high_watermark(self, offset: int) -> bool:
        """Move the high watermark to `offset`, within the log; true when it changed. (It may also move back.)"""
        offset = max(self.log_start_offset, min(offset, self.log_end_offset))
        if offset == self.high_watermark:
            return False
        self.high_watermark = offset
        return True

    def start_at(self, offset: int) -> None:
        """Records below `offset` are gone: there is nothing left of them to replicate, nor to sync."""
        self.log_start_offset = offset
        self.high_watermark = max(self.high_watermark, offset)
        self.recovery_point = max(self.recovery_point, offset)

    def cut_to(self, offset: int) -> None:
        """Everything from `offset` on was dropped. What is written there from now on is neither synced nor found."""
        self.end_at(offset)
        self.log_start_offset = min(offset, self.log_start_offset)
        self.high_watermark = min(self.high_watermark, offset)

    def restart_at(self, offset: int, log_start_offset: int) -> None:
        """Everything was dropped; the log is empty and goes on at `offset`."""
        self.end_at(offset)
        self.log_start_offset = log_start_offset
        self.high_watermark = offset

    def end_at(self, offset: int) -> None:
        """The log ends there, below where it ended or not."""
        self.log_end_offset = offset
        self.recovery_point = min(self.recovery_point, offset)
        self.found_end_offset = min(self.found_end_offset, offset)

    def synced_to(self, offset: int) -> None:
        """Everything below `offset` is durable."""
        self.recovery_point = max(self.recovery_point, offset)
        if self.recovery_point >= self.log_end_offset:
            self.unflushed_since_ms = None
