"""A reader of a backlog is told the same by Apache Kafka and by Tidelog: how much, and what of it was aborted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.blocking_wire import BlockingWire
from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer
from support.wire import fetch_request
from tidelog.protocol.api import ApiKey

pytestmark = [pytest.mark.java, pytest.mark.timeout(600)]

ABORTED = 30


def abort_some(address: str) -> None:
    admin = AdminClient({"bootstrap.servers": address})
    for future in admin.create_topics([NewTopic("t", 1, 1)]).values():
        future.result()
    for number in range(ABORTED):
        producer = Producer({"bootstrap.servers": address, "transactional.id": f"x{number}"})
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce("t", bytes(3000))
        producer.flush()
        producer.abort_transaction()


def told(address: str) -> list[Any]:
    """(offset, limit, bytes returned, first offsets of the aborted transactions) of many fetches."""
    found = []
    with BlockingWire(address) as wire:
        for offset in range(0, 2 * ABORTED + 1, 5):
            for limit in (100, 4000, 10_000, 100_000):
                request = fetch_request({"t": {0: offset}}, isolation_level=1, partition_max_bytes=limit)
                (part,) = wire.ask(ApiKey.FETCH, 12, request).responses[0].partitions
                aborted = part.aborted_transactions
                firsts = None if aborted is None else [one.first_offset for one in aborted]
                found.append((offset, limit, len(part.records or b""), firsts))
    return found


def test_the_aborted_list_is_kafkas(tmp_path: Path) -> None:
    small = {"transaction.state.log.num.partitions": "5"}
    with KafkaBroker(KAFKA_4, tmp_path / "kafka", properties=small) as kafka, TidelogServer(tmp_path / "ours") as ours:
        for address in (kafka.address, ours.address):
            abort_some(address)
        theirs = told(kafka.address)
        assert told(ours.address) == theirs
    lengths = [len(firsts) for _, limit, _, firsts in theirs if limit == 4000]
    assert max(lengths) < 5, "a small answer lists few"
