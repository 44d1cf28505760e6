"""What the cleaner must know of transactions while it walks a log from front to back.

Data of an aborted transaction goes at once. A marker stays as long as any data of its transaction is left in the log:
without the abort marker (and its entry in the transaction index) a reader would take aborted data for committed. Once
the data is gone the marker may go too, but like a tombstone it first gets a delete horizon, so that a reader that is
under way still meets it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable

from tidelog.log.segment.txn_index import AbortedTxn

ABORT, COMMIT = 0, 1


class CleanedTransactions:
    """The transactions that are open at the point which the cleaner has reached.

    `keep` is called with each aborted transaction whose marker stays: it belongs into the cleaned segment's index.
    """

    def __init__(self, keep: Callable[[AbortedTxn], None] = lambda transaction: None) -> None:
        self.keep = keep
        self._committed: set[int] = set()
        #: producer id → [its aborted transaction, whether data of it was met]
        self._aborted: dict[int, tuple[AbortedTxn, list[bool]]] = {}
        self._ahead: list[tuple[int, int, AbortedTxn]] = []
        self._order = 0

    def add_aborted(self, transactions: Iterable[AbortedTxn]) -> None:
        """Announce aborted transactions of the part of the log that comes next."""
        for transaction in transactions:
            self._order += 1
            heapq.heappush(self._ahead, (transaction.first_offset, self._order, transaction))

    def on_batch(self, producer_id: int, last_offset: int) -> bool:
        """A transactional data batch passes; true when it is aborted data."""
        self._open_until(last_offset)
        aborted = self._aborted.get(producer_id)
        if aborted is None:
            self._committed.add(producer_id)
            return False
        aborted[1][0] = True
        return True

    def on_control(self, producer_id: int, last_offset: int, kind: int) -> bool:
        """A control batch passes (`kind` -1: it holds no record any more); true when it may be removed."""
        self._open_until(last_offset)
        if kind == ABORT:
            aborted = self._aborted.pop(producer_id, None)
            if aborted is None or not aborted[1][0]:
                return True
            self.keep(aborted[0])
            return False
        if kind == COMMIT:
            if producer_id not in self._committed:
                return True
            self._committed.discard(producer_id)
            return False
        return kind < 0

    def _open_until(self, offset: int) -> None:
        while self._ahead and self._ahead[0][0] <= offset:
            transaction = heapq.heappop(self._ahead)[2]
            self._aborted.setdefault(transaction.producer_id, (transaction, [False]))
