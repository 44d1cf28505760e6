"""Kafka's own dump tool reads our internal topics, record by record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from support.kafka import dump_log_class, java_tool
from support.patience import eventually
from support.tidelog import TidelogServer
from tidelog.client.blocking import BlockingClient
from tidelog.client.transaction_requests import describe_transaction
from tidelog.common.hashing import partition_for_id

pytestmark = pytest.mark.java


def dump(server: Any, tmp_path: Path, version: str, topic: str, key: str, decoder: str) -> str:
    partition = partition_for_id(key, 5)
    segment = server.data / f"{topic}-{partition}" / "00000000000000000000.log"
    return java_tool(version, tmp_path, dump_log_class(version), "--files", str(segment), decoder).stdout


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_offsets_decoder(server: Any, filled: Callable[..., str], tmp_path: Path, version: str) -> None:
    if not isinstance(server, TidelogServer):
        pytest.skip("looks into the broker's directory")
    name = filled(2, 10)
    group = f"{name}-group"
    settings = {"auto.offset.reset": "earliest", "enable.auto.commit": False}  # nothing is committed but what we say
    consumer = Consumer({"bootstrap.servers": server.address, "group.id": group, **settings})
    consumer.subscribe([name])
    while len(consumer.assignment()) < 2:
        consumer.poll(0.1)
    consumer.commit(offsets=[TopicPartition(name, 0, 3, "note")], asynchronous=False)
    consumer.close()
    text = dump(server, tmp_path, version, "__consumer_offsets", group, "--offsets-decoder")
    payloads = [json.loads(found) for found in re.findall(r"payload: (\{.*\})", text)]
    metadata = [entry for entry in re.findall(r"payload: (.*)", text) if entry != "<DELETE>"]
    assert any('"offset":3' in entry and '"metadata":"note' in entry for entry in metadata), text[-3000:]
    assert any('"protocolType":"consumer"' in entry and '"generation":1' in entry for entry in metadata)
    assert len(payloads) >= 2
    assert "Could not decode" not in text


@pytest.mark.parametrize("version", ["3.9.2", "4.3.1"])
def test_transaction_log_decoder(server: Any, filled: Callable[..., str], tmp_path: Path, version: str) -> None:
    if not isinstance(server, TidelogServer):
        pytest.skip("looks into the broker's directory")
    name = filled(1, 0)
    producer = Producer({"bootstrap.servers": server.address, "transactional.id": f"{name}-id"})
    producer.init_transactions(60)
    for committed in (True, False):
        producer.begin_transaction()
        producer.produce(name, b"x")
        producer.flush(60)
        if committed:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)
    with BlockingClient({"bootstrap.servers": server.address}) as client:  # the answer comes before the end is complete
        eventually(lambda: client.run(describe_transaction(client.cluster, f"{name}-id")).state, "CompleteAbort".__eq__)
    text = dump(server, tmp_path, version, "__transaction_state", f"{name}-id", "--transaction-log-decoder")
    names = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")
    for number, state in enumerate(names):
        assert re.search(rf'state[:=]{state}|"transactionStatus":{number},', text), text[-3000:]
    assert name in text
