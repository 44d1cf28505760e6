"""One fetch over many partitions: limits, isolation, epochs, errors.

Partitions are read in the order asked for, until `max_bytes` is used up. The first batch of the first partition that
has any comes whole, even if it is larger than every limit: otherwise a consumer could never get past it. (Clients
before Fetch version 3 do not know that; they get their limit and perhaps a cut batch.)

Who reads how far:  a follower to the log end, a consumer to the high watermark, one with read_committed to the last
stable offset, together with the transactions in that range which were aborted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from tidelog.broker.handlers.records._fetch import FetchedPartition, PartitionFetch
from tidelog.broker.purgatory.promise import Promise
from tidelog.broker.replication.partition import Partition
from tidelog.broker.replication.waiting import Waiting
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_EPOCH
from tidelog.log.segment.file_slice import FileSlice

if TYPE_CHECKING:
    from tidelog.broker.replication.manager import ReplicaManager

NO_RECORDS = b""


class FetchParams(NamedTuple):
    """What holds for all partitions of a fetch."""

    replica_id: int = -1
    max_wait_ms: int = 0
    min_bytes: int = 1
    max_bytes: int = 0x7FFFFFFF
    committed_only: bool = False
    hard_limit: bool = False
    """Fetch before version 3: never more than asked for, not even one whole batch."""

    @property
    def from_follower(self) -> bool:
        return self.replica_id >= 0


class FetchRead(NamedTuple):
    """The outcome of reading all partitions once."""

    partitions: list[FetchedPartition]
    bytes: int
    answer_now: bool
    """An error or a diverging epoch: there is nothing to wait for."""


#: What is refused before a log is looked at; the others leave the list of aborted transactions out.
UNKNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


def failed(fetch: PartitionFetch, code: int) -> FetchedPartition:
    """The answer to a partition that cannot be read: an error, and nothing that could be taken for an offset."""
    return FetchedPartition(fetch.tp.partition, code, aborted=() if code in UNKNOWN else None)


def read_all(replicas: ReplicaManager, params: FetchParams, fetches: Sequence[PartitionFetch]) -> FetchRead:
    """Read every partition within the request's limits.

    The order is the client's, or the session's, which moves whoever got records to the end: with a small `max_bytes`
    all partitions come to their turn.
    """
    answers: list[FetchedPartition] = []
    left = params.max_bytes
    total = 0
    first = not params.hard_limit
    now = False
    for fetch in fetches:
        try:
            data = read_one(replicas, params, fetch, min(fetch.max_bytes, left), first)
        except BaseException:
            release(answers)
            raise
        size = len(data.records)
        if data.error_code or data.diverging_epoch != NO_EPOCH:
            now = True
        if size:
            first = False
            total += size
            left = max(0, left - size)
        answers.append(data)
    return FetchRead(answers, total, now)


def read_one(
    replicas: ReplicaManager, params: FetchParams, fetch: PartitionFetch, limit: int, at_least_one: bool
) -> FetchedPartition:
    """One partition, or the error that says why not.

    The epoch in which the client believes the leader to be is compared first (KIP-320): FENCED_LEADER_EPOCH for an
    older one, UNKNOWN_LEADER_EPOCH for a newer one, of which this broker has not heard yet. A topic id that is not the
    partition's means that the topic was deleted and made anew: INCONSISTENT_TOPIC_ID.
    """
    if fetch.error:
        return failed(fetch, fetch.error)
    partition = replicas.leader_or_error(fetch.tp, max(fetch.current_leader_epoch, NO_EPOCH))
    if isinstance(partition, ErrorCode):
        return failed(fetch, partition)
    if params.from_follower and params.replica_id not in partition.followers:
        return failed(fetch, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if fetch.topic_id != partition.topic_id and any(fetch.topic_id):
        return failed(fetch, ErrorCode.INCONSISTENT_TOPIC_ID)
    try:
        return _read(replicas, partition, params, fetch, limit, at_least_one)
    except KafkaError as error:
        return failed(fetch, error.code)


def _read(
    replicas: ReplicaManager,
    partition: Partition,
    params: FetchParams,
    fetch: PartitionFetch,
    limit: int,
    at_least_one: bool,
) -> FetchedPartition:
    """Read, and note what the reader is to know beside the records.

    A follower whose last epoch ended earlier here than its own log does is told where (KIP-595), and gets no records:
    it must cut its log first. The position of any other follower is taken down before the read, so that the answer
    already has the high watermark that it may have moved.

    A batch that is larger than the limit is left out unless `at_least_one` holds. For read_committed the transactions
    that were aborted in the range come along: the client drops their records itself, as the log keeps them.
    """
    log = partition.log
    data = FetchedPartition(
        fetch.tp.partition,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted=None,
    )
    if fetch.last_fetched_epoch > NO_EPOCH:
        epoch, end = log.end_offset_for_epoch(fetch.last_fetched_epoch)
        if end < 0:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE)
        if epoch < fetch.last_fetched_epoch or end < fetch.fetch_offset:
            data.diverging_epoch, data.diverging_end = epoch, end
            return data
    bound = upper_bound(partition, params)
    if bound is None and replicas.on_follower_fetch(
        partition, params.replica_id, fetch.fetch_offset, fetch.log_start_offset
    ):
        data.high_watermark = log.high_watermark
    result = log.read(fetch.fetch_offset, limit, upper_bound=bound, min_one_message=at_least_one)
    piece = result.slice
    cut = piece is not None and not params.hard_limit and result.first_batch_incomplete
    if piece is not None:
        if piece.size and not cut:
            data.records = piece
        else:
            piece.release()
    if params.committed_only and not cut:
        try:
            data.aborted = log.aborted_within(fetch.fetch_offset, result) if data.records else []
        except BaseException:
            release([data])
            raise
    return data


def upper_bound(partition: Partition, params: FetchParams) -> int | None:
    """The offset that a reader may not reach; None for a follower, which reads to the end.

    A consumer must not see what a new leader might not have; with read_committed, nothing whose transaction may still
    be aborted.
    """
    if params.from_follower:
        return None
    return partition.log.last_stable_offset if params.committed_only else partition.log.high_watermark


def release(answers: Iterable[FetchedPartition]) -> None:
    """Give up what was read but is not sent."""
    for data in answers:
        if isinstance(data.records, FileSlice):
            data.records.release()
            data.records = NO_RECORDS


class DelayedFetch(Waiting):
    """Waits until `min_bytes` can be read, or a partition can no longer be read from here.

    One read returns what is left of one segment, so a partition whose readable end lies in a later one has nothing to
    wait for: more will never come to the segment that is read. Each partition remembers up to where it was counted: a
    wake-up looks only at what came since then. It ends a promise, so that the answer leaves in the same turn as the
    append that it waited for.
    """

    __slots__ = ("_bytes", "_counted", "_fetches", "_params", "_replicas", "_total", "_under")

    def __init__(self, replicas: ReplicaManager, params: FetchParams, fetches: Sequence[PartitionFetch]) -> None:
        super().__init__(Promise())
        self._replicas = replicas
        self._params = params
        self._fetches = fetches
        self._counted = [-1] * len(fetches)
        self._under: dict[Hashable, list[int]] = {}
        for index, fetch in enumerate(fetches):
            self._under.setdefault(fetch.tp, []).append(index)
        self._bytes = [0] * len(fetches)
        self._total = 0

    def is_satisfied(self, key: Hashable | None = None) -> bool:
        if key is not None:
            return any(self._enough_with(index) for index in self._under[key])
        return any(self._enough_with(index) for index in range(len(self._fetches)))

    def _enough_with(self, index: int) -> bool:
        """Count what came to one partition; whether it is enough now, or can no longer be read from here."""
        fetch = self._fetches[index]
        partition = self._replicas.leader_or_error(fetch.tp, fetch.current_leader_epoch)
        if isinstance(partition, ErrorCode):
            return True
        bound = upper_bound(partition, self._params)
        end = partition.log.log_end_offset if bound is None else bound
        if end < fetch.fetch_offset:
            return True  # truncated below what was asked for
        if _diverged(partition, fetch):
            return True
        if end not in (self._counted[index], fetch.fetch_offset):
            if self._params.min_bytes > 1 and partition.log.crosses_segments(fetch.fetch_offset, end):
                return True
            since = max(fetch.fetch_offset, self._counted[index])
            self._counted[index] = end
            try:
                self._count(index, self._bytes_between(partition, since, end, fetch.max_bytes))
            except KafkaError:
                return True
        return self._total >= self._params.min_bytes

    def _count(self, index: int, size: int) -> None:
        """So much came; of one partition no more counts than a read of it may return."""
        before = self._bytes[index]
        self._bytes[index] = min(before + size, max(self._fetches[index].max_bytes, 1))
        self._total += self._bytes[index] - before

    def _bytes_between(self, partition: Partition, start: int, end: int, limit: int) -> int:
        if self._params.min_bytes <= 1:
            return 1
        piece = partition.log.read(start, limit, upper_bound=end).slice
        if piece is None:
            return 0
        size = piece.size
        piece.release()
        return size


def _diverged(partition: Partition, fetch: PartitionFetch) -> bool:
    """Whether the log was cut and written anew below what a follower has: it must be told where."""
    if fetch.last_fetched_epoch in (NO_EPOCH, partition.leader_epoch):
        return False
    epoch, end = partition.log.end_offset_for_epoch(fetch.last_fetched_epoch)
    return epoch < fetch.last_fetched_epoch or end < fetch.fetch_offset
