"""Metadata, versions 0 to 13: brokers, topics, leaders; creates topics that do not exist where both sides allow it.

The request by which clients find their way: brokers with the addresses of the listener that it came in on, and of each
topic the leaders and replicas. Null topics mean all, an empty list (version 1) none; version 0 had no null, and the
empty list meant all. What came when: cluster id 2, creation as the client's choice 4, offline replicas 5, leader epochs
7, authorized operations 8 (KIP-430), topic ids 10 and questions by id 12 (KIP-516).

Large answers are the same bytes for everyone until something changes, so they are kept encoded, by what was asked and
in which version; any change of the metadata cache drops them all. A topic that is created on the way is in this very
answer: Apache Kafka answers an error first and lets the client ask again. So do we where a topic of that name has just
been deleted: who knew the old one must see that it is gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from tidelog.broker import config as keys
from tidelog.broker.controller.internal_topics import SHARE_GROUP_STATE_TOPIC
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.encoded import EncodedBody
from tidelog.broker.handlers.operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from tidelog.broker.handlers.topics.kept_answers import AnswerKey
from tidelog.broker.handlers.topics.services import TopicServices
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.metadata.images import PartitionState, TopicImage
from tidelog.broker.metadata.names import is_valid_topic_name
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import INTERNAL_TOPICS
from tidelog.common.uuids import ZERO_UUID
from tidelog.protocol.messages import MetadataRequest, MetadataResponse

Topic = MetadataResponse.MetadataResponseTopic
Partition = MetadataResponse.MetadataResponsePartition

#: Answers with at least so many partitions are kept encoded; with more than that, they are built off the loop.
KEEP_PARTITIONS = 64
OFF_LOOP_PARTITIONS = 2_000


async def handle(
    services: TopicServices, ctx: RequestContext, request: MetadataRequest
) -> MetadataResponse | EncodedBody:
    """Answer from the cache, after topics that are missing were made.

    Errors are those of topics: UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INVALID_TOPIC_EXCEPTION for a name that no
    topic can have. A topic that exists has none, even if some of its partitions have no leader: those have errors of
    their own.
    """
    version = ctx.header.api_version
    if request.topics is not None and version < 12 and not _names_are_given(request):
        return _refused(request, ErrorCode.INVALID_REQUEST)
    metadata: MetadataCache = services.metadata
    if request.topics is None or (version == 0 and not request.topics):
        names: tuple[str, ...] | None = None
        missing: list[Topic] = []
    else:
        found, missing = await _resolve(services, request)
        names = tuple(found)
    asked = AnswerKey(version, ctx.listener, ctx.session.view, names, request.include_topic_authorized_operations)
    images = [metadata.topics[name] for name in (metadata.topics if names is None else names)]
    total = sum(len(image.partitions) for image in images)
    if total < KEEP_PARTITIONS or missing or request.include_cluster_authorized_operations:
        response = build(metadata, asked, images)
        response.topics = missing + response.topics
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = CLUSTER_OPERATIONS
        return response
    return await _kept(services, asked, images, total)


async def _kept(services: TopicServices, asked: AnswerKey, images: list[TopicImage], total: int) -> EncodedBody:
    """The encoded answer, from the last who asked the same or made now.

    A large one is built on a thread. The images in the cache are replaced by changes, never changed themselves, so that
    the thread reads one state of each topic; if the cache has moved on meanwhile, nobody else gets it.
    """
    metadata = services.metadata
    answers = services.kept_answers
    at = metadata.version
    body = answers.get(at, asked)
    if body is None:
        if total > OFF_LOOP_PARTITIONS:
            loop = asyncio.get_running_loop()
            data = await loop.run_in_executor(None, lambda: build(metadata, asked, images).encode(asked.version))
        else:
            data = build(metadata, asked, images).encode(asked.version)
        body = EncodedBody(data)
        answers.keep(at, asked, body)
    return body


def build(metadata: MetadataCache, asked: AnswerKey, images: Iterable[TopicImage]) -> MetadataResponse:
    """The answer of these topics. Any thread."""
    brokers = [
        MetadataResponse.MetadataResponseBroker(node_id=b.node_id, host=host, port=port, rack=b.rack)
        for b in list(metadata.brokers.values())
        for host, port in [b.endpoints.get(asked.listener, ("", -1))]
        if port >= 0
    ]
    alive = {broker.node_id for broker in brokers}
    operations = TOPIC_OPERATIONS if asked.operations else NOT_ASKED
    topics = [
        Topic(
            name=image.name,
            topic_id=image.topic_id,
            is_internal=image.internal,
            partitions=[_partition(state, alive, asked.version) for state in image.partitions],
            topic_authorized_operations=operations,
        )
        for image in images
    ]
    return MetadataResponse(
        brokers=brokers, cluster_id=metadata.cluster_id, controller_id=metadata.controller_id, topics=topics
    )


def _partition(state: PartitionState, alive: set[int], version: int) -> Partition:
    """A partition as a client may use it: a leader that it cannot reach is none (LEADER_NOT_AVAILABLE), or one that
    does not listen there (LISTENER_NOT_FOUND, version 6).
    """
    error = ErrorCode.NONE
    replicas, isr = list(state.replicas), list(state.isr)
    if state.leader not in alive:
        error = ErrorCode.LISTENER_NOT_FOUND if version >= 6 and state.has_leader else ErrorCode.LEADER_NOT_AVAILABLE
    elif version == 0 and not (alive.issuperset(replicas) and alive.issuperset(isr)):
        # Only version 0 says so; later ones list replicas wherever they are.
        error = ErrorCode.REPLICA_NOT_AVAILABLE
        replicas, isr = [n for n in replicas if n in alive], [n for n in isr if n in alive]
    return Partition(
        error_code=error,
        partition_index=state.partition,
        leader_id=state.leader if state.leader in alive else -1,
        leader_epoch=state.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=[node for node in state.replicas if node not in alive],
    )


def _names_are_given(request: MetadataRequest) -> bool:
    """Versions 10 and 11 have room for topic ids, but only names are allowed in them."""
    return all(topic.name is not None and topic.topic_id == ZERO_UUID for topic in request.topics or ())


def _refused(request: MetadataRequest, code: ErrorCode) -> MetadataResponse:
    """The same error for every topic."""
    topics = [Topic(error_code=code, name=topic.name or "", topic_id=topic.topic_id) for topic in request.topics or ()]
    return MetadataResponse(topics=topics)


async def _resolve(services: TopicServices, request: MetadataRequest) -> tuple[list[str], list[Topic]]:
    """The asked topics that exist (after creation), and the answers for those that do not.

    By id or by name: a request that has ids is answered by ids alone, as Kafka does. Nothing is ever created by id, and
    a name that is asked for twice is answered once.
    """
    metadata = services.metadata
    missing: list[Topic] = []
    ids = dict.fromkeys(topic.topic_id for topic in request.topics or () if topic.topic_id != ZERO_UUID)
    if ids:
        found = []
        for topic_id in ids:
            name = metadata.topic_name(topic_id)
            if name is None:
                missing.append(Topic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id))
            else:
                found.append(name)
        return found, missing
    names = list(dict.fromkeys(topic.name for topic in request.topics or () if topic.name is not None))
    create = request.allow_auto_topic_creation and services.config[keys.AUTO_CREATE_TOPICS_ENABLE]
    for name in names:
        if name in metadata.topics:
            continue
        code = await _create(services, name) if create else _unknown(name)
        if code is not ErrorCode.NONE:
            operations = TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED
            missing.append(
                Topic(
                    error_code=code,
                    name=name,
                    is_internal=name in INTERNAL_TOPICS,
                    topic_authorized_operations=operations,
                )
            )
    failed = {topic.name for topic in missing}
    return [name for name in names if name in metadata.topics and name not in failed], missing


def _unknown(name: str) -> ErrorCode:
    """What is wrong with a topic that is not there: it might be made, or it cannot exist."""
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_valid_topic_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION


async def _create(services: TopicServices, name: str) -> ErrorCode:
    """Make a topic with the broker's defaults; NONE if it is there afterwards, whoever made it.

    The state topic of share groups is not made by asking for it: nobody here would coordinate it.
    """
    if not is_valid_topic_name(name):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if name == SHARE_GROUP_STATE_TOPIC:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    metadata = services.metadata
    deleted = metadata.was_deleted(name)
    try:
        await services.controller.ensure_topic(name)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE if name in metadata.topics and not deleted else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
