"""Every error that a coordinator may answer a classic member with, and a coordinator that moves."""

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

QUICK = {"retry.backoff.ms": 1, "retry.backoff.max.ms": 5, "heartbeat.interval.ms": 20}
OFFSETS = {TopicPartition("t", 0): OffsetAndMetadata(3)}


@asynccontextmanager
async def member(group: FakeGroup) -> AsyncIterator[FakeHost]:
    host = FakeHost({"t"})
    await host.join(group.address, QUICK)
    try:
        yield host
    finally:
        await host.leave()


def stable(host: FakeHost, joins: int = 1) -> bool:
    """At rest, with everything, for the so-manieth time."""
    assert host.member is not None
    return host.member.state == "stable" and len(host.owned()) == 4 and host.words().count("assign") >= joins


@pytest.mark.parametrize("key", [ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP])
@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        None,
    ],
)
@async_test
async def test_what_may_pass_is_tried_again(key: ApiKey, error: ErrorCode | None) -> None:
    async with FakeGroup() as group:
        group.fail[key] = [error]
        async with member(group) as host:
            await until(lambda: stable(host))
            assert not host.errors
            assert host.words() == ["assign"]


@pytest.mark.parametrize("key", [ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT])
@pytest.mark.parametrize(
    "error", [ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.INVALID_GROUP_ID]
)
@async_test
async def test_what_does_not_pass_is_told_to_the_user(key: ApiKey, error: ErrorCode) -> None:
    async with FakeGroup() as group:
        group.fail[key] = [error]
        async with member(group) as host:
            await until(lambda: host.errors)
            told = host.errors[0]
            assert isinstance(told, KafkaError)
            assert told.code is error
            assert host.member is not None
            assert host.member.state == "failed"


@async_test
async def test_a_user_who_polls_again_gets_another_try_where_that_may_help() -> None:
    async with FakeGroup() as group:
        group.fail[ApiKey.JOIN_GROUP] = [ErrorCode.GROUP_AUTHORIZATION_FAILED]
        async with member(group) as host:
            await until(lambda: host.errors)
            await host.poll_until(lambda: stable(host))


@async_test
async def test_a_rebalance_is_joined_with_what_we_are() -> None:
    async with FakeGroup() as group:
        async with member(group) as host:
            await until(lambda: stable(host))
            group.fail[ApiKey.HEARTBEAT] = [ErrorCode.REBALANCE_IN_PROGRESS]
            await until(lambda: stable(host, 2))
            assert host.words() == ["assign", "revoke", "assign"]
            assert [request.member_id for request in group.requests(ApiKey.JOIN_GROUP)] == ["", "given", "given"]
        assert [request.members[0].member_id for request in group.requests(ApiKey.LEAVE_GROUP)] == ["given"]


@pytest.mark.parametrize(
    ("error", "ids"),
    [
        (ErrorCode.ILLEGAL_GENERATION, ["", "given", "given"]),
        (ErrorCode.UNKNOWN_MEMBER_ID, ["", "given", "", "given"]),
    ],
)
@async_test
async def test_who_is_not_known_any_more_loses_what_it_has(error: ErrorCode, ids: list[str]) -> None:
    """Its generation alone, or its id as well."""
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        group.fail[ApiKey.HEARTBEAT] = [error]
        await until(lambda: stable(host, 2))
        assert host.words() == ["assign", "lose", "assign"]
        assert [request.member_id for request in group.requests(ApiKey.JOIN_GROUP)] == ids


@async_test
async def test_fencing_breaks_off_a_wait_for_the_user() -> None:
    """The user is away while a rebalance wants something back; then the group gives up on us."""
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        host.turn.clear()
        group.fail[ApiKey.HEARTBEAT] = [ErrorCode.REBALANCE_IN_PROGRESS]
        await until(lambda: host.member is not None and host.member.state == "revoking")
        group.fail[ApiKey.HEARTBEAT] = [ErrorCode.UNKNOWN_MEMBER_ID]
        await until(lambda: host.member is not None and not host.member.group_metadata().member_id)
        host.turn.set()
        await until(lambda: stable(host, 2))
        assert host.words() == ["assign", "lose", "assign"]


@async_test
async def test_a_coordinator_that_moves_is_found_again() -> None:
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        beats = len(group.requests(ApiKey.HEARTBEAT))
        group.move()
        await until(lambda: len(group.requests(ApiKey.HEARTBEAT)) > beats + 2)
        assert host.words() == ["assign"]
        assert host.commits is not None
        group.move()
        await host.commits.commit(OFFSETS)
        assert host.words() == ["assign"]


@pytest.mark.parametrize(
    "error", [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ErrorCode.REQUEST_TIMED_OUT, None]
)
@async_test
async def test_a_commit_is_tried_again_while_the_coordinator_is_not_ready(error: ErrorCode | None) -> None:
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        assert host.commits is not None
        group.fail[ApiKey.OFFSET_COMMIT] = [error]
        await host.commits.commit(OFFSETS)
        assert len(group.requests(ApiKey.OFFSET_COMMIT)) == 2
        group.fail[ApiKey.OFFSET_COMMIT] = [error]
        with pytest.raises(KafkaError):
            await host.commits.commit(OFFSETS, retry=False)


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION])
@async_test
async def test_a_commit_that_is_too_late_fails_and_the_member_joins_anew(error: ErrorCode) -> None:
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        assert host.commits is not None
        group.fail[ApiKey.OFFSET_COMMIT] = [error]
        with pytest.raises(CommitFailedError, match=r"max\.poll\.interval\.ms"):
            await host.commits.commit(OFFSETS)
        await until(lambda: stable(host, 2))
        assert host.words() == ["assign", "lose", "assign"]


@async_test
async def test_a_commit_during_a_rebalance_says_so_and_the_member_takes_part() -> None:
    async with FakeGroup() as group, member(group) as host:
        await until(lambda: stable(host))
        assert host.commits is not None
        group.fail[ApiKey.OFFSET_COMMIT] = [ErrorCode.REBALANCE_IN_PROGRESS]
        with pytest.raises(KafkaError) as caught:
            await host.commits.commit(OFFSETS)
        assert caught.value.code is ErrorCode.REBALANCE_IN_PROGRESS
        await until(lambda: stable(host, 2))
        assert host.words() == ["assign", "revoke", "assign"]


@async_test
async def test_an_assignor_that_throws_is_the_users_to_see() -> None:
    from tidelog.client.consumer.assignors.assignor import Assignor, Shares

    class Broken(Assignor):
        name = "broken"

        def distribute(self, topics: object, members: object) -> Shares:
            raise ZeroDivisionError("in the user's assignor")

    async with FakeGroup() as group:
        host = FakeHost({"t"})
        await host.join(group.address, {**QUICK, "partition.assignment.strategy": [Broken]})
        await until(lambda: host.errors)
        assert isinstance(host.errors[0], ZeroDivisionError)
        await host.leave()
