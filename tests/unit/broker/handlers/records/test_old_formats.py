"""Topics of message formats 0 and 1 on a broker: requests of all ages, side by side."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from reference.records.message_set import iter_messages, unwrap
from support.appending import append
from support.wire import NOW, batch, connected, fetch_request, run, serving
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.handlers.records.preparation import PACKED_ON_LOOP
from tidelog.broker.metadata.topic_configs import TopicConfigs
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import seeded_rng
from tidelog.common.types import TopicPartition
from tidelog.log.append import AppendOrigin
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import ListOffsetsRequest
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.control import end_txn_marker

OLD = {"inter.broker.protocol.version": "2.8"}
VERSIONS = {0: "0.9.0", 1: "0.10.2", 2: "2.8"}


def segment(path: Path, topic: str = "t") -> bytes:
    return (path / f"{topic}-0" / "00000000000000000000.log").read_bytes()


def message_set(magic: int, count: int, codec: Codec = Codec.NONE, seed: int = 0) -> bytes:
    builder = BatchBuilder(magic, codec)
    rng = seeded_rng(seed)
    for _ in range(count):
        builder.append(NOW, b"k", rng.getrandbits(400).to_bytes(50, "big"))
    return builder.build()


def test_packers_of_magic_0_that_race_all_get_their_own_offsets(tmp_path: Path) -> None:
    """Each set is packed on a thread for the offset that it will probably get; the slower one is packed again."""
    count, clients = 400, 6

    async def produce(broker: Any, number: int) -> list[int]:
        async with connected(broker) as client:
            data = message_set(0, count, Codec.GZIP, number)
            assert len(data) > PACKED_ON_LOOP
            answers = [await client.produce("t", data, version=2) for _ in range(4)]
            assert [answer.error_code for answer in answers] == [0] * 4
            return [answer.base_offset for answer in answers]

    async def go() -> list[int]:
        async with serving(tmp_path, OLD) as broker:
            broker.create_topic("t", 1, {"message.format.version": VERSIONS[0], "compression.type": "lz4"})
            found = await asyncio.gather(*(produce(broker, number) for number in range(clients)))
            return sorted(offset for offsets in found for offset in offsets)

    firsts = run(go())
    assert firsts == list(range(0, count * clients * 4, count))
    entries = list(iter_messages(segment(tmp_path), check_crc=True))
    assert [entry.offset for entry in entries] == [first + count - 1 for first in firsts]
    for entry, first in zip(entries, firsts, strict=True):
        assert [message.offset for message in unwrap(entry, check_crc=True)] == list(range(first, first + count))


@pytest.mark.parametrize("magic", [0, 1])
def test_batches_of_newer_clients_are_converted_however_they_come(tmp_path: Path, magic: int) -> None:
    """The short way through the broker knows magic 2 alone: it must not be taken."""

    async def go() -> None:
        async with serving(tmp_path, OLD) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"message.format.version": VERSIONS[magic]})
            for version in (3, 7, 9, 11):
                assert (await client.produce("t", batch(b"a", b"b"), version=version)).error_code == 0

    run(go())
    entries = list(iter_batches(segment(tmp_path), check_crc=True))
    assert [(entry.magic, entry.last_offset) for entry in entries] == [(magic, offset) for offset in range(8)]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_every_reader_gets_what_it_understands(tmp_path: Path, magic: int) -> None:
    async def go() -> None:
        async with serving(tmp_path, OLD) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"message.format.version": VERSIONS[magic]})
            assert (await client.produce("t", batch(b"a", b"b", b"c"), version=9)).error_code == 0
            for version, newest in ((0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (11, 2)):
                answer = await client.ask(ApiKey.FETCH, version, fetch_request({"t": {0: 1}}))
                data = bytes(answer.responses[0].partitions[0].records)
                entries = list(iter_batches(data, check_crc=True))
                assert {entry.magic for entry in entries} == {min(magic, newest)}
                values = {record.offset: record.value for entry in entries for record in entry}
                assert values[1] == b"b"
                assert values[2] == b"c"
                if magic <= newest and magic < 2:  # nothing to convert: the log's own bytes
                    assert segment(tmp_path).endswith(data)

    run(go())


def test_magic_0_cannot_be_searched_by_time(tmp_path: Path) -> None:
    async def ask(client: Any, topic: str, timestamp: int, version: int = 4) -> tuple[int, int]:
        asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp, max_num_offsets=1)
        topics = [ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[asked])]
        answer = await client.ask(ApiKey.LIST_OFFSETS, version, ListOffsetsRequest(replica_id=-1, topics=topics))
        found = answer.topics[0].partitions[0]
        return found.error_code, found.offset

    async def go() -> None:
        async with serving(tmp_path, OLD) as broker, connected(broker) as client:
            for magic in (0, 1):
                broker.create_topic(f"t{magic}", 1, {"message.format.version": VERSIONS[magic]})
                await client.produce(f"t{magic}", message_set(magic, 3), version=2)
            refused = (ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, -1)
            assert [await ask(client, "t0", at) for at in (-1, -2)] == [(0, 3), (0, 0)]
            assert [await ask(client, "t0", at) for at in (0, NOW)] == [refused, refused]
            assert await ask(client, "t0", -3, 7) == refused
            assert [await ask(client, "t1", at) for at in (-1, -2, 0, NOW, NOW + 1)] == [
                (0, 3),
                (0, 0),
                (0, 0),
                (0, 0),
                (0, -1),
            ]

    run(go())


@pytest.mark.parametrize("magic", [0, 1])
def test_markers_and_what_producers_number_need_magic_2(tmp_path: Path, magic: int) -> None:
    async def go() -> None:
        async with serving(tmp_path, OLD) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"message.format.version": VERSIONS[magic]})
            producer = {"producer_id": 4, "producer_epoch": 0, "base_sequence": 0}
            answer = await client.produce("t", batch(b"a", **producer), version=9)
            assert answer.error_code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
            marker = end_txn_marker(producer_id=4, producer_epoch=0, committed=True, coordinator_epoch=0, timestamp=NOW)
            with pytest.raises(KafkaError) as caught:
                await append(broker.replicas, TopicPartition("t", 0), marker, origin=AppendOrigin.COORDINATOR)
            assert caught.value.code == ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT

    run(go())
    assert segment(tmp_path) == b""


def test_the_broker_s_format_holds_for_all_but_internal_topics(caplog: pytest.LogCaptureFixture) -> None:
    settings = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": "/nowhere", "log.message.format.version": "0.10.2"}
    configs = TopicConfigs(BrokerConfig({**settings, **OLD}))
    configs.set("newer", {"message.format.version": "2.8"})
    configs.set("__consumer_offsets", {"cleanup.policy": "compact"})
    found = {name: configs.log_config(name).record_magic for name in ("any", "newer", "__consumer_offsets")}
    assert found == {"any": 1, "newer": 2, "__consumer_offsets": 2}
    assert configs.log_config("__transaction_state").record_magic == 2
    assert not caplog.records
    ignored = TopicConfigs(BrokerConfig(settings))
    ignored.set("older", {"message.format.version": "0.9.0"})
    with caplog.at_level(logging.WARNING):
        assert ignored.log_config("older").record_magic == 2
    assert "message.format.version 0.9.0 of topic older is ignored" in caplog.text


def test_a_topic_may_change_its_format(tmp_path: Path) -> None:
    async def go() -> None:
        async with serving(tmp_path, OLD) as broker, connected(broker) as client:
            for version in ("2.8", "0.9.0", "0.10.2", "2.8"):
                broker.create_topic("t", 1, {"message.format.version": version})
                broker.replicas.partition(TopicPartition("t", 0)).update_config(broker.configs.log_config("t"))
                assert (await client.produce("t", message_set(1, 2), version=2)).error_code == 0
            answer = await client.fetch("t", 0)
            data = bytes(answer.responses[0].partitions[0].records)
            entries = list(iter_batches(data, check_crc=True))
            assert [entry.magic for entry in entries] == [2, 0, 0, 1, 1, 2]
            assert [record.offset for entry in entries for record in entry] == list(range(8))

    run(go())
