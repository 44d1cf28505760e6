"""Proof that a transactional write belongs to a transaction that its coordinator knows (KIP-890).

Before the first write of a transaction reaches a partition, the broker asks the coordinator whether the partition is
part of it, holding a guard that this table gave out. The append must present that guard: if the transaction ended
meanwhile (its marker clears the guard), the late write is refused, and no hanging transaction comes to be.

A hanging transaction is one that a partition takes for open and its coordinator does not know: no marker will ever
come, the last stable offset stands still, and `read_committed` consumers of the partition wait for ever. Before KIP-890
a write that was delayed on the network until after its transaction's end could cause one.

A guard whose write was refused, or never came back from the coordinator, is used by nobody. It goes when its producer
would (`producer.id.expiration.ms`): producer ids in requests are anybody's choice, and there are 2^63.
"""

from __future__ import annotations

from tidelog.common.errors import ErrorCode, KafkaError


class VerificationGuard:
    """Equal only to itself."""

    __slots__ = ()


class _Entry:
    __slots__ = ("asked_ms", "epoch", "guard", "lowest_sequence")

    def __init__(self, guard: VerificationGuard, epoch: int, sequence: int, now_ms: int) -> None:
        self.asked_ms = now_ms
        self.guard = guard
        self.epoch = epoch
        self.lowest_sequence = sequence


class Verifications:
    """The guards of one partition, by producer id. Most partitions never give one out."""

    __slots__ = ("_entries", "required")

    def __init__(self, *, required: bool = False) -> None:
        self._entries: dict[int, _Entry] | None = None
        #: Whether a transaction's first write is refused without a guard
        #: (`transaction.partition.verification.enable`).
        self.required = required

    def take_over(self, other: Verifications) -> None:
        """The log takes the place of another (a move between directories): what was verified there counts here."""
        self._entries = other._entries

    def start(self, producer_id: int, sequence: int, epoch: int, now_ms: int) -> VerificationGuard:
        """The guard for a write that is about to be verified: the same one until it is used or cleared."""
        entries = self._entries = self._entries or {}
        entry = entries.get(producer_id)
        if entry is None or epoch > entry.epoch:
            entry = entries[producer_id] = _Entry(VerificationGuard(), epoch, sequence, now_ms)
        elif epoch == entry.epoch:
            entry.lowest_sequence = min(entry.lowest_sequence, sequence)
        return entry.guard

    def accepts(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        """Whether this is the guard that was given out, and not used or cleared since."""
        entry = self._entries.get(producer_id) if self._entries else None
        return entry is not None and entry.guard is guard

    def check(self, producer_id: int, sequence: int, guard: VerificationGuard | None) -> None:
        """Refuse a transaction's first write that was not verified, or that is not the first after all.

        Of several writes that wait for their verification at the same time, only the one with the smallest sequence may
        go first: a producer that the log does not know yet may begin with any.
        """
        entry = self._entries.get(producer_id) if self._entries else None
        if entry is None or entry.guard is not guard:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")
        if sequence > entry.lowest_sequence:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Out of order sequence number for producer {producer_id}: {sequence} (incoming "
                f"seq. number), {entry.lowest_sequence} (earliest seen sequence)",
            )

    def clear(self, producer_id: int) -> None:
        """The transaction began or ended: the guard has done its work."""
        if self._entries:
            self._entries.pop(producer_id, None)

    def expire(self, before_ms: int) -> int:
        """Forget the guards that were given out at that time or earlier; how many. A write that has waited for its
        coordinator ever since is refused, and its producer asks again."""
        entries = self._entries or {}
        gone = [producer_id for producer_id, entry in entries.items() if entry.asked_ms <= before_ms]
        for producer_id in gone:
            del entries[producer_id]
        return len(gone)
