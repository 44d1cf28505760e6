"""OffsetCommit from the bytes of its frame: the same answers, records and state as the long way gives."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.group_sides import Choices, Side, exchange, side, until
from support.loop import async_test
from support.wire import batch, produce_request
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request

#: So many requests go to both brokers.
REQUESTS = 900

COMMIT = ApiKey.OFFSET_COMMIT
Partition = m.OffsetCommitRequest.OffsetCommitRequestPartition
Topic = m.OffsetCommitRequest.OffsetCommitRequestTopic


def request(group: str = "g", topics: dict[str, list[int]] | None = None, **fields: Any) -> m.OffsetCommitRequest:
    return m.OffsetCommitRequest(
        group_id=group,
        topics=[
            Topic(name=name, partitions=[Partition(partition_index=index, committed_offset=7) for index in indexes])
            for name, indexes in (topics or {"one": [0]}).items()
        ],
        **fields,
    )


class Frames(Choices):
    """The same sequence of requests for each side, but for the ids that its broker gave."""

    def __init__(self, side: Side, seed: int) -> None:
        super().__init__(seed)
        self._side = side

    def __iter__(self) -> Iterator[bytes]:
        for number in range(REQUESTS):
            version = self.rng.randrange(11)
            client = self.one(None, "c", "ü" * 9)
            frame = encode_request(ApiKey.OFFSET_COMMIT, version, number, client, self._commit(version))
            yield self.perhaps_mutated(frame)

    def _commit(self, version: int) -> m.OffsetCommitRequest:
        group = self.one("g", "", "grüße", "classic", "classic", "consumer")
        member, generation, instance = "", -1, None
        if group == "classic":
            member, generation = self._side.classic
            instance = self.mostly("i1", None, "i2")
        elif group == "consumer":
            member, generation = self._side.consumer
        member = self.mostly(member, "", "who", "c1")
        generation = self.mostly(generation, -1, 0, 1, 2, 99)
        return m.OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member,
            group_instance_id=instance if version >= 7 else None,
            retention_time_ms=self.mostly(-1, 5000) if 2 <= version <= 4 else -1,
            topics=[self._topic(version) for _ in range(self.mostly(1, 0, 2, 3))],
        )

    def _topic(self, version: int) -> Topic:
        name = self.mostly("three", "one", "nowhere")
        topic = Topic(name=name, partitions=[self._partition(version) for _ in range(self.mostly(1, 0, 2, 5))])
        if version >= 10:
            topic.topic_id = self._side.ids[name]
        return topic

    def _partition(self, version: int) -> Partition:
        return Partition(
            partition_index=self.mostly(self.one(0, 1, 2), 3, -1),
            committed_offset=self.one(0, 1, -1, 1 << 40, (1 << 63) - 1),
            committed_leader_epoch=self.one(-1, 0, 7) if version >= 6 else -1,
            committed_metadata=self.mostly(self.one(None, "", "plain", "größer", "x" * 40), "ü" * 40, "x" * 41),
        )


@async_test
async def test_both_ways_give_the_same_answers_records_and_state(tmp_path: Path) -> None:
    async with side(tmp_path / "hot") as hot, side(tmp_path / "long", hot=False) as long:
        good, closed = 0, 0
        for ours, theirs in zip(Frames(hot, 3), Frames(long, 3), strict=True):
            async with hot.client() as one, long.client() as other:
                answers = [await exchange(one, ours), await exchange(other, theirs)]
            assert answers[0] == answers[1], ours.hex()
            closed += answers[0] is None
            good += answers[0] is not None
        assert hot.commits() == long.commits()
        assert hot.machine.state.offsets.durable_view() == long.machine.state.offsets.durable_view()
        assert hot.machine.state.groups.keys() == long.machine.state.groups.keys()
        assert closed > 20
        assert REQUESTS / 6 < hot.taken(COMMIT) < good
        assert long.taken(COMMIT) == 0
        before_loading = hot.machine.state.offsets.durable_view()
        runtime = hot.broker.coordinators.group.runtime
        runtime._start(0, runtime.active(0).epoch)
        async with hot.client() as client:
            await until(lambda: client.ask(ApiKey.OFFSET_FETCH, 5, m.OffsetFetchRequest(group_id="any", topics=[])))
        assert hot.machine.state.offsets.durable_view() == before_loading


@async_test
async def test_commits_of_one_turn_share_an_append(tmp_path: Path) -> None:
    async with side(tmp_path) as hot:
        clients = []
        for _ in range(20):
            context = hot.client()
            clients.append((await context.__aenter__(), context))
        sink = hot.broker.network.sink
        assert sink is not None
        for number, (client, _) in enumerate(clients):
            client.writer.write(encode_request(ApiKey.OFFSET_COMMIT, 8, number, "c", request(f"g{number}")))
        for number, (client, _) in enumerate(clients):
            correlation, answer = decode_response(ApiKey.OFFSET_COMMIT, 8, await client.receive_frame())
            assert correlation == number
            assert [part.error_code for topic in answer.topics for part in topic.partitions] == [0]
        assert hot.taken(COMMIT) == 20
        assert sum(map(len, hot.commits())) == 20
        assert len(hot.commits()) < 20
        for _, context in clients:
            await context.__aexit__(None, None, None)


@async_test
async def test_requests_behind_a_commit_wait_for_its_answer(tmp_path: Path) -> None:
    """Produce, commits of both ways, Produce: sent in one write, answered in their order."""
    async with side(tmp_path) as hot, hot.client() as client:
        data = produce_request({"one": {0: batch(b"a")}})
        client.writer.write(
            encode_request(ApiKey.PRODUCE, 9, 1, "c", data)
            + encode_request(ApiKey.OFFSET_COMMIT, 2, 2, "c", request())
            + encode_request(ApiKey.OFFSET_COMMIT, 9, 3, "c", request())
            + encode_request(ApiKey.OFFSET_COMMIT, 9, 4, "c", request(topics={"nowhere": [0]}))
            + encode_request(ApiKey.OFFSET_COMMIT, 9, 5, "c", request())
            + encode_request(ApiKey.PRODUCE, 9, 6, "c", data)
        )
        answers = [await asyncio.wait_for(client.receive_frame(), 60) for _ in range(6)]
        assert [int.from_bytes(answer[:4], "big") for answer in answers] == [1, 2, 3, 4, 5, 6]
        assert hot.taken(COMMIT) == 3


@async_test
async def test_a_failed_append_is_answered_as_on_the_long_way(tmp_path: Path) -> None:
    async with side(tmp_path / "hot") as hot, side(tmp_path / "long", hot=False) as long:
        found = []
        for broken in (hot, long):
            async with broken.client() as client:
                writer = broken.broker.coordinators._writer
                append = writer.append

                def refuse(tp: Any, epoch: int, data: bytes, done: Any, **more: Any) -> None:
                    done(ErrorCode.NOT_ENOUGH_REPLICAS)

                writer.append = refuse  # too few replicas
                client.writer.write(encode_request(ApiKey.OFFSET_COMMIT, 8, 1, "c", request(topics={"three": [1, 2]})))
                found.append(await asyncio.wait_for(client.receive_frame(), 60))
                writer.append = append  # as it was
        assert found[0] == found[1]
        answer = decode_response(ApiKey.OFFSET_COMMIT, 8, found[0])[1]
        codes = [part.error_code for topic in answer.topics for part in topic.partitions]
        assert codes == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
        assert hot.taken(COMMIT) == 1


@async_test
async def test_a_client_that_does_not_wait_harms_nobody(tmp_path: Path) -> None:
    async with side(tmp_path) as hot:
        held: asyncio.Queue[Any] = asyncio.Queue()
        writer = hot.broker.coordinators._writer
        append = writer.append

        def hold(tp: Any, epoch: int, data: bytes, done: Any, **more: Any) -> None:
            append(tp, epoch, data, lambda code: held.put_nowait((done, code)), **more)

        writer.append = hold  # followers that take their time
        async with hot.client() as other:
            async with hot.client() as client:
                client.writer.write(encode_request(ApiKey.OFFSET_COMMIT, 8, 1, "c", request("gone")))
                first = await held.get()
                other.writer.write(encode_request(ApiKey.OFFSET_COMMIT, 8, 2, "c", request("here")))
                second = await held.get()
            while len(hot.broker.network.table) > 1:  # noqa: ASYNC110 - the table tells nobody
                await asyncio.sleep(0.001)
            writer.append = append  # as it was
            for done, code in (first, second):
                done(code)
            assert (await asyncio.wait_for(other.receive_frame(), 60))[:4] == b"\x00\x00\x00\x02"
        assert hot.machine.state.offsets.committed.keys() == {"gone", "here"}
