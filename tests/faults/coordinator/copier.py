"""Copies a topic exactly once until it is killed: copier.py HOST:PORT IN OUT GROUP TRANSACTIONAL_ID PROTOCOL HISTORY

Transactions of up to 100 records; what goes wrong in a way that can be aborted is aborted and read again, anything else
ends the process, and the test starts another one. What it does it writes down (see history.py). A transaction takes a
second or so, even if the broker is killed in it; a copier that is still in one after half a minute says where, and dies
of SIGALRM.

Two settings keep librdkafka from standing still by itself. The producer must not bootstrap again when its broker goes:
2.16 drops the brokers that it knows, then, and waits for the dropped one to come back as the group's coordinator, so
that `send_offsets_to_transaction` neither returns nor times out, whatever broker it talks to (librdkafka's issues 5511
and 5456; see the guide to transactions). And no client may wait for ten seconds before it connects again, which is the
default after some refused connections, for each of its connections by itself.
"""

from __future__ import annotations

import faulthandler
import itertools
import os
import signal
import sys
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

TIMEOUT = 15
PATIENCE = 30


class Copier:
    def __init__(self, address: str, group: str, transactional_id: str, protocol: str, history: str) -> None:
        common = {"bootstrap.servers": address, "reconnect.backoff.max.ms": 500}
        sessions = {"session.timeout.ms": 2000, "heartbeat.interval.ms": 300}
        self.consumer = Consumer(
            {
                **common,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                **({"group.protocol": "consumer"} if protocol == "consumer" else sessions),
            }
        )
        self.producer = Producer(
            {
                **common,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": 10_000,
                "linger.ms": 0,
                "metadata.recovery.strategy": "none",
            }
        )
        self.history = open(history, "a", buffering=1)  # noqa: SIM115  # for as long as the process lives
        self.names = (f"{transactional_id}/{os.getpid()}/{number}" for number in itertools.count())
        self.rebalances = 0

    def run(self, source: str, target: str) -> None:
        self.producer.init_transactions(TIMEOUT)
        self.consumer.subscribe([source], on_assign=self._rebalanced, on_revoke=self._rebalanced)
        while True:
            self._copy(target)

    def _rebalanced(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.rebalances += 1

    def _copy(self, target: str) -> None:
        before = self.rebalances
        records = [record for record in self.consumer.consume(100, 0.5) if record.error() is None]
        if not records:
            return
        if self.rebalances != before:  # some of them may belong to somebody else by now
            self._rewind()
            return
        name = next(self.names)
        self._note("copy", name, ",".join(record.value().decode() for record in records))
        signal.alarm(PATIENCE)
        self.producer.begin_transaction()
        try:
            self._write(name, target, records)
            self._commit()
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            self.producer.abort_transaction(TIMEOUT)
            self._note("aborted", name)
            self._rewind()
        else:
            self._note("committed", name)
        signal.alarm(0)

    def _write(self, name: str, target: str, records: list[Any]) -> None:
        ends: dict[tuple[str, int], int] = {}
        for record in records:
            value = f"{record.value().decode()} {name}"
            self.producer.produce(target, value, record.key(), partition=record.partition())
            ends[record.topic(), record.partition()] = record.offset() + 1
        offsets = [TopicPartition(*partition, end) for partition, end in ends.items()]
        while True:
            try:
                self.producer.send_offsets_to_transaction(offsets, self.consumer.consumer_group_metadata(), TIMEOUT)
                return
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise

    def _commit(self) -> None:
        while True:
            try:
                self.producer.commit_transaction(TIMEOUT)
                return
            except KafkaException as error:
                if not error.args[0].retriable():
                    raise

    def _rewind(self) -> None:
        """Read again from what is committed."""
        partitions = self.consumer.assignment()
        for partition in self.consumer.committed(partitions, TIMEOUT) if partitions else ():
            self.consumer.seek(TopicPartition(partition.topic, partition.partition, max(partition.offset, 0)))

    def _note(self, *words: str) -> None:
        self.history.write(" ".join(words) + "\n")


if __name__ == "__main__":
    faulthandler.register(signal.SIGALRM, chain=True)
    address, source, target, *others = sys.argv[1:]
    Copier(address, *others).run(source, target)
