"""Committed offsets of a group: written in order, with the generation that we are in; read back.

A commit is the consumer's promise "everything before this is done", kept by the group's coordinator. It goes out with
the member's id and generation (KIP-848: epoch), so that a member that was put out meanwhile cannot move the group's
position back. Without a membership (`assign`) it goes out as nobody's, which a group without members accepts.

Order: commits of one consumer are sent one after the other, each with its retries, so that an older one never
overwrites a newer one. While a classic member is between two generations, commits wait until it is known which one
holds; if the partitions went to somebody else there, the commit is refused here (REBALANCE_IN_PROGRESS) and never sent
with a generation that it was not made in.

Errors, by whose they are: the coordinator moves or loads → tried again; our generation is over → `CommitFailedError`,
and the membership is told; a partition's own (metadata too large, not authorized) → raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.client.config import consumer as keys
from tidelog.client.consumer.coordinator import GroupCoordinator
from tidelog.client.consumer.errors import InvalidGroupIdError
from tidelog.client.consumer.host import CommittingMember
from tidelog.client.consumer.offset_requests import LAST_WITH_NAMES, commit_request, fetch_request, group_of
from tidelog.client.values import UNKNOWN_GENERATION, ConsumerGroupMetadata, OffsetAndMetadata
from tidelog.common.config import Config
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import TopicPartition
from tidelog.net.pauses import pause
from tidelog.protocol.api import ApiKey

#: The generation or epoch is over; what was sent with it will never be accepted.
_OVER = frozenset(
    {
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
    }
)


class CommitFailedError(KafkaError):
    """We are no longer the member that read these records: the group has given the partitions to others."""

    def __init__(self, code: ErrorCode, why: str) -> None:
        text = (
            f"the commit cannot be completed: {why.rstrip('.')}. The partitions may be another member's by now, who "
            "reads on from the last commit. If poll() was not called for longer than max.poll.interval.ms, raise that, "
            "or lower max.poll.records"
        )
        super().__init__(code, text)


class OffsetCommits:
    """Commits and fetches a group's offsets. `member` is set while the consumer has subscribed."""

    def __init__(self, cluster: ClusterClient, config: Config) -> None:
        self._cluster = cluster
        self._timeout = config[common.DEFAULT_API_TIMEOUT_MS] / 1000
        self._group_id = config[keys.GROUP_ID]
        self._instance_id = config[keys.GROUP_INSTANCE_ID]
        self._coordinator = GroupCoordinator(cluster, self._group_id or "")
        self._turn = asyncio.Lock()
        self.member: CommittingMember | None = None

    # --- commit -------------------------------------------------------------------------------------------------------

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        timeout: float | None = None,
        retry: bool = True,
        wait_for_topics: bool = True,
    ) -> None:
        """Return when the coordinator has them. Without `retry` an error that might pass is raised at once, as for
        Java's commitAsync: a later commit says the same and more. Without `wait_for_topics` a topic that the broker
        does not know is taken for deleted, and not for one that it may hear of in a moment.
        """
        if not self._group_id:
            raise InvalidGroupIdError("commit")
        for tp, position in offsets.items():
            if position.offset < 0:
                raise UsageError(f"offset {position.offset} of {tp} cannot be committed: offsets begin at 0")
        if not offsets:
            return
        try:
            async with asyncio.timeout(self._timeout if timeout is None else timeout):
                await self._in_turn(offsets, retry, wait_for_topics)
        except TimeoutError as error:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the commit was not answered in time") from error

    async def _in_turn(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], retry: bool, wait_for_topics: bool
    ) -> None:
        """One commit at a time, first come, first served: asyncio's locks are fair. `made_in` is who we were when the
        user called, which may be long ago when the turn comes.
        """
        made_in = self._me()
        async with self._turn:
            attempt = 0
            while True:
                try:
                    await self._commit_once(offsets, made_in)
                    return
                except KafkaError as error:
                    gone = error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not wait_for_topics
                    if gone or not retry or not _may_pass(error):
                        raise
                await pause(self._cluster.wait_before_retry(attempt))
                attempt += 1

    async def _commit_once(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], made_in: ConsumerGroupMetadata
    ) -> None:
        """One try, in the generation that we are in now; a partition's error is raised with the partition's name."""
        if self.member is not None:
            await self.member.settle()
        me = self._me()
        if self.member is not None:
            _check_member(self.member, me, made_in, offsets)
        beside = self.member is not None and self.member.is_held_up
        response = await self._coordinator.ask(commit_request(offsets, me), highest=LAST_WITH_NAMES, beside=beside)
        failed = {
            TopicPartition(topic.name, entry.partition_index): ErrorCode(entry.error_code)
            for topic in response.topics
            for entry in topic.partitions
            if entry.error_code
        }
        if failed:
            raise self._refused(failed, me)

    def _refused(self, failed: Mapping[TopicPartition, ErrorCode], me: ConsumerGroupMetadata) -> KafkaError:
        """The error that says most: one about us before one about a partition."""
        about_us = [code for code in failed.values() if code in _OVER or code is ErrorCode.REBALANCE_IN_PROGRESS]
        code = about_us[0] if about_us else next(iter(failed.values()))
        self._coordinator.note(code)
        if self.member is not None and code is not ErrorCode.STALE_MEMBER_EPOCH:
            self.member.commit_refused(code, me)
        if code in _OVER:
            return CommitFailedError(code, code.text)
        names = ", ".join(str(tp) for tp, found in sorted(failed.items()) if found is code)
        return KafkaError(code, f"the offsets of {names} were not committed: {code.text}")

    # Who commits: the membership's present identity, asked anew for every try.
    def _me(self) -> ConsumerGroupMetadata:
        return ConsumerGroupMetadata(self._group_id or "") if self.member is None else self.member.group_metadata()

    # --- committed ----------------------------------------------------------------------------------------------------

    async def committed(
        self, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The last commit for each partition; None where there is none. Offsets of a transaction that is still open are
        waited for: whoever started from the ones before would read twice what the transaction covers. A member that was
        put out in between is told so by its heartbeats, and asks again as what it is then.
        """
        if not self._group_id:
            raise InvalidGroupIdError("committed")
        wanted = list(dict.fromkeys(partitions))
        if not wanted:
            return {}
        deadline = self._cluster.clock.monotonic() + (self._timeout if timeout is None else timeout)
        attempt = 0
        while True:
            try:
                return await self._cluster.until(deadline, self._fetch_once(wanted))
            except KafkaError as error:
                wait = self._cluster.wait_before_retry(attempt)
                ours = error.code is ErrorCode.UNKNOWN_MEMBER_ID and self.member is not None
                if not (ours or _may_pass(error)) or self._cluster.clock.monotonic() + wait > deadline:
                    raise
            await pause(wait)
            attempt += 1

    async def _fetch_once(self, wanted: list[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """One try. Partitions without a commit are answered with offset -1."""
        version = min(await self._coordinator.version_of(ApiKey.OFFSET_FETCH), LAST_WITH_NAMES)
        me = self._me()
        fenced = self.member is not None and self.member.has_epoch and me.generation_id != UNKNOWN_GENERATION
        response = await self._coordinator.ask(fetch_request(wanted, me, version, fenced=fenced), highest=version)
        group = group_of(response, version)
        self._raise(group.error_code)
        found: dict[TopicPartition, OffsetAndMetadata | None] = dict.fromkeys(wanted)
        for topic in group.topics:
            for entry in topic.partitions:
                self._raise(entry.error_code)
                if entry.committed_offset >= 0:
                    found[TopicPartition(topic.name, entry.partition_index)] = OffsetAndMetadata(
                        entry.committed_offset, entry.committed_leader_epoch, entry.metadata or ""
                    )
        return found

    def _raise(self, code: int) -> None:
        """An error of the group or of one partition: either way none of the offsets can be relied on."""
        if code:
            self._coordinator.note(code)
            raise KafkaError(code, f"committed offsets of group {self._group_id}: {ErrorCode(code).text}")


def _check_member(
    member: CommittingMember,
    me: ConsumerGroupMetadata,
    made_in: ConsumerGroupMetadata,
    offsets: Mapping[TopicPartition, OffsetAndMetadata],
) -> None:
    """Refuse what would be somebody else's to commit."""
    if me.generation_id == UNKNOWN_GENERATION:
        raise CommitFailedError(ErrorCode.UNKNOWN_MEMBER_ID, "this consumer is not a member of the group at present")
    if me != made_in and not member.owns(offsets):
        raise KafkaError(
            ErrorCode.REBALANCE_IN_PROGRESS,
            "the group has rebalanced since this commit was made, and some of its partitions are no longer ours",
        )


def _may_pass(error: KafkaError) -> bool:
    """Worth another try. A stale epoch is: the next heartbeat brings the new one."""
    return error.retriable or error.code in (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.BROKER_NOT_AVAILABLE)
