"""Streams groups (KIP-1071): the topology that their members run, and the tasks that each has been given.

A streams application is a graph of processors; its subtopologies are the parts that share no records but by topics, and
a task is a subtopology on one partition.

An active task reads, computes and writes. A standby task only keeps a copy of its state, so that the task can move
there without reading the whole changelog again; a warm-up task is on the way to become active. `task_offsets` tells how
far a member's copies are, `task_end_offsets` how far they could be.

The group has the topology of its members, and an epoch of it that rises with each new one: members with an older
topology get no tasks. Topics that the topology needs are made by the broker; while some are missing, the group is
NOT_READY.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.client.admin.acl_types import AclOperation
from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.group_descriptions import coordinator_of
from tidelog.client.admin.group_values import GroupState
from tidelog.client.admin.hints import outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import GROUP
from tidelog.client.admin.shapes import operations
from tidelog.client.values import Node
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol import messages


class Task(NamedTuple):
    """A subtopology on one partition."""

    subtopology: str
    partition: int


class StreamsTasks(NamedTuple):
    """The tasks of a member: those that it runs, those that it shadows, those that it is getting ready for."""

    active: tuple[Task, ...]
    standby: tuple[Task, ...]
    warmup: tuple[Task, ...]


class StreamsTopic(NamedTuple):
    """A topic that belongs to the application itself."""

    name: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]


class Subtopology(NamedTuple):
    """A connected part of the topology, and the topics that it reads and writes."""

    id: str
    source_topics: tuple[str, ...]
    repartition_sink_topics: tuple[str, ...]
    changelog_topics: tuple[StreamsTopic, ...]
    repartition_source_topics: tuple[StreamsTopic, ...]


class StreamsMember(NamedTuple):
    """A member; `process_id` tells which of them share a process, `endpoint` where its state may be queried."""

    member_id: str
    epoch: int
    client_id: str
    host: str
    instance_id: str | None
    rack_id: str | None
    topology_epoch: int
    process_id: str
    endpoint: tuple[str, int] | None
    client_tags: Mapping[str, str]
    task_offsets: Mapping[Task, int]
    task_end_offsets: Mapping[Task, int]
    assignment: StreamsTasks
    target_assignment: StreamsTasks
    is_classic: bool


class StreamsGroupDescription(NamedTuple):
    """A streams group, its topology and its members."""

    group_id: str
    state: GroupState
    epoch: int
    assignment_epoch: int
    topology_epoch: int | None
    subtopologies: tuple[Subtopology, ...]
    members: tuple[StreamsMember, ...]
    coordinator: Node | None = None
    authorized_operations: frozenset[AclOperation] | None = None


class StreamsGroupAdmin(AdminBase):
    """The part of the Admin that is about streams groups."""

    async def describe_streams_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool = False, timeout: float | None = None
    ) -> Outcomes[str, StreamsGroupDescription]:
        """Streams groups (Kafka 4.1 on)."""
        call = self._call(timeout)

        def ask(keys: list[str]) -> messages.StreamsGroupDescribeRequest:
            return messages.StreamsGroupDescribeRequest(
                group_ids=keys, include_authorized_operations=authorized_operations
            )

        def read(response: Any, keys: list[str]) -> Answers[str, StreamsGroupDescription]:
            for group in response.groups:
                described = _group(group, coordinator_of(call, group.group_id))
                about = f"group {group.group_id}"
                yield group.group_id, outcome(described, group.error_code, group.error_message, about)

        return await call.each(group_ids, GROUP, ask, read)


def _group(group: Any, coordinator: Node | None) -> StreamsGroupDescription:
    """From an answer; a group that never had a member with a topology has none."""
    topology = group.topology
    return StreamsGroupDescription(
        group.group_id,
        GroupState(group.group_state),
        group.group_epoch,
        group.assignment_epoch,
        None if topology is None else topology.epoch,
        () if topology is None else tuple(map(_subtopology, topology.subtopologies or ())),
        tuple(map(_member, group.members)),
        coordinator,
        operations(group.authorized_operations),
    )


def _subtopology(found: Any) -> Subtopology:
    return Subtopology(
        found.subtopology_id,
        tuple(found.source_topics),
        tuple(found.repartition_sink_topics),
        tuple(map(_topic, found.state_changelog_topics)),
        tuple(map(_topic, found.repartition_source_topics)),
    )


def _topic(found: Any) -> StreamsTopic:
    configs = {each.key: each.value for each in found.topic_configs}
    return StreamsTopic(found.name, found.partitions, found.replication_factor, configs)


def _member(found: Any) -> StreamsMember:
    endpoint = found.user_endpoint
    return StreamsMember(
        found.member_id,
        found.member_epoch,
        found.client_id,
        found.client_host,
        found.instance_id,
        found.rack_id,
        found.topology_epoch,
        found.process_id,
        None if endpoint is None else (endpoint.host, endpoint.port),
        {each.key: each.value for each in found.client_tags},
        _offsets(found.task_offsets),
        _offsets(found.task_end_offsets),
        _tasks(found.assignment),
        _tasks(found.target_assignment),
        found.is_classic,
    )


def _offsets(found: Any) -> dict[Task, int]:
    """Task → how far."""
    return {Task(each.subtopology_id, each.partition): each.offset for each in found}


def _tasks(found: Any) -> StreamsTasks:
    """Flat: the answer names each subtopology once, with its partitions."""

    def flat(ids: Any) -> tuple[Task, ...]:
        return tuple(Task(each.subtopology_id, number) for each in ids for number in each.partitions)

    return StreamsTasks(flat(found.active_tasks), flat(found.standby_tasks), flat(found.warmup_tasks))
