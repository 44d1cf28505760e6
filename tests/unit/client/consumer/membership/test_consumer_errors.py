"""Every error that a coordinator may answer a member of a consumer group (KIP-848) with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from support.fake_group import FakeGroup
from support.group_host import FakeHost
from support.loop import async_test, until
from tidelog.client.consumer.commits import CommitFailedError
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.api import ApiKey

BEAT = ApiKey.CONSUMER_GROUP_HEARTBEAT
OFFSETS = {TopicPartition("t", 0): OffsetAndMetadata(3)}


@asynccontextmanager
async def member(group: FakeGroup) -> AsyncIterator[FakeHost]:
    host = FakeHost({"t"})
    quick = {"retry.backoff.ms": 1, "retry.backoff.max.ms": 5, "group.protocol": "consumer"}
    await host.join(group.address, quick)
    try:
        yield host
    finally:
        await host.leave()


def stable(host: FakeHost, joins: int = 1) -> bool:
    assert host.member is not None
    return host.member.state == "stable" and len(host.owned()) == 4 and host.words().count("assign") >= joins


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.UNKNOWN_MEMBER_ID,
        None,
    ],
)
@async_test
async def test_joining_is_tried_again(error: ErrorCode | None) -> None:
    async with FakeGroup() as group:
        group.fail[BEAT] = [error]
        async with member(group) as host:
            await until(lambda: stable(host))
            assert not host.errors
            assert host.words() == ["assign"]


@async_test
async def test_an_assignment_is_confirmed_even_if_it_is_what_we_own() -> None:
    """The coordinator waits for it: it may have asked for a deleted topic that we had given up by ourselves."""
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        beats = len(group.requests(BEAT))
        group.assigns_again = True
        await until(lambda: not group.assigns_again)
        await until(lambda: len(group.requests(BEAT)) > beats + 4)
        said = [beat.topic_partitions for beat in group.requests(BEAT)[beats:]]
        assert [[entry.partitions for entry in owned] for owned in said if owned is not None] == [[[0, 1, 2, 3]]]


@pytest.mark.parametrize("error", [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None])
@async_test
async def test_after_an_answer_that_did_not_come_everything_is_said_again(error: ErrorCode | None) -> None:
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        group.fail[BEAT] = [error]
        await until(lambda: not group.fail[BEAT])
        beats = len(group.requests(BEAT))
        await until(lambda: len(group.requests(BEAT)) > beats + 2)
        told = group.requests(BEAT)[beats]
        assert told.subscribed_topic_names == ["t"]
        assert [entry.partitions for entry in told.topic_partitions] == [[0, 1, 2, 3]]
        assert group.requests(BEAT)[-1].subscribed_topic_names is None
        assert host.words() == ["assign"]


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH])
@async_test
async def test_a_fenced_member_loses_what_it_has_and_keeps_its_id(error: ErrorCode) -> None:
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        group.fail[BEAT] = [error]
        await until(lambda: stable(host, 2))
        assert host.words() == ["assign", "lose", "assign"]
        assert len({request.member_id for request in group.requests(BEAT)}) == 1


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNSUPPORTED_ASSIGNOR,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
    ],
)
@async_test
async def test_what_does_not_pass_is_told_to_the_user(error: ErrorCode) -> None:
    async with FakeGroup() as group:
        group.fail[BEAT] = [error]
        async with member(group) as host:
            await until(lambda: host.errors)
            told = host.errors[0]
            assert isinstance(told, KafkaError)
            assert told.code is error
            assert host.member is not None
            assert host.member.state == "failed"


@async_test
async def test_a_topic_that_may_not_be_read_is_told_and_the_member_stays() -> None:
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        group.fail[BEAT] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        await until(lambda: host.errors)
        beats = len(group.requests(BEAT))
        await until(lambda: len(group.requests(BEAT)) > beats)
        assert stable(host)


@async_test
async def test_a_user_who_polls_again_gets_another_try_where_that_may_help() -> None:
    async with FakeGroup() as group:
        group.fail[BEAT] = [ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.SASL_AUTHENTICATION_FAILED]
        async with member(group) as host:
            await until(lambda: host.errors)
            await host.poll_until(lambda: stable(host))
            assert len(host.errors) == 2
            assert host.fatal is None


@async_test
async def test_an_error_of_its_own_ends_all_of_the_membership(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of one would go on: a member that nobody beats for, which hands out what is others' by then."""
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        assert host.member is not None
        tasks, broken = list(host.member._tasks), TypeError("a mistake of ours")

        async def ask(*_: object, **__: object) -> None:
            raise broken

        with monkeypatch.context() as fault:
            fault.setattr(host.member._coordinator, "ask", ask)
            host.member.subscription_changed()
            await until(lambda: host.fatal is broken)
        assert host.held_back == host.owned()
        await until(lambda: all(task.done() for task in tasks))


@async_test
async def test_fencing_breaks_off_a_wait_for_the_user() -> None:
    async with FakeGroup() as group:
        host = FakeHost({"t"})
        host.turn.clear()
        await host.join(group.address, {"retry.backoff.ms": 1, "group.protocol": "consumer"})
        await until(lambda: host.member is not None and host.member.state == "reconciling")
        group.fail[BEAT] = [ErrorCode.FENCED_MEMBER_EPOCH]
        await until(lambda: group.generation == 2)
        host.turn.set()
        await until(lambda: stable(host))
        assert host.words() == ["assign"]
        await host.leave()


@async_test
async def test_a_commit_with_a_stale_epoch_is_tried_again() -> None:
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        assert host.commits is not None
        group.fail[ApiKey.OFFSET_COMMIT] = [ErrorCode.STALE_MEMBER_EPOCH]
        await host.commits.commit(OFFSETS)
        assert len(group.requests(ApiKey.OFFSET_COMMIT)) == 2
        group.fail[ApiKey.OFFSET_COMMIT] = [ErrorCode.UNKNOWN_MEMBER_ID]
        with pytest.raises(CommitFailedError):
            await host.commits.commit(OFFSETS)
        assert stable(host)  # whether it is a member, heartbeats tell


@async_test
async def test_leaving_says_so() -> None:
    async with FakeGroup() as group:
        async with member(group) as host:
            await until(lambda: stable(host))
        assert group.requests(BEAT)[-1].member_epoch == -1
