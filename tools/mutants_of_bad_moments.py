"""Seeded faults of the clients that cost records once: lost, written twice, or committed unread."""

from __future__ import annotations

from mutant import Mutant

BAD_MOMENTS = [
    Mutant(
        "idle-topic-counts-from-zero",
        "client/producer/core.py",
        "            self._recovery.remembered(topic)\n",
        "",
        "unit/client/producer/test_delivery.py",
    ),
    Mutant(
        "record-in-line-survives-its-transaction",
        "client/producer/core.py",
        "        self.manager.check_belongs(prepared.transaction)\n",
        "",
        "unit/client/producer/test_transaction_exchanges.py",
    ),
    Mutant(
        "abort-does-not-wait-for-what-was-given-up",
        "client/producer/transaction_exchanges.py",
        "            await self.sender.silence()\n",
        "            pass\n",
        "unit/client/producer/test_bad_moments.py",
    ),
    Mutant(
        "older-by-the-clock-goes-first",
        "client/producer/recovery.py",
        "(batch.place, batch.base_sequence)",
        "(batch.created, batch.base_sequence)",
        "unit/client/producer/test_bad_moments.py",
    ),
    Mutant(
        "late-rows-in-the-next-transaction",
        "client/producer/columns.py",
        "        self._admit()\n",
        "",
        "unit/client/producer/test_columns.py",
    ),
    Mutant(
        "new-leader-before-the-old-one-has-answered",
        "client/producer/readiness.py",
        "        if self.one_by_one and queue.in_flight",
        "        if False and queue.in_flight",
        "unit/client/producer/test_readiness.py",
    ),
    Mutant(
        "decoded-is-handed-over",
        "client/consumer/arrow.py",
        "                    start = next_offset\n                    size += batch.nbytes\n",
        "                    piece.part.stand = (next_offset, -1)\n"
        "                    start = next_offset\n                    size += batch.nbytes\n",
        "unit/client/consumer/test_delivery.py",
    ),
    Mutant(
        "interrupted-poll-is-not-taken-back",
        "client/consumer/delivery.py",
        "        while self._before:\n            (tp, generation)",
        "        while False:\n            (tp, generation)",
        "unit/client/consumer/test_delivery.py",
    ),
    Mutant(
        "unhandled-is-committed-after-two-interrupts",
        "client/consumer/handling/blocking.py",
        "        self._course.core.post(self._course.core.put_back, positions)\n",
        "",
        "unit/client/consumer/handling/test_runs.py",
    ),
    Mutant(
        "put-out-and-still-handing-out",
        "client/consumer/membership/classic.py",
        "        self._host.hold_back()\n        moving",
        "        moving",
        "unit/client/consumer/membership/test_classic.py",
    ),
    Mutant(
        "fenced-and-told-once",
        "client/consumer/group_side.py",
        "        if final:\n            self.fatal = error\n",
        "",
        "unit/client/consumer/test_group_side.py",
    ),
    Mutant(
        "next-generation-is-not-heard-out",
        "client/consumer/membership/classic.py",
        "            await self._hear_out()\n",
        "            self._ending = True\n",
        "unit/client/consumer/membership/test_classic.py",
    ),
    Mutant(
        "assignment-taken-for-confirmed",
        "client/consumer/membership/consumer.py",
        "self._heartbeats.assigned()",
        "pass",
        "unit/client/consumer/membership/test_consumer_errors.py",
    ),
]
