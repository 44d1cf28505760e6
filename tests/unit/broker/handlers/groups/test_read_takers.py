"""OffsetFetch and Heartbeat from the bytes of their frames: the same answers as the long way gives."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.group_sides import Choices, Side, exchange, side, until
from support.loop import async_test
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request

#: So many requests of each API go to both brokers.
REQUESTS = 500

Fetched = m.OffsetFetchRequest


def commit(group: str, offsets: dict[tuple[str, int], int], member: str = "", generation: int = -1) -> Any:
    return m.OffsetCommitRequest(
        group_id=group,
        member_id=member,
        generation_id_or_member_epoch=generation,
        topics=[
            m.OffsetCommitRequest.OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    m.OffsetCommitRequest.OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offset, committed_metadata="größer" * (offset % 2)
                    )
                ],
            )
            for (name, index), offset in offsets.items()
        ],
    )


async def fill(one: Side) -> None:
    """Committed offsets in every group, and one that an open transaction holds."""
    offsets = {("one", 0): 11, ("three", 1): 12}
    async with one.client() as client:
        for request in (commit("g", offsets), commit("grüße", offsets), commit("consumer", offsets, *one.consumer)):
            answer = await client.ask(ApiKey.OFFSET_COMMIT, 9, request)
            assert {part.error_code for topic in answer.topics for part in topic.partitions} == {0}
        find = m.FindCoordinatorRequest(key="t", key_type=1)
        await until(lambda: client.ask(ApiKey.FIND_COORDINATOR, 2, find))
        init = m.InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000)
        answer = await until(lambda: client.ask(ApiKey.INIT_PRODUCER_ID, 2, init))
        ids = {"transactional_id": "t", "producer_id": answer.producer_id, "producer_epoch": answer.producer_epoch}
        added = await client.ask(ApiKey.ADD_OFFSETS_TO_TXN, 2, m.AddOffsetsToTxnRequest(**ids, group_id="open"))
        assert added.error_code == 0
        part = m.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=13)
        topic = m.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name="one", partitions=[part])
        pending = await client.ask(
            ApiKey.TXN_OFFSET_COMMIT, 2, m.TxnOffsetCommitRequest(**ids, group_id="open", topics=[topic])
        )
        assert pending.topics[0].partitions[0].error_code == 0


class Frames(Choices):
    """The same sequence of requests for each side, but for the ids that its broker gave."""

    def __init__(self, one: Side, key: ApiKey) -> None:
        super().__init__(9)
        self._side = one
        self._key = key

    def __iter__(self) -> Iterator[bytes]:
        make = self._fetch if self._key is ApiKey.OFFSET_FETCH else self._heartbeat
        for number in range(REQUESTS):
            version = self.rng.randrange(11 if self._key is ApiKey.OFFSET_FETCH else 5)
            client = self.one(None, "c", "ü" * 9)
            yield self.perhaps_mutated(encode_request(self._key, version, number, client, make(version)))

    def _fetch(self, version: int) -> Any:
        group = self.one("g", "grüße", "consumer", "classic", "open", "nobody", "")
        stable = version >= 7 and self.one(True, False)
        if version < 8:
            topics: Any = [
                Fetched.OffsetFetchRequestTopic(name=self._name(), partition_indexes=self._indexes())
                for _ in range(self.mostly(1, 0, 2))
            ]
            if version >= 2:
                topics = self.mostly(topics, None)
            return Fetched(group_id=group, topics=topics, require_stable=stable)
        groups = [self._group(version, group) for _ in range(self.mostly(1, 0, 2))]
        return Fetched(groups=groups, require_stable=stable)

    def _group(self, version: int, group: str) -> Any:
        topics = []
        for _ in range(self.mostly(1, 0, 2)):
            name = self._name()
            topic = Fetched.OffsetFetchRequestTopics(name=name, partition_indexes=self._indexes())
            if version >= 10:
                topic.topic_id = self._side.ids[name]
            topics.append(topic)
        made = Fetched.OffsetFetchRequestGroup(group_id=group, topics=self.mostly(topics, None))
        if version >= 9:
            member, epoch = self._side.consumer if group == "consumer" else (None, -1)
            made.member_id = self.mostly(member, "who", "")
            made.member_epoch = self.mostly(epoch, 0, 7)
        return made

    def _name(self) -> str:
        name: str = self.one("one", "three", "nowhere")
        return name

    def _indexes(self) -> list[int]:
        return [self.mostly(self.one(0, 1), 7, -1) for _ in range(self.mostly(1, 0, 2, 3))]

    def _heartbeat(self, version: int) -> Any:
        group = self.mostly("classic", "consumer", "g", "nobody", "")
        member, generation = self._side.classic
        return m.HeartbeatRequest(
            group_id=group,
            member_id=self.mostly(member, "", "c1"),
            generation_id=self.mostly(generation, -1, 0, 9),
            group_instance_id=self.mostly("i1", None, "i2") if version >= 3 else None,
        )


@pytest.mark.parametrize("key", [ApiKey.OFFSET_FETCH, ApiKey.HEARTBEAT])
@async_test
async def test_both_ways_give_the_same_answers(tmp_path: Path, key: ApiKey) -> None:
    async with side(tmp_path / "hot") as hot, side(tmp_path / "long", hot=False) as long:
        await fill(hot)
        await fill(long)
        answered, closed = 0, 0
        for ours, theirs in zip(Frames(hot, key), Frames(long, key), strict=True):
            async with hot.client() as one, long.client() as other:
                answers = [await exchange(one, ours), await exchange(other, theirs)]
            for number, ids in ((0, hot.ids), (1, long.ids)):
                for name, topic_id in ids.items():  # each broker gave its topics ids of its own
                    if answers[number] is not None:
                        answers[number] = answers[number].replace(topic_id, name.encode())
            assert answers[0] == answers[1], ours.hex()
            closed += answers[0] is None
            answered += answers[0] is not None
        assert closed > 5
        assert REQUESTS / 8 < hot.taken(key) < answered
        assert long.taken(key) == 0


@async_test
async def test_what_is_not_committed_yet_is_not_told(tmp_path: Path) -> None:
    async with side(tmp_path) as hot, hot.client() as writing, hot.client() as reading:
        held: asyncio.Queue[Any] = asyncio.Queue()
        writer = hot.broker.coordinators._writer
        append = writer.append

        def hold(tp: Any, epoch: int, data: bytes, done: Any, **more: Any) -> None:
            append(tp, epoch, data, lambda code: held.put_nowait((done, code)), **more)

        writer.append = hold  # followers that take their time
        writing.send(ApiKey.OFFSET_COMMIT, 9, commit("g", {("one", 0): 5}))
        done, code = await held.get()
        writer.append = append  # as it was
        topic = Fetched.OffsetFetchRequestTopic(name="one", partition_indexes=[0])
        taken = hot.taken(ApiKey.OFFSET_FETCH)
        reading.send(ApiKey.OFFSET_FETCH, 5, Fetched(group_id="g", topics=[topic]))
        async with hot.client() as other:  # its answer comes after the question above was seen
            await other.ask(ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest())
        assert reading.reader._buffer == b""
        done(code)
        answer = decode_response(ApiKey.OFFSET_FETCH, 5, await reading.receive_frame())[1]
        assert answer.topics[0].partitions[0].committed_offset == 5
        assert hot.taken(ApiKey.OFFSET_FETCH) == taken
