"""CreateTopics (versions 0 to 7), DeleteTopics (0 to 6), CreatePartitions (0 to 3): topics come, go and grow.

The request's form is checked here, everything else by the controller: names, counts, placement, configs. Each topic
succeeds or fails by itself, and one that is named twice in a request is INVALID_REQUEST as a whole, however alike the
two are. A topic that is created is there when the answer comes: it is in the store, its leaders are elected and its
metadata are known to this broker. (Other brokers of a cluster may hear of it later: clients ask for metadata until they
see it.) `validate_only` (CreateTopics from version 1 on) does everything but the change.
"""

from __future__ import annotations

from collections import Counter

from tidelog.broker import config as keys
from tidelog.broker.controller.topic_plans import MAX_PARTITIONS_PER_BATCH, NewTopic, TopicPlan
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.topics.services import TopicServices
from tidelog.broker.metadata.config_entries import topic_entries
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.uuids import ZERO_UUID
from tidelog.protocol.messages import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)

Created = CreateTopicsResponse.CreatableTopicResult
Deleted = DeleteTopicsResponse.DeletableTopicResult
Grown = CreatePartitionsResponse.CreatePartitionsTopicResult


async def create(services: TopicServices, ctx: RequestContext, request: CreateTopicsRequest) -> CreateTopicsResponse:
    """CreateTopics. -1 for partitions or replicas (version 4, KIP-464) means the broker's defaults.

    From version 5 on the answer shows what was made (KIP-525): counts, and every config with its source; from version 7
    on the topic's id. Too many partitions in one request are refused for all topics (POLICY_VIOLATION).
    """
    refused = _too_many(services, request)
    if refused is not None:
        return refused
    counts = Counter(topic.name for topic in request.topics)
    wanted = [_new_topic(topic) for topic in request.topics if counts[topic.name] == 1]
    outcomes = await services.controller.create_topics(wanted, validate_only=request.validate_only)
    results = [_created(services, topic.name, outcome) for topic, outcome in zip(wanted, outcomes, strict=True)]
    for name, count in counts.items():
        if count > 1:
            results.append(
                Created(name=name, error_code=ErrorCode.INVALID_REQUEST, error_message="Duplicate topic name.")
            )
    return CreateTopicsResponse(topics=results)


def _too_many(services: TopicServices, request: CreateTopicsRequest) -> CreateTopicsResponse | None:
    """One request may make so many partitions and no more: each costs a directory and a node of the store, and the
    controller does nothing else meanwhile.
    """
    default = services.config[keys.NUM_PARTITIONS]
    total = sum(
        len(topic.assignments) or (default if topic.num_partitions == -1 else max(0, topic.num_partitions))
        for topic in request.topics
    )
    if total <= MAX_PARTITIONS_PER_BATCH:
        return None
    code, text = ErrorCode.POLICY_VIOLATION, f"Excessively large number of partitions per request: {total}"
    names = dict.fromkeys(topic.name for topic in request.topics)
    return CreateTopicsResponse(topics=[Created(name=name, error_code=code, error_message=text) for name in names])


def _new_topic(topic: CreateTopicsRequest.CreatableTopic) -> NewTopic:
    """The wish, as the controller takes it; a partition that is assigned twice is noted for it to refuse."""
    counts = Counter(assignment.partition_index for assignment in topic.assignments)
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        {assignment.partition_index: assignment.broker_ids for assignment in topic.assignments},
        {config.name: config.value for config in topic.configs},
        tuple(index for index, count in counts.items() if count > 1),
    )


def _created(services: TopicServices, name: str, outcome: TopicPlan | KafkaError) -> Created:
    """What was made, or would have been (`validate_only`), with every config that holds for it."""
    if isinstance(outcome, KafkaError):
        return Created(name=name, error_code=outcome.code, error_message=outcome.message)
    entries = topic_entries(services.config, services.topic_configs, outcome.configs)
    return Created(
        name=name,
        error_message=None,
        topic_id=outcome.image.topic_id,
        num_partitions=len(outcome.image.partitions),
        replication_factor=outcome.replication_factor,
        configs=[
            CreateTopicsResponse.CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
                is_sensitive=entry.sensitive,
            )
            for entry in entries
        ],
    )


async def delete(services: TopicServices, ctx: RequestContext, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    """DeleteTopics, by name or (version 6, KIP-516) by id; both at once, or neither, is INVALID_REQUEST.

    `delete.topic.enable=false` refuses everything: TOPIC_DELETION_DISABLED, which before version 3 had no code of its
    own.
    """
    version = ctx.header.api_version
    if not services.config[keys.DELETE_TOPIC_ENABLE]:
        code = ErrorCode.INVALID_REQUEST if version < 3 else ErrorCode.TOPIC_DELETION_DISABLED
        results = [_deleted(name, ZERO_UUID, code) for name in request.topic_names]
        results += [_deleted(topic.name, topic.topic_id, code) for topic in request.topics]
        return DeleteTopicsResponse(responses=results)
    names, ids, results = _to_delete(request)
    for deletion in await services.controller.delete_topics(names, ids):
        error = deletion.error or KafkaError(ErrorCode.NONE)
        results.append(_deleted(deletion.name, deletion.topic_id, error.code, error.message))
    return DeleteTopicsResponse(responses=results)


def _to_delete(request: DeleteTopicsRequest) -> tuple[list[str], list[bytes], list[Deleted]]:
    """Names and ids that are given once, and the answers to what is no request.

    Which topics they are is decided when they are deleted: between now and then one may go, and another of its name
    come.
    """
    results: list[Deleted] = []
    by_name: Counter[str] = Counter(request.topic_names)
    by_id: Counter[bytes] = Counter()
    for topic in request.topics:
        given = topic.topic_id != ZERO_UUID
        if topic.name is None and not given:
            text = "Neither topic name nor id were specified."
            results.append(_deleted(None, ZERO_UUID, ErrorCode.INVALID_REQUEST, text))
        elif topic.name is not None and given:
            text = "You may not specify both topic name and topic id."
            results.append(_deleted(topic.name, topic.topic_id, ErrorCode.INVALID_REQUEST, text))
        elif topic.name is None:
            by_id[topic.topic_id] += 1
        else:
            by_name[topic.name] += 1
    for topic_id, count in by_id.items():
        if count > 1:
            results.append(_deleted(None, topic_id, ErrorCode.INVALID_REQUEST, "Duplicate topic id."))
    for name, count in by_name.items():
        if count > 1:
            results.append(_deleted(name, ZERO_UUID, ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
    once = [name for name, count in by_name.items() if count == 1]
    return once, [topic_id for topic_id, count in by_id.items() if count == 1], results


def _deleted(name: str | None, topic_id: bytes, code: ErrorCode, text: str | None = None) -> Deleted:
    """An answer of one topic. Success has no message, every error has one."""
    message = None if code is ErrorCode.NONE else text or code.text
    return Deleted(name=name, topic_id=topic_id, error_code=code, error_message=message)


async def create_partitions(
    services: TopicServices, ctx: RequestContext, request: CreatePartitionsRequest
) -> CreatePartitionsResponse:
    """CreatePartitions: a topic has `count` partitions from then on, and can only grow (INVALID_PARTITIONS).

    Records with keys are not moved: the same key may lie in another partition from then on. Several topics are changed
    one after the other, those that fail without holding back the rest.
    """
    counts = Counter(topic.name for topic in request.topics)
    results: list[Grown] = []
    for topic in request.topics:
        if counts[topic.name] > 1:
            continue
        assignments = None if topic.assignments is None else [a.broker_ids for a in topic.assignments]
        try:
            await services.controller.create_partitions(
                topic.name, topic.count, assignments, validate_only=request.validate_only
            )
            results.append(Grown(name=topic.name))
        except KafkaError as error:
            unknown = error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            message = None if unknown else error.message
            results.append(Grown(name=topic.name, error_code=error.code, error_message=message))
    for name, count in counts.items():
        if count > 1:
            text = "Duplicate topic name."
            results.append(Grown(name=name, error_code=ErrorCode.INVALID_REQUEST, error_message=text))
    return CreatePartitionsResponse(results=results)
