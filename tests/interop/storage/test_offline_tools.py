"""The offline tools on directories that Apache Kafka wrote; afterwards Kafka opens them again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from interop.storage.dump import accepted
from support.kafka import KAFKA_3, KAFKA_4, KafkaBroker
from support.patience import eventually
from tidelog.cli.main import main
from tidelog.client.blocking import BlockingClient
from tidelog.client.transaction_requests import describe_transaction

pytestmark = pytest.mark.java
SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


def fill(kafka: KafkaBroker) -> dict[bytes, bytes]:
    """A keyed topic, a committed group, a transaction; returns the keyed topic's table."""
    admin = AdminClient({"bootstrap.servers": kafka.address})
    admin.create_topics([NewTopic("accounts", 1, 1, config={"segment.ms": "1"})])["accounts"].result(60)
    producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": "tx", "linger.ms": 0})
    producer.init_transactions(60)
    table: dict[bytes, bytes] = {}
    for turn in range(10):
        producer.begin_transaction()
        for n in range(20):
            key, value = b"account-%d" % n, b"balance %d" % (turn * 100 + n)
            producer.produce("accounts", key=key, value=value, partition=0)
            if turn != 9:
                table[key] = value
        if turn == 9:
            producer.flush(60)
            producer.abort_transaction(60)
        else:
            producer.commit_transaction(60)
    with BlockingClient({"bootstrap.servers": kafka.address}) as client:  # the answer comes before the end is complete
        eventually(lambda: client.run(describe_transaction(client.cluster, "tx")).state, "CompleteAbort".__eq__)
    consumer = Consumer({"bootstrap.servers": kafka.address, "group.id": "audit"})
    consumer.commit(offsets=[TopicPartition("accounts", 0, 17)], asynchronous=False)
    consumer.close()
    return table


def read_table(kafka: KafkaBroker) -> dict[bytes, bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.address,
            "group.id": "x",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition("accounts", 0, 0)])
    table: dict[bytes, bytes] = {}
    while (message := consumer.poll(120)) is not None:
        error = message.error()
        if error is None:
            table[message.key()] = message.value()
        elif error.code() == KafkaError._PARTITION_EOF:
            break
        else:
            assert error.retriable(), error
    consumer.close()
    return table


def tidelog(capsys: pytest.CaptureFixture[str], *words: object) -> list[dict[str, Any]]:
    status = main(["log", *map(str, words), "--json"])
    captured = capsys.readouterr()
    assert status == 0, captured
    return [json.loads(line) for line in captured.out.splitlines()]


@pytest.mark.parametrize("version", [KAFKA_3, KAFKA_4])
def test_all_tools(version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with KafkaBroker(version, tmp_path, properties=SETTINGS) as kafka:
        table = fill(kafka)
    data = kafka.data
    accounts = data / "accounts-0"

    assert tidelog(capsys, "verify", data)[-1]["errors"] == 0
    (stat,) = tidelog(capsys, "stat", accounts)
    assert (stat["distinct_keys"], stat["control_batches"]) == (20, 10)
    decoded = [
        row["decoded"] for row in tidelog(capsys, "dump", data / "__consumer_offsets-0", "-r") if "decoded" in row
    ]
    commits = [row for row in decoded if row["type"] == "OffsetCommit" and row["key"]["group"] == "audit"]
    assert commits[-1]["value"]["offset"] == 17
    states = [row["decoded"] for row in tidelog(capsys, "dump", data / "__transaction_state-0", "-r")]
    assert {row["key"]["transactional_id"] for row in states} == {"tx"}
    assert {"CompleteCommit", "CompleteAbort"} <= {row["value"]["transaction_status"] for row in states if row["value"]}

    metadata = tidelog(capsys, "dump", data / "__cluster_metadata-0", "-r")
    topics = [
        row["decoded"]["value"]["name"] for row in metadata if row.get("decoded", {}).get("type") == "TopicRecord"
    ]
    assert "accounts" in topics

    before = {path.name: path.read_bytes() for path in accounts.glob("*.txnindex")}
    tidelog(capsys, "reindex", accounts)
    assert {path.name: path.read_bytes() for path in accounts.glob("*.txnindex")} == before
    rows = tidelog(capsys, "compact", data, "--topic", "accounts", "--roll", "--all")
    assert rows[0]["result"] == "ok"
    assert rows[0]["records_after"] < rows[0]["records_before"]
    assert tidelog(capsys, "verify", data)[-1]["errors"] == 0
    assert accepted(version, tmp_path / "conf", accounts)

    again = KafkaBroker(version, tmp_path, data=data, properties=SETTINGS)
    with again:
        assert read_table(again) == table
    shutil.rmtree(data)
