"""The producers of a partition: idempotence, fencing, open transactions, and their snapshots on disk.

The state describes the log up to `map_end_offset`. It is changed in two steps, `prepare` (check, nothing changes) and
`commit` (after the batches are on disk); the rules and the loop over batches are in `_producers.pyx`.

Transactions. `ongoing` holds those without a marker; `unreplicated` those whose marker is not yet below the high
watermark. The first offset of either kind is the first unstable offset: a `read_committed` consumer gets nothing from
there on.

Snapshots lie beside the segments. One is taken when a segment begins (named by its base offset, so that a recovery can
start with that segment) and one when the log closes. At most one further snapshot is kept that belongs to no segment.

A start loads the newest snapshot and replays the batches behind it: without one, the whole log would have to be read. A
producer that is forgotten here (`producer.id.expiration.ms`, 24 h) may begin with any sequence number again; one with
an open transaction is never forgotten, since its marker is still to come.
"""

from __future__ import annotations

from collections.abc import Collection

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT64
from tidelog.log.names import SNAPSHOT, snapshot_name, split_name
from tidelog.log.producers import snapshot as producer_snapshot
from tidelog.log.producers._producers import CompletedTxn, Pending, ProducerStateEntry, prepare
from tidelog.log.producers.snapshot import CorruptSnapshotError
from tidelog.log.segment.home import Home
from tidelog.records.kernel._batches import BatchRun

#: producer.id.expiration.ms
DEFAULT_EXPIRATION_MS = 86_400_000


class OpenTxn(NamedTuple):
    """A transaction that the last stable offset must not pass. `last_offset` is its marker's, -1 while it is open."""

    producer_id: int
    first_offset: int
    last_offset: int = -1


class ProducerStateManager:
    """See the module's text. Owned by the log's thread."""

    __slots__ = (
        "_home", "entries", "expiration_ms", "last_snapshot_offset", "map_end_offset", "ongoing", "snapshots",
        "unreplicated",
    )  # fmt: skip

    def __init__(
        self, home: Home, *, expiration_ms: int = DEFAULT_EXPIRATION_MS, snapshots: Collection[int] | None = None
    ) -> None:
        self._home = home
        self.expiration_ms = expiration_ms
        self.entries: dict[int, ProducerStateEntry] = {}
        self.ongoing: dict[int, OpenTxn] = {}
        self.unreplicated: dict[int, OpenTxn] = {}
        self.map_end_offset = 0
        self.last_snapshot_offset = 0
        #: The offsets of the snapshot files, rising.
        self.snapshots: list[int] = sorted(snapshot_offsets(home) if snapshots is None else snapshots)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def is_empty(self) -> bool:
        """Whether the log was never written to by an idempotent producer, as far as is known."""
        return not self.entries and not self.unreplicated

    # ---- appending

    def prepare(
        self, run: BatchRun, origin: int, first: int = 0, stop: int | None = None, *, transaction_version: int = 0
    ) -> Pending:
        """Check a run that carries its offsets; raises KafkaError when a batch is fenced or out of order."""
        return prepare(self.entries, run, first, len(run) if stop is None else stop, origin, transaction_version)

    def commit(self, pending: Pending) -> None:
        """Put into force what `prepare` worked out. Ended transactions stay open until `complete`."""
        self.entries.update(pending.entries)
        for first_offset, producer_id in pending.started:
            self.ongoing[first_offset] = OpenTxn(producer_id, first_offset)

    def last_stable_offset_after(self, completed: CompletedTxn) -> int:
        """What the last stable offset becomes when this transaction's end is replicated: the first offset of the next
        open transaction (they are kept in the order in which they began), or what follows the marker."""
        for first_offset in self.ongoing:
            if first_offset != completed.first_offset:
                return first_offset
        return completed.last_offset + 1

    def complete(self, completed: CompletedTxn) -> None:
        """The marker is written; the transaction counts as open until the high watermark has passed it."""
        transaction = self.ongoing.pop(completed.first_offset)
        self.unreplicated[completed.first_offset] = transaction._replace(last_offset=completed.last_offset)

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the earliest transaction begins that is open or not yet replicated."""
        first = next(iter(self.ongoing), MAX_INT64)
        if self.unreplicated:
            first = min(first, min(self.unreplicated))
        return None if first == MAX_INT64 else first

    def high_watermark_moved(self, high_watermark: int) -> None:
        """Transactions whose marker lies below are settled."""
        if self.unreplicated:
            for first_offset, transaction in list(self.unreplicated.items()):
                if transaction.last_offset < high_watermark:
                    del self.unreplicated[first_offset]

    def log_start_moved(self, log_start_offset: int) -> None:
        """Records below are gone. Producers stay, though what they wrote may be gone (KIP-360): a retry of theirs must
        still be told from a gap."""
        self.high_watermark_moved(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        self.last_snapshot_offset = self.latest_snapshot_offset(log_start_offset)

    # ---- expiry and inspection

    def in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether a transaction of this producer has written here and is not ended yet."""
        entry = self.entries.get(producer_id)
        return entry is not None and entry.txn_first_offset >= 0 and entry.epoch == epoch

    def expire(self, now_ms: int) -> int:
        """Forget producers without an open transaction that were not heard of for long; return how many."""
        gone = [pid for pid, entry in self.entries.items() if self._expired(entry, now_ms)]
        for producer_id in gone:
            del self.entries[producer_id]
        return len(gone)

    def _expired(self, entry: ProducerStateEntry, now_ms: int) -> bool:
        return entry.txn_first_offset < 0 and now_ms - entry.last_timestamp >= self.expiration_ms

    def has_late_transaction(self, now_ms: int, longest_ms: int) -> bool:
        """Whether a transaction is open although its coordinator should have ended it (a hanging one)."""
        for transaction in self.ongoing.values():
            entry = self.entries.get(transaction.producer_id)
            if entry is not None and 0 < entry.last_timestamp < now_ms - longest_ms:
                return True
        return False

    # ---- loading

    def reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Go back to the newest snapshot within [log start, log end]; what lies outside is deleted."""
        for offset in list(self.snapshots):
            if offset > log_end_offset or offset <= log_start_offset:
                self.remove_snapshot(offset)
        if log_end_offset != self.map_end_offset:
            self._forget()
            self._load_newest(log_start_offset, now_ms)
        else:
            self.log_start_moved(log_start_offset)

    def _load_newest(self, log_start_offset: int, now_ms: int) -> None:
        """The newest snapshot that can be read; a torn one (it is not synced before the flush) gives way to the one
        before it. Open transactions are loaded in the order of their first offsets: the first of them is the first
        unstable one."""
        while self.snapshots:
            offset = self.snapshots[-1]
            path = self._home.file(snapshot_name(offset))
            try:
                entries = producer_snapshot.decode(self._home.fs.read_bytes(path), str(path))
            except (CorruptSnapshotError, FileNotFoundError):
                self.remove_snapshot(offset)
                continue
            for entry in sorted(entries, key=lambda entry: entry.txn_first_offset):
                if not self._expired(entry, now_ms):
                    self.load_entry(entry)
            self.last_snapshot_offset = self.map_end_offset = offset
            return
        self.last_snapshot_offset = self.map_end_offset = log_start_offset

    def load_entry(self, entry: ProducerStateEntry) -> None:
        """One producer of a snapshot. Its transaction, if one was open, counts as open again."""
        self.entries[entry.producer_id] = entry
        if entry.txn_first_offset >= 0:
            self.ongoing[entry.txn_first_offset] = OpenTxn(entry.producer_id, entry.txn_first_offset)

    def _forget(self) -> None:
        self.entries.clear()
        self.ongoing.clear()
        self.unreplicated.clear()

    def restart_at(self, offset: int) -> None:
        """The log was emptied and begins at `offset`: nothing is known, on disk neither."""
        self._forget()
        for snapshot in list(self.snapshots):
            self.remove_snapshot(snapshot)
        self.last_snapshot_offset = 0
        self.map_end_offset = offset

    # ---- snapshots

    def latest_snapshot_offset(self, default: int) -> int:
        """Up to where the state is on disk, synced or not."""
        return self.snapshots[-1] if self.snapshots else default

    def take_snapshot(self) -> bool:
        """Write the state at `map_end_offset`, unless that was done before. The log's next flush makes it durable.

        Until then a power loss may leave a part of it, or nothing: the checksum tells, and an earlier one is used.
        """
        if self.map_end_offset <= self.last_snapshot_offset:
            return False
        offset = self.map_end_offset
        self._write(offset, producer_snapshot.encode(self.entries.values()))
        if offset not in self.snapshots:
            self.snapshots.append(offset)
            self.snapshots.sort()
        self.last_snapshot_offset = offset
        return True

    def _write(self, offset: int, data: bytes) -> None:
        self._home.unsynced.add_snapshot(offset)
        file = self._home.fs.open(self._home.file(snapshot_name(offset)), create=True)
        try:
            file.truncate(0)
            file.write_at(0, [data])
        finally:
            file.close()

    def remove_snapshot(self, offset: int) -> None:
        """Forget a snapshot that no longer describes the log. Should its file come back after a power loss, a start
        removes it again: it lies outside the log, or belongs to no segment."""
        self.snapshots.remove(offset)
        self._home.unsynced.add_name()
        self._home.fs.unlink(self._home.file(snapshot_name(offset)), missing_ok=True)

    def detach_snapshot(self, offset: int, suffix: str) -> bool:
        """Mark the snapshot of a deleted segment; its file goes with the segment's."""
        if offset not in self.snapshots:
            return False
        self.snapshots.remove(offset)
        source = self._home.file(snapshot_name(offset))
        if not self._home.fs.exists(source):
            return False
        self._home.unsynced.add_name()
        self._home.fs.rename(source, self._home.file(snapshot_name(offset, suffix)))
        return True

    def remove_stray_snapshots(self, base_offsets: Collection[int]) -> None:
        """Keep the snapshots of segments, and the newest other one if it lies behind the last segment's start.

        That one is what a clean stop has left at the log's end, and saves the next start from reading the last segment.
        """
        strays = [offset for offset in self.snapshots if offset not in set(base_offsets)]
        newest = max(base_offsets, default=0)
        for offset in strays:
            if offset != strays[-1] or offset < newest:
                self.remove_snapshot(offset)


def snapshot_offsets(home: Home) -> list[int]:
    """The offsets of the snapshot files in a partition's directory."""
    names = (split_name(name) for name in home.fs.listdir(home.path))
    return [parts[0] for parts in names if parts is not None and parts[1:] == (SNAPSHOT, "")]
