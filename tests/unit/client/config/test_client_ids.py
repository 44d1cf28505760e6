"""Clients that nobody named: numbered by kind, as Java's, and told to the brokers so."""

from __future__ import annotations

import pytest

from tidelog import Admin, Consumer, Producer
from tidelog.client.config import admin, client_config, common, consumer, parse, producer
from tidelog.client.config.client_ids import ClientNames
from tidelog.client.config.parsing import ClientKeys
from tidelog.testing import Broker

BROKER = {"bootstrap.servers": "h:9092"}


def named(keys: ClientKeys, **keywords: object) -> str:
    return parse(keys, BROKER, keywords)[common.CLIENT_ID]


@pytest.mark.parametrize(
    ("keys", "keywords", "beginning"),
    [
        (producer.KEYS, {}, "producer-"),
        (consumer.KEYS, {"group_id": "orders"}, "consumer-orders-"),
        (consumer.KEYS, {}, "consumer-"),
        (consumer.KEYS, {"group_id": "orders", "client_id": ""}, "consumer-orders-"),
        (admin.KEYS, {}, "adminclient-"),
    ],
)
def test_the_next_one_has_the_next_number(keys: ClientKeys, keywords: dict[str, object], beginning: str) -> None:
    first, second = named(keys, **keywords), named(keys, **keywords)
    assert first.startswith(beginning)
    assert int(second.removeprefix(beginning)) == int(first.removeprefix(beginning)) + 1


def test_each_kind_counts_by_itself_from_one() -> None:
    names = ClientNames("producer")
    config = client_config({**BROKER, "client.id": ""})
    assert [names.settle(config, None)["client.id"] for _ in range(2)] == ["producer-1", "producer-2"]
    assert ClientNames("consumer").settle(config, "orders", None)["client.id"] == "consumer-orders-1"


def test_what_has_a_name_of_its_own_needs_no_number() -> None:
    assert named(producer.KEYS, transactional_id="billing") == "producer-billing"
    assert named(consumer.KEYS, group_id="orders", group_instance_id="seat-7") == "consumer-orders-seat-7"
    for keys in (producer.KEYS, consumer.KEYS, admin.KEYS):
        assert named(keys, client_id="mine") == "mine"
    assert client_config(BROKER)[common.CLIENT_ID] == "tidelog"


def test_members_of_a_group_are_seen_by_their_names() -> None:
    with Broker() as broker, Admin(bootstrap_servers=broker.address) as admin_client:
        admin_client.create_topic("orders", 1)
        with Producer(bootstrap_servers=broker.address) as writer:
            writer.send("orders", b"x").result(30)
        settings = {"bootstrap.servers": broker.address, "group.id": "bills", "auto.offset.reset": "earliest"}
        with Consumer(settings) as reader:
            reader.subscribe(["orders"])
            while not reader.poll(1):
                pass
            (member,) = admin_client.describe_consumer_group("bills").members
        assert member.client_id.startswith("consumer-bills-")
        assert member.member_id.startswith(member.client_id)
