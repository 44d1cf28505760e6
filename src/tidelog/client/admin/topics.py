"""Topics: list, describe, create, delete.

Creating and deleting is decided by the controller, and done when it has answered; but the brokers hear of it later, one
by one. So creating waits until the new topics have leaders as metadata tells it: otherwise the next request would be
refused for a topic that "does not exist". A deleted topic's name is free at once; its files go afterwards.

Describing goes page by page (DescribeTopicPartitions, Kafka 3.7 on: one answer has 2000 partitions at most), and by
Metadata where that is not served or ids are asked for.

A topic has a name, which may be used again, and an id, which is never (Kafka 2.8 on). Whoever deletes by id cannot
delete the next topic of that name by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.call import Call
from tidelog.client.admin.config_names import TOPIC_CONFIGS, with_meant_name
from tidelog.client.admin.config_values import ConfigChange, config_entry, config_text
from tidelog.client.admin.hints import AdminError, check, failure, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import ANYBODY, ToController
from tidelog.client.admin.shapes import id_bytes, id_text, items, operations
from tidelog.client.admin.topic_values import (
    CreatedTopic,
    NewTopic,
    PartitionDescription,
    TopicDescription,
    TopicListing,
)
from tidelog.client.cluster.metadata import TopicInfo
from tidelog.client.nearest import did_you_mean
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.net.pauses import pause
from tidelog.protocol import messages

#: From the next version on, DeleteTopics names topics and ids in another field.
_LAST_DELETE_BY_NAME = 5


class TopicAdmin(AdminBase):
    """The part of the Admin that is about topics."""

    async def topics(self, *, internal: bool = False, timeout: float | None = None) -> list[str]:
        """The names of all topics that we may see; `internal`: also of those that the brokers keep for themselves."""
        return sorted(await self.list_topics(internal=internal, timeout=timeout))

    async def list_topics(self, *, internal: bool = False, timeout: float | None = None) -> dict[str, TopicListing]:
        """All topics that we may see, by name."""

        def read(response: Any) -> dict[str, TopicListing]:
            check(response.error_code, about="listing topics")
            return {
                topic.name: TopicListing(topic.name, id_text(topic.topic_id), topic.is_internal, len(topic.partitions))
                for topic in response.topics
                if internal or not topic.is_internal
            }

        request = messages.MetadataRequest(topics=None, allow_auto_topic_creation=False)
        return await self._call(timeout).one(ANYBODY, request, read)

    async def describe_topic(
        self, name: str, *, authorized_operations: bool = False, timeout: float | None = None
    ) -> TopicDescription:
        """One topic: its partitions, their leaders and replicas."""
        found = await self.describe_topics([name], authorized_operations=authorized_operations, timeout=timeout)
        error = found.failed.get(name)
        if error is not None:
            raise await self._with_near_names(error, name, timeout)
        return found.of(name)

    async def describe_topics(
        self,
        names: Iterable[str] = (),
        *,
        ids: Iterable[str] = (),
        authorized_operations: bool = False,
        partitions_per_response: int = 2000,
        timeout: float | None = None,
    ) -> Outcomes[str, TopicDescription]:
        """Topics by name, and by id (as text); the outcomes have the keys that were given.

        `authorized_operations`: also what we may do with each.
        """
        call = self._call(timeout)
        wanted = list(dict.fromkeys(items(names)))
        found: Outcomes[str, TopicDescription] = Outcomes()
        if wanted:
            try:
                found |= await _describe_by_pages(call, wanted, partitions_per_response)
            except KafkaError as error:
                if error.code is not ErrorCode.UNSUPPORTED_VERSION:
                    raise
                found |= await _describe_by_metadata(call, wanted, (), authorized_operations)
        ids = items(ids)
        if ids:
            found |= await _describe_by_metadata(call, (), ids, authorized_operations)
        if not authorized_operations:
            bare = {key: topic._replace(authorized_operations=None) for key, topic in found.ok.items()}
            found.update(bare)
        return found

    async def create_topic(
        self,
        name: str,
        partitions: int = -1,
        *,
        replication_factor: int = -1,
        configs: Mapping[str, ConfigChange] | None = None,
        assignments: Mapping[int, Iterable[int]] | None = None,
        exists_ok: bool = False,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> CreatedTopic:
        """Create one topic, and wait until it can be used. -1 takes the cluster's default.

        `exists_ok`: a topic of that name is taken as it is. `assignments`: the brokers of each partition, instead of
        numbers. `validate_only`: nothing is created.
        """
        topic = NewTopic(name, partitions, replication_factor, configs or {}, assignments)
        made = await self.create_topics([topic], validate_only=validate_only, timeout=timeout)
        error = made.failed.get(name)
        if error is None or not exists_ok or error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            return made.of(name)
        there = await self.describe_topic(name, timeout=timeout)
        replicas = max((len(partition.replicas) for partition in there.partitions), default=-1)
        return CreatedTopic(name, there.topic_id, len(there.partitions), replicas, None)

    async def create_topics(
        self,
        topics: Iterable[NewTopic | str],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> Outcomes[str, CreatedTopic]:
        """Create topics, and wait until those that were made can be used. `validate_only`: only say what would come
        of it.
        """
        wanted = {topic.name: topic for topic in (NewTopic(t) if isinstance(t, str) else t for t in items(topics))}
        call = self._call(timeout)

        def ask(names: list[str]) -> messages.CreateTopicsRequest:
            made = [_creatable(wanted[name]) for name in names]
            return messages.CreateTopicsRequest(topics=made, timeout_ms=call.timeout_ms, validate_only=validate_only)

        def read(response: Any, names: list[str]) -> Answers[str, CreatedTopic]:
            return [
                (topic.name, outcome(_created(topic), topic.error_code, topic.error_message, f"topic {topic.name}"))
                for topic in response.topics
            ]

        route = ToController(retry_on_quota_violation=retry_on_quota_violation)
        made = await call.each(wanted, route, ask, read)
        for name, error in made.failed.items():
            made[name] = with_meant_name(error, wanted[name].configs, TOPIC_CONFIGS)
        if not validate_only:
            await await_leaders(call, {name: topic.partitions for name, topic in made.ok.items()})
        return made

    async def delete_topic(self, name: str, *, missing_ok: bool = False, timeout: float | None = None) -> None:
        """Delete one topic with all its records. `missing_ok`: it need not be there."""
        gone = await self.delete_topics([name], timeout=timeout)
        error = gone.failed.get(name)
        if error is not None and not (missing_ok and error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            raise await self._with_near_names(error, name, timeout)

    async def _with_near_names(self, error: KafkaError, name: str, timeout: float | None) -> KafkaError:
        """A topic that is not there may be misspelt: then the names that are nearly so are what helps."""
        if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return error
        meant = did_you_mean(name, await self.topics(timeout=timeout))
        return error if meant is None else AdminError(error.code, f"there is no topic {name}", meant)

    async def delete_topics(
        self,
        names: Iterable[str] = (),
        *,
        ids: Iterable[str] = (),
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> Outcomes[str, None]:
        """Delete topics by name, and by id (as text, Kafka 2.8 on), with all their records."""
        names, ids = items(names), items(ids)  # looked at before anything is deleted
        call = self._call(timeout)
        route = ToController(retry_on_quota_violation=retry_on_quota_violation)

        def by_name(keys: list[str]) -> messages.DeleteTopicsRequest:
            return messages.DeleteTopicsRequest(topic_names=keys, timeout_ms=call.timeout_ms)

        def by_id(keys: list[str]) -> messages.DeleteTopicsRequest:
            states = [messages.DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=id_bytes(key)) for key in keys]
            return messages.DeleteTopicsRequest(topics=states, timeout_ms=call.timeout_ms)

        def read_names(response: Any, keys: list[str]) -> Answers[str, None]:
            return [
                (t.name, outcome(None, t.error_code, t.error_message, f"topic {t.name}")) for t in response.responses
            ]

        def read_ids(response: Any, keys: list[str]) -> Answers[str, None]:
            found = ((id_text(t.topic_id), t) for t in response.responses)
            return [(key, outcome(None, t.error_code, t.error_message, f"topic id {key}")) for key, t in found]

        gone: Outcomes[str, None] = await call.each(names, route, by_name, read_names, highest=_LAST_DELETE_BY_NAME)
        self._cluster.metadata.mark_stale(gone.ok)
        gone |= await call.each(ids, route, by_id, read_ids)
        return gone


def _creatable(topic: NewTopic) -> messages.CreateTopicsRequest.CreatableTopic:
    """A topic of the request. Where replicas are assigned, the numbers must be left out."""
    assignments = [
        messages.CreateTopicsRequest.CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
        for index, brokers in (topic.assignments or {}).items()
    ]
    return messages.CreateTopicsRequest.CreatableTopic(
        name=topic.name,
        num_partitions=-1 if assignments else topic.partitions,
        replication_factor=-1 if assignments else topic.replication_factor,
        assignments=assignments,
        configs=[
            messages.CreateTopicsRequest.CreatableTopicConfig(name=key, value=config_text(value))
            for key, value in topic.configs.items()
        ],
    )


def _created(topic: Any) -> CreatedTopic:
    """From an answer, which has the configs unless we may not see them; then it says so by an error of its own."""
    configs = topic.configs or []
    shown = {entry.name: config_entry(entry) for entry in configs} if not topic.topic_config_error_code else None
    return CreatedTopic(
        topic.name, id_text(topic.topic_id), topic.num_partitions, topic.replication_factor, shown or None
    )


async def await_leaders(call: Call, totals: Mapping[str, int]) -> None:
    """Until a broker, which hears of changes after the controller, tells of so many partitions of each topic, all with
    leaders. When the time is up they are not there yet, but made: that is no error. Nor is it that somebody may make
    topics and not see them, and then there is nothing to wait for.
    """
    cluster = call.cluster
    rest = list(totals)
    attempt = 0
    while rest:
        try:
            await cluster.retry(partial(cluster.refresh, rest), timeout=call.remaining)
        except KafkaError:
            return
        missing = set(cluster.metadata.missing(rest, cluster.clock.time_ms()))
        rest = [name for name in rest if name in missing or len(cluster.metadata.partitions(name)) < totals[name]]
        rest = [name for name in rest if not _is_hidden(cluster.metadata.topics.get(name))]
        wait = cluster.wait_before_retry(attempt)
        if not rest or wait >= call.remaining:
            return
        await pause(wait)
        attempt += 1


def _is_hidden(topic: TopicInfo | None) -> bool:
    """Whether the brokers tell us of a topic only that they do not, whenever we ask."""
    return topic is not None and topic.error != 0 and not ErrorCode(topic.error).retriable


# --- describing -------------------------------------------------------------------------------------------------------


async def _describe_by_pages(call: Call, names: list[str], limit: int) -> Outcomes[str, TopicDescription]:
    """An answer that is full says where to go on. It begins with the rest of the last topic, if there is any."""
    topics = [messages.DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in sorted(names)]
    found: dict[str, TopicDescription | KafkaError] = {}
    cursor: Any = None
    while True:
        request = messages.DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=limit, cursor=cursor)
        response: Any = await call.one(ANYBODY, request, lambda answer: answer)
        for topic in response.topics:
            fresh = _described(topic)
            known = found.get(topic.name)
            if isinstance(known, TopicDescription) and isinstance(fresh, TopicDescription):
                fresh = known._replace(partitions=known.partitions + fresh.partitions)
            found[topic.name] = fresh
        if response.next_cursor is None:
            break
        cursor = messages.DescribeTopicPartitionsRequest.Cursor(
            topic_name=response.next_cursor.topic_name, partition_index=response.next_cursor.partition_index
        )
    missing = failure(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "the broker does not mention the topic")
    return Outcomes({name: found.get(name, missing) for name in names})


async def _describe_by_metadata(
    call: Call, names: Iterable[str], ids: Iterable[str], authorized_operations: bool
) -> Outcomes[str, TopicDescription]:
    """All of it in one answer, however large. A broker that is new to a topic's id does not know it yet."""
    names, by_id = list(names), {id_bytes(text): text for text in ids}
    topics = [messages.MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    topics += [messages.MetadataRequest.MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in by_id]
    request = messages.MetadataRequest(
        topics=topics, allow_auto_topic_creation=False, include_topic_authorized_operations=authorized_operations
    )

    def read(response: Any, keys: list[str]) -> Answers[str, TopicDescription]:
        return [(by_id.get(topic.topic_id, topic.name), _described(topic)) for topic in response.topics]

    return await call.each([*names, *by_id.values()], ANYBODY, lambda _: request, read)


def _described(topic: Any) -> TopicDescription | KafkaError:
    """From Metadata or DescribeTopicPartitions, which say the same but for the eligible leaders."""
    partitions = tuple(
        PartitionDescription(
            entry.partition_index,
            entry.leader_id,
            entry.leader_epoch,
            tuple(entry.replica_nodes),
            tuple(entry.isr_nodes),
            tuple(entry.offline_replicas),
            _ids(getattr(entry, "eligible_leader_replicas", None)),
            _ids(getattr(entry, "last_known_elr", None)),
        )
        for entry in sorted(topic.partitions, key=lambda entry: int(entry.partition_index))
    )
    described = TopicDescription(
        topic.name or "",
        id_text(topic.topic_id),
        topic.is_internal,
        partitions,
        operations(topic.topic_authorized_operations),
    )
    about = f"topic {topic.name or id_text(topic.topic_id)}"
    return outcome(described, topic.error_code, about=about)


def _ids(nodes: list[int] | None) -> tuple[int, ...] | None:
    """None where the answer has no such field."""
    return None if nodes is None else tuple(nodes)
