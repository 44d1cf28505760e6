"""An Apache Kafka 3.9 broker opens our directory: it knows our groups' offsets and our transactional ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kazoo.client import KazooClient

from support.kafka import KAFKA_3, KafkaBroker
from support.tidelog import TidelogServer
from tidelog.common.properties import parse_properties

pytestmark = pytest.mark.java
SETTINGS = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}


def write_ours(server: TidelogServer) -> None:
    """A group with members that came and went, offsets in and out of transactions, an open transaction."""
    admin = AdminClient({"bootstrap.servers": server.address})
    admin.create_topics([NewTopic("events", 2, 1)])["events"].result(60)
    producer = Producer({"bootstrap.servers": server.address, "transactional.id": "ours"})
    producer.init_transactions(60)
    settings = {"auto.offset.reset": "earliest", "enable.auto.commit": False}  # nothing is committed but what we say
    member = Consumer({"bootstrap.servers": server.address, "group.id": "group", **settings})
    member.subscribe(["events"])
    while len(member.assignment()) < 2:
        member.poll(0.1)
    member.commit(offsets=[TopicPartition("events", 0, 3)], asynchronous=False)
    producer.begin_transaction()
    producer.produce("events", b"committed", partition=1)
    producer.send_offsets_to_transaction([TopicPartition("events", 1, 4)], member.consumer_group_metadata(), 60)
    producer.commit_transaction(60)
    member.close()


def as_zookeeper_broker(data: Path) -> None:
    """A broker of a ZooKeeper cluster knows version 0 of meta.properties only: the operator's one step."""
    path = data / "meta.properties"
    cluster_id = parse_properties(path.read_text())["cluster.id"]
    path.write_text(f"version=0\nbroker.id=1\ncluster.id={cluster_id}\n")


def lay_znodes(address: str, data: Path) -> None:
    """What a ZooKeeper cluster knows of these topics, and of the cluster's id."""
    topics: dict[str, dict[str, list[int]]] = {}
    ids: dict[str, str] = {}
    for path in data.glob("*-[0-9]*/partition.metadata"):
        topic, _, partition = path.parent.name.rpartition("-")
        topics.setdefault(topic, {})[partition] = [1]
        ids[topic] = path.read_text().split("topic_id: ")[1].strip()
    cluster_id = parse_properties((data / "meta.properties").read_text())["cluster.id"]
    client = KazooClient(address)
    client.start(120)
    try:
        client.create("/cluster/id", json.dumps({"version": "1", "id": cluster_id}).encode(), makepath=True)
        for topic, partitions in topics.items():
            node = {
                "version": 3,
                "topic_id": ids[topic],
                "partitions": partitions,
                "adding_replicas": {},
                "removing_replicas": {},
            }
            config = {"version": 1, "config": {"cleanup.policy": "compact"} if topic.startswith("__") else {}}
            client.create(f"/brokers/topics/{topic}", json.dumps(node).encode(), makepath=True)
            client.create(f"/config/topics/{topic}", json.dumps(config).encode(), makepath=True)
    finally:
        client.stop()
        client.close()


def test_kafka_goes_on_where_we_stopped(tmp_path: Path) -> None:
    with TidelogServer(tmp_path / "ours", properties={**SETTINGS, "node.id": "1"}) as server:
        write_ours(server)
        server.stop()
    kafka = KafkaBroker(KAFKA_3, tmp_path / "kafka", mode="zookeeper", data=server.data, properties=SETTINGS)
    try:
        kafka.start_zookeeper()
        as_zookeeper_broker(server.data)
        lay_znodes(f"127.0.0.1:{kafka.zookeeper_port}", server.data)
        kafka.start()
        member = Consumer({"bootstrap.servers": kafka.address, "group.id": "group"})
        found = member.committed([TopicPartition("events", 0), TopicPartition("events", 1)], 60)
        assert [partition.offset for partition in found] == [3, 4]
        member.close()
        producer = Producer({"bootstrap.servers": kafka.address, "transactional.id": "ours"})
        producer.init_transactions(60)
        producer.begin_transaction()
        producer.produce("events", b"theirs", partition=0)
        producer.commit_transaction(60)
    finally:
        kafka.close()
