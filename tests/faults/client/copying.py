"""Copies a topic exactly once with our own clients, in this process, and writes down what it does.

The steps are those of `faults/coordinator/copier.py` (which is librdkafka's), so that the same checker judges them
(`faults/coordinator/history.py`). A copier that cannot go on is replaced by a new one with the same transactional id,
as if its process had been started again.
"""

from __future__ import annotations

import itertools
from typing import Any

from faults.coordinator.history import History
from tidelog import Consumer, KafkaError, OffsetAndMetadata, Producer
from tidelog.common.errors import TidelogError


class OurCopier:
    """One after the other: `copy()` does one transaction, whatever happens."""

    def __init__(self, settings: dict[str, Any], group: str, transactional_id: str, source: str, target: str) -> None:
        self.history = History()
        self.replaced = 0
        self._settings, self._group, self._id = settings, group, transactional_id
        self._source, self._target = source, target
        self._names = (f"{transactional_id}/{number}" for number in itertools.count())
        self._consumer: Consumer | None = None
        self._producer: Producer | None = None

    def copy(self) -> int:
        """How many records were copied (and committed) by this call."""
        try:
            consumer, producer = self._clients()
            records = list(consumer.poll(0.2))
            return self._transaction(consumer, producer, records) if records else 0
        except TidelogError:
            self.replaced += 1
            self.close()
            return 0

    def close(self) -> None:
        consumer, self._consumer = self._consumer, None
        producer, self._producer = self._producer, None
        if consumer is not None:
            consumer.close(timeout=1)
        if producer is not None:
            try:
                producer.close(timeout=0)
            except KafkaError:
                return  # it says what was not acknowledged; the history says it, too

    def _clients(self) -> tuple[Consumer, Producer]:
        if self._consumer is None:
            reading = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "max.poll.records": 20}
            # A JoinGroup in a hole is waited for so long, and five seconds more.
            reading["max.poll.interval.ms"] = 3000
            groups = {"session.timeout.ms": 3000, "heartbeat.interval.ms": 200, "isolation.level": "read_committed"}
            self._consumer = Consumer({**self._settings, **reading, **groups, "group.id": self._group})
            self._consumer.subscribe([self._source])
        if self._producer is None:
            writing = {"transactional.id": self._id, "transaction.timeout.ms": 5000, "linger.ms": 0}
            writing |= {"max.block.ms": 10_000, "delivery.timeout.ms": 5000}
            self._producer = Producer({**self._settings, **writing})
            self._producer.init_transactions()
        return self._consumer, self._producer

    def _transaction(self, consumer: Consumer, producer: Producer, records: list[Any]) -> int:
        name = next(self._names)
        self.history.add(f"copy {name} {','.join(record.value.decode() for record in records)}\n")
        offsets = {record.topic_partition: OffsetAndMetadata(record.offset + 1) for record in records}
        producer.begin_transaction()
        try:
            for record in records:
                producer.send(self._target, record.value + b" " + name.encode(), partition=record.partition)
            producer.send_offsets_to_transaction(offsets, consumer.group_metadata())
            self._commit(producer)
        except KafkaError:
            producer.abort_transaction()
            self.history.add(f"aborted {name}\n")
            for tp, position in consumer.committed(offsets).items():
                consumer.seek(tp, 0 if position is None else position.offset)
            return 0
        self.history.add(f"committed {name}\n")
        return len(records)

    def _commit(self, producer: Producer) -> None:
        """Nobody knows how a commit has ended that failed with something that may pass: it is called again."""
        for attempt in itertools.count():
            try:
                producer.commit_transaction()
                return
            except KafkaError as error:
                if not error.retriable or attempt > 3:
                    raise
