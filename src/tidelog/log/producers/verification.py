"""Proof that a transactional write belongs to a transaction that its coordinator knows (KIP-890).

Before the first write of a transaction reaches a partition, the broker asks the coordinator whether the partition is
part of it, holding a guard that this table gave out. The append must present that guard: if the transaction ended
meanwhile (its marker clears the guard), the late write is refused, and no hanging transaction comes to be.
"""

from __future__ import annotations


class VerificationGuard:
    """Equal only to itself."""

    __slots__ = ()


class _Entry:
    __slots__ = ("epoch", "guard", "lowest_sequence")

    def __init__(self, guard: VerificationGuard, epoch: int, sequence: int) -> None:
        self.guard = guard
        self.epoch = epoch
        self.lowest_sequence = sequence


class Verifications:
    """The guards of one partition, by producer id."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[int, _Entry] = {}

    def start(self, producer_id: int, sequence: int, epoch: int) -> VerificationGuard:
        """The guard for a write that is about to be verified: the same one until it is used or cleared."""
        entry = self._entries.get(producer_id)
        if entry is None or epoch > entry.epoch:
            entry = self._entries[producer_id] = _Entry(VerificationGuard(), epoch, sequence)
        elif epoch == entry.epoch:
            entry.lowest_sequence = min(entry.lowest_sequence, sequence)
        return entry.guard

    def accepts(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        entry = self._entries.get(producer_id)
        return entry is not None and entry.guard is guard

    def lowest_sequence(self, producer_id: int) -> int | None:
        """The smallest sequence that was to be verified: a higher one may not be the transaction's first."""
        entry = self._entries.get(producer_id)
        return entry.lowest_sequence if entry is not None else None

    def clear(self, producer_id: int) -> None:
        """The transaction began or ended: the guard has done its work."""
        self._entries.pop(producer_id, None)
