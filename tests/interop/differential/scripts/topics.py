"""Topics: what there is, making them, making them wider, taking them away."""

from __future__ import annotations

from interop.differential.mutate import mutations
from interop.differential.session import Session
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DescribeTopicPartitionsRequest,
    MetadataRequest,
)

NewTopic = CreateTopicsRequest.CreatableTopic
NewConfig = CreateTopicsRequest.CreatableTopicConfig
Replicas = CreateTopicsRequest.CreatableReplicaAssignment
BAD_COUNTS = [-(2**31), -2, -1, 0, 5]
BAD_CONFIGS = (
    ("no.such.key", "1"),
    ("retention.ms", "soon"),
    ("retention.ms", None),
    ("retention.ms", ""),
    ("retention.ms", "-2"),
    ("segment.bytes", "13"),
    ("segment.bytes", "99999999999"),
    ("cleanup.policy", "compact,delete"),
    ("cleanup.policy", "neither"),
    ("cleanup.policy", ""),
    ("compression.type", "zstd"),
    ("compression.type", "rar"),
    ("min.cleanable.dirty.ratio", "1.5"),
    ("min.cleanable.dirty.ratio", " 0.5 "),
    ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.type", "logappendtime"),
    ("min.insync.replicas", "0"),
    ("min.insync.replicas", "3"),
    ("preallocate", "true"),
    ("preallocate", "maybe"),
    ("max.message.bytes", "-1"),
    ("message.format.version", "2.8"),
    ("remote.storage.enable", "true"),
    ("leader.replication.throttled.replicas", "*"),
    ("leader.replication.throttled.replicas", "1"),
    ("local.retention.ms", "-2"),
    ("", "x"),
)


def metadata(s: Session) -> None:
    known = s.topic(3)
    for version in s.versions(ApiKey.METADATA):

        def base(version: int = version) -> MetadataRequest:
            topic = MetadataRequest.MetadataRequestTopic(name=known)
            if version >= 10:
                topic.topic_id = s.topic_id(known) if version >= 12 else bytes(16)
            request = MetadataRequest(topics=[topic])
            if version >= 4:
                request.allow_auto_topic_creation = False
            return request

        s.ask("as it should be", base(), version)
        named = base()
        named.topics[0].topic_id = bytes(16)
        s.ask("by name", named, version)
        for mutation in mutations(base(), version):
            if version < 4 and mutation.label.startswith("topics.0.name=") and "no-such-name" in mutation.label:
                continue  # would be created
            if mutation.label in ("topics=null", "topics=[]") and not (version >= 1 and mutation.label == "topics=[]"):
                continue  # all topics: the two brokers have had different lives
            s.ask(mutation.label, mutation.apply(base()), version)
        both = [
            MetadataRequest.MetadataRequestTopic(name=known),
            MetadataRequest.MetadataRequestTopic(name="no-such-topic" if version >= 4 else known),
        ]
        s.ask("known and unknown", MetadataRequest(topics=both, allow_auto_topic_creation=version < 4), version)
        if version >= 4:
            fresh = MetadataRequest.MetadataRequestTopic(name=s.fresh("auto"))
            s.ask("auto-created", MetadataRequest(topics=[fresh], allow_auto_topic_creation=True), version)
        for flags in ((True, False), (False, True), (True, True)):
            if version >= 8:
                request = named
                request.include_topic_authorized_operations = flags[0]
                if version <= 10:
                    request.include_cluster_authorized_operations = flags[1]
                s.ask(f"authorized operations {flags}", request, version)


def _new_topic(s: Session) -> CreateTopicsRequest:
    topic = NewTopic(
        name=s.fresh("new"),
        num_partitions=2,
        replication_factor=1,
        configs=[NewConfig(name="retention.ms", value="1000")],
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=60_000)


def create_topics(s: Session) -> None:
    existing = s.topic()
    for version in s.versions(ApiKey.CREATE_TOPICS):
        s.ask("as it should be", _new_topic(s), version)
        values = {"num_partitions": BAD_COUNTS, "replication_factor": [-2, -1, 0, 2, 32767]}
        for mutation in mutations(_new_topic(s), version, values=values):
            s.ask(mutation.label, mutation.apply(_new_topic(s)), version)
        request = _new_topic(s)
        request.topics[0].name = existing
        s.ask("exists", request, version)
        if version >= 1:
            request.validate_only = True
            s.ask("exists, validate only", request, version)
        request = _new_topic(s)
        request.topics[0].name = existing[:-1] + existing[-1].replace("-", "_")
        request.topics[0].name = existing.replace("-", ".")
        s.ask("name collides", request, version)
        for key, value in BAD_CONFIGS:
            request = _new_topic(s)
            request.topics[0].configs = [NewConfig(name=key, value=value)]
            s.ask(f"config {key}={value}", request, version)
        request = _new_topic(s)
        request.topics[0].configs = [NewConfig(name="retention.ms", value=value) for value in ("1", "2")]
        s.ask("config twice", request, version)
        for label, assignments in _assignments().items():
            for counts in ((-1, -1), (2, 1), (-1, 1), (2, -1)):
                request = _new_topic(s)
                request.topics[0].num_partitions, request.topics[0].replication_factor = counts
                request.topics[0].assignments = [
                    Replicas(partition_index=index, broker_ids=ids) for index, ids in assignments
                ]
                s.ask(f"assignment {label}, counts {counts}", request, version)


def _assignments() -> dict[str, list[tuple[int, list[int]]]]:
    return {
        "sound": [(0, [1]), (1, [1])],
        "no replicas": [(0, []), (1, [1])],
        "unknown broker": [(0, [99])],
        "twice the broker": [(0, [1, 1])],
        "hole": [(0, [1]), (2, [1])],
        "partition twice": [(0, [1]), (0, [1])],
        "negative": [(-1, [1])],
        "uneven": [(0, [1]), (1, [1, 2])],
    }


def delete_topics(s: Session) -> None:
    for version in s.versions(ApiKey.DELETE_TOPICS):

        def base(version: int = version) -> DeleteTopicsRequest:
            name = s.topic()
            if version < 6:
                return DeleteTopicsRequest(topic_names=[name], timeout_ms=60_000)
            state = DeleteTopicsRequest.DeleteTopicState(name=name)
            return DeleteTopicsRequest(topics=[state], timeout_ms=60_000)

        request = base()
        s.ask("as it should be", request, version)
        s.ask("once more", request, version)
        for mutation in mutations(base(), version, skip={"topic_id"}):
            if "__consumer_offsets" not in mutation.label:
                s.ask(mutation.label, mutation.apply(base()), version)
        if version < 6:
            s.ask(
                "known and unknown",
                DeleteTopicsRequest(topic_names=[s.topic(), "no-such-topic"], timeout_ms=60_000),
                version,
            )
            continue
        State = DeleteTopicsRequest.DeleteTopicState
        name = s.topic()
        states = {
            "by id": [State(name=None, topic_id=s.topic_id(name))],
            "deleted id": [State(name=None, topic_id=s.topic_id(name))],
            "unknown id": [State(name=None, topic_id=s.unknown_id)],
            "neither": [State(name=None)],
            "both": [State(name="x", topic_id=s.unknown_id)],
            "id twice": [State(name=None, topic_id=s.unknown_id)] * 2,
        }
        other = s.topic()
        states["name and its id"] = [State(name=other), State(name=None, topic_id=s.topic_id(other))]
        for label, topics in states.items():
            s.ask(label, DeleteTopicsRequest(topics=topics, timeout_ms=60_000), version)


def create_partitions(s: Session) -> None:
    Topic = CreatePartitionsRequest.CreatePartitionsTopic
    Assignment = CreatePartitionsRequest.CreatePartitionsAssignment
    for version in s.versions(ApiKey.CREATE_PARTITIONS):

        def base() -> CreatePartitionsRequest:
            return CreatePartitionsRequest(
                topics=[Topic(name=s.topic(2), count=4, assignments=None)], timeout_ms=60_000
            )

        s.ask("as it should be", base(), version)
        for mutation in mutations(base(), version, values={"count": [-1, 0, 1, 2, 3]}):
            if "__consumer_offsets" not in mutation.label:
                s.ask(mutation.label, mutation.apply(base()), version)
        assignments = {
            "sound": [[1], [1]],
            "too few": [[1]],
            "too many": [[1], [1], [1]],
            "none": [],
            "empty": [[], [1]],
            "unknown broker": [[1], [77]],
            "twice": [[1, 1], [1]],
            "too wide": [[1, 2], [1]],
        }
        for label, brokers in assignments.items():
            request = base()
            request.topics[0].assignments = [Assignment(broker_ids=ids) for ids in brokers]
            s.ask(f"assignment {label}", request, version)


def describe_topic_partitions(s: Session) -> None:
    names = sorted([s.topic(3), s.topic(2)])
    Cursor = DescribeTopicPartitionsRequest.Cursor
    for version in s.versions(ApiKey.DESCRIBE_TOPIC_PARTITIONS):

        def base() -> DescribeTopicPartitionsRequest:
            topics = [DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names]
            return DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=2000)

        s.ask("as it should be", base(), version)
        for mutation in mutations(base(), version, values={"response_partition_limit": [-1, 0, 1, 2, 3, 4, 5, 2001]}):
            if mutation.label != "topics=[]":
                s.ask(mutation.label, mutation.apply(base()), version)
        for topic, index in (
            (names[0], 1),
            (names[0], 3),
            (names[1], 0),
            (names[1], 9),
            (names[1], -1),
            ("zzzz", 0),
            ("", 0),
        ):
            request = base()
            request.cursor = Cursor(topic_name=topic, partition_index=index)
            s.ask(f"cursor {names.index(topic) if topic in names else topic!r} {index}", request, version)
