"""The JSON in the nodes: what we write and what Apache Kafka wrote, we read; what is neither is refused."""

from __future__ import annotations

import json

import pytest

from tidelog.broker.store import paths, znodes
from tidelog.broker.store.errors import StoreError
from tidelog.common.uuids import ZERO_UUID, uuid_from_text

TOPIC_ID = uuid_from_text("dGhpcyBpcyAxNiBieXRlcw"[:22])


def test_topics_round_trip():
    node = znodes.TopicNode(TOPIC_ID, {0: (1, 2), 1: (2, 1), 10: (1, 2)}, {1: (2,)}, {})
    assert znodes.decode_topic("/t", znodes.encode_topic(node)) == node
    assert json.loads(znodes.encode_topic(node))["version"] == 3


def test_a_topic_of_an_older_kafka_has_no_id():
    node = znodes.decode_topic("/t", b'{"version":1,"partitions":{"0":[1],"1":[2]}}')
    assert node == znodes.TopicNode(ZERO_UUID, {0: (1,), 1: (2,)}, {}, {})


def test_partition_states_are_json_that_others_read():
    node = znodes.StateNode(1, 4, (1, 2), 9)
    data = znodes.encode_state(node)
    assert json.loads(data) == {"controller_epoch": 9, "leader": 1, "version": 1, "leader_epoch": 4, "isr": [1, 2]}
    assert znodes.decode_state("/s", data) == node


def test_brokers_configs_and_blocks():
    data = znodes.encode_broker(["PLAINTEXT://h:1"], {"PLAINTEXT": "PLAINTEXT"}, "h", 1, "r", 5)
    assert znodes.decode_broker("/b", data) == (["PLAINTEXT://h:1"], {"PLAINTEXT": "PLAINTEXT"}, "r")
    old = b'{"version":1,"host":"h","port":9092,"jmx_port":-1}'
    assert znodes.decode_broker("/b", old).endpoints == ["PLAINTEXT://h:9092"]
    assert znodes.decode_config("/c", znodes.encode_config({"a": "b"})) == {"a": "b"}
    assert znodes.decode_config("/c", b"") == {}
    block = znodes.ProducerIdBlock(2000, 1000)
    assert znodes.decode_producer_id_block("/p", znodes.encode_producer_id_block(block, 1)) == block
    assert znodes.decode_producer_id_block("/p", b"") is None
    assert znodes.decode_cluster_id(znodes.encode_cluster_id("abc")) == "abc"
    assert znodes.decode_controller(znodes.encode_controller(3, 0)) == 3


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"partitions":[]}', b'{"partitions":{"x":[1]}}'])
def test_what_is_no_topic_is_refused(data):
    with pytest.raises(StoreError, match="/t"):
        znodes.decode_topic("/t", data)


@pytest.mark.parametrize("data", [b"1", b"{}", b'{"leader":"x","leader_epoch":0,"isr":[],"controller_epoch":0}'])
def test_what_is_no_state_is_refused(data):
    with pytest.raises(StoreError, match="/s"):
        znodes.decode_state("/s", data)


@pytest.mark.parametrize("name", ["alice", "a/b", "ü ber", "*", "<default>", "a%2Fb", ".", ".."])
def test_names_of_users_survive_being_part_of_a_path(name):
    part = paths.sanitize(name)
    assert paths.is_part(part)
    assert part != paths.DEFAULT_ENTITY
    assert paths.unsanitize(part) == name
