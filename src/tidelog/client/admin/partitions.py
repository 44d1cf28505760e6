"""Partitions: more of them, new leaders for them, other brokers for them.

All three are the controller's. More partitions are there when it has answered (as in `topics`, their leaders are waited
for). A new leader is elected at once or not at all. Other replicas are only begun: the new brokers copy first, which
takes as long as it takes; `list_partition_reassignments` shows what is under way.

The first replica of a partition is the preferred leader: whoever assigned the replicas spread those over the brokers.
After a restart leaders are where they happened to go, and a preferred election puts them back (brokers do so by
themselves every few minutes, `auto.leader.rebalance.enable`). An unclean election gives up records that were
acknowledged, for a partition that would otherwise be offline until its old leader returns.

While replicas are exchanged, a partition has the old and the new ones: `adding` are not in sync yet, `removing` go when
all that are to stay are in sync.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.hints import check, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import CONTROLLER, ToController
from tidelog.client.admin.shapes import by_topic, entries, items, values_by_topic
from tidelog.client.admin.topics import await_leaders
from tidelog.common.errors import ErrorCode
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages


class ElectionType(IntEnum):
    """PREFERRED: the first replica of each partition, which spreads leaders as they were meant. UNCLEAN: any replica
    that lives, even if it lacks records that were acknowledged.
    """

    PREFERRED = 0
    UNCLEAN = 1


class NewPartitions(NamedTuple):
    """How many partitions a topic is to have in all. `assignments`: the brokers of each new one."""

    total: int
    assignments: Sequence[Sequence[int]] | None = None


class Reassignment(NamedTuple):
    """A move under way: the replicas at present, those that are being added, those that go when all is copied."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class PartitionAdmin(AdminBase):
    """The part of the Admin that is about partitions of topics."""

    async def create_partitions(
        self,
        totals: Mapping[str, NewPartitions | int],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> Outcomes[str, None]:
        """Give topics more partitions, and wait until they can be used: topic → how many in all.

        Keys are spread over partitions by their number: records of the same key, before and after, may lie in
        different ones.
        """
        call = self._call(timeout)
        wanted = {name: NewPartitions(new) if isinstance(new, int) else new for name, new in totals.items()}

        def ask(names: list[str]) -> messages.CreatePartitionsRequest:
            topics = [
                messages.CreatePartitionsRequest.CreatePartitionsTopic(
                    name=name, count=wanted[name].total, assignments=_assignments(wanted[name])
                )
                for name in names
            ]
            return messages.CreatePartitionsRequest(
                topics=topics, timeout_ms=call.timeout_ms, validate_only=validate_only
            )

        def read(response: Any, names: list[str]) -> Answers[str, None]:
            return [(t.name, outcome(None, t.error_code, t.error_message, f"topic {t.name}")) for t in response.results]

        route = ToController(retry_on_quota_violation=retry_on_quota_violation)
        made: Outcomes[str, None] = await call.each(wanted, route, ask, read)
        if not validate_only:
            await await_leaders(call, {name: wanted[name].total for name in made.ok})
        return made

    async def elect_leaders(
        self,
        partitions: Iterable[TopicPartition] | None = None,
        election: ElectionType = ElectionType.PREFERRED,
        *,
        timeout: float | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Elect leaders of these partitions; None: of all that could have a better one, and only those are answered
        for. A partition whose leader is the wanted one already fails with ELECTION_NOT_NEEDED.
        """
        call = self._call(timeout)
        chosen = None if partitions is None else list(dict.fromkeys(items(partitions)))

        def read(response: Any) -> Outcomes[TopicPartition, None]:
            check(response.error_code, about="electing leaders")
            found = entries(
                response.replica_election_results, name="topic", partitions="partition_result", index="partition_id"
            )
            return Outcomes({tp: outcome(None, each.error_code, each.error_message, tp) for tp, each in found})

        topics = None
        if chosen is not None:
            if not chosen:
                return Outcomes()
            topics = [
                messages.ElectLeadersRequest.TopicPartitions(topic=name, partitions=numbers)
                for name, numbers in by_topic(chosen).items()
            ]
        request = messages.ElectLeadersRequest(
            election_type=int(election), topic_partitions=topics, timeout_ms=call.timeout_ms
        )
        elected = await call.one(CONTROLLER, request, read)
        if chosen is None:
            needless = ErrorCode.ELECTION_NOT_NEEDED
            return Outcomes({tp: e for tp, e in elected.items() if e is None or e.code is not needless})
        return elected

    async def alter_partition_reassignments(
        self,
        targets: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout: float | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Begin to move partitions to other brokers, the preferred leader first; None cancels a move.

        `allow_replication_factor_change=False` (Kafka 4.1 on) refuses a list of another length than the present one: a
        guard against lists that were made before somebody changed the number of copies.
        """
        call = self._call(timeout)
        Topic = messages.AlterPartitionReassignmentsRequest.ReassignableTopic
        Partition = messages.AlterPartitionReassignmentsRequest.ReassignablePartition

        def ask(keys: list[TopicPartition]) -> messages.AlterPartitionReassignmentsRequest:
            chosen = {tp: targets[tp] for tp in keys}
            topics = [
                Topic(
                    name=name,
                    partitions=[
                        Partition(partition_index=index, replicas=None if replicas is None else list(replicas))
                        for index, replicas in parts
                    ],
                )
                for name, parts in values_by_topic(chosen).items()
            ]
            return messages.AlterPartitionReassignmentsRequest(
                timeout_ms=call.timeout_ms,
                topics=topics,
                allow_replication_factor_change=allow_replication_factor_change,
            )

        def read(response: Any, keys: list[TopicPartition]) -> Answers[TopicPartition, None]:
            check(response.error_code, response.error_message, "reassigning partitions")
            return [
                (tp, outcome(None, each.error_code, each.error_message, tp)) for tp, each in entries(response.responses)
            ]

        return await call.each(targets, CONTROLLER, ask, read)

    async def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout: float | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """The moves under way, of these partitions or of all. A partition that is not being moved is left out."""
        call = self._call(timeout)
        topics = None
        if partitions is not None:
            topics = [
                messages.ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics(
                    name=name, partition_indexes=numbers
                )
                for name, numbers in by_topic(partitions).items()
            ]
        request = messages.ListPartitionReassignmentsRequest(timeout_ms=call.timeout_ms, topics=topics)

        def read(response: Any) -> dict[TopicPartition, Reassignment]:
            check(response.error_code, response.error_message, "listing reassignments")
            return {
                tp: Reassignment(tuple(each.replicas), tuple(each.adding_replicas), tuple(each.removing_replicas))
                for tp, each in entries(response.topics)
            }

        return await call.one(CONTROLLER, request, read)


def _assignments(new: NewPartitions) -> list[messages.CreatePartitionsRequest.CreatePartitionsAssignment] | None:
    if new.assignments is None:
        return None
    return [
        messages.CreatePartitionsRequest.CreatePartitionsAssignment(broker_ids=list(ids)) for ids in new.assignments
    ]
