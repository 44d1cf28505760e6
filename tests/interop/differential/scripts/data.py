"""Records in and out: Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, DeleteRecords."""

from __future__ import annotations

from typing import Any

from interop.differential.mutate import mutations
from interop.differential.scripts.records import ODD_RECORDS, START, batch, for_version
from interop.differential.session import Session
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    DeleteRecordsRequest,
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)

OFFSETS = [-(2**63), -3, -2, -1, 0, 1, 5, 9, 10, 11, 12, 2**63 - 1]
EPOCHS = [-(2**31), -2, -1, 0, 1, 7, 2**31 - 1]


def produce_request(s: Session, topic: str, version: int, records: Any, acks: int = -1) -> ProduceRequest:
    named = {"topic_id": s.topic_id(topic)} if version >= 13 else {"name": topic}
    data = ProduceRequest.PartitionProduceData(index=0, records=records)
    return ProduceRequest(
        acks=acks,
        timeout_ms=60_000,
        topic_data=[ProduceRequest.TopicProduceData(**named, partition_data=[data])],
    )


def fetch_request(s: Session, topic: str, version: int, offset: int = 0) -> FetchRequest:
    named = {"topic_id": s.topic_id(topic)} if version >= 13 else {"topic": topic}
    part = FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=0, min_bytes=1, max_bytes=1 << 22, topics=[FetchRequest.FetchTopic(**named, partitions=[part])]
    )


def fill(s: Session, topic: str, batches: int = 5) -> None:
    """Two records a batch: offsets 0 to 2n - 1."""
    for number in range(batches):
        records = batch([b"a", b"b"], timestamp=START + number * 1000)
        found = s.do(produce_request(s, topic, 9, records), 9).responses[0].partition_responses[0]
        assert found.error_code == 0, found


def produce(s: Session) -> None:
    for version in s.versions(ApiKey.PRODUCE):
        topic = s.topic(2)

        def base(version: int = version, topic: str = topic) -> ProduceRequest:
            return produce_request(s, topic, version, for_version(version))

        s.ask("as it should be", base(), version)
        values = {"acks": [-2, -1, 0, 1, 2, 32767], "index": [-1, 1, 2, 2**31 - 1]}
        for mutation in mutations(base(), version, values=values, skip={"records"}):
            s.ask(mutation.label, mutation.apply(base()), version)
        for acks in (1, 0):
            request = base()
            request.acks = acks
            s.ask(f"acks {acks}", request, version)
        _odd_records(s, version)
        if version >= 3:
            _sequences(s, version)
        for key, value, label in TOPIC_RULES:
            ruled = s.topic(1, {key: value})
            s.ask(f"{key}={value}: {label}", produce_request(s, ruled, version, ODD_RECORDS[label]()), version)
        s.ask("what is there then", fetch_request(s, topic, 12), 12)


def _odd_records(s: Session, version: int) -> None:
    """Each kind of records into a partition of its own, and what lies there afterwards."""
    topic = s.topic(len(ODD_RECORDS))
    for index, (label, records) in enumerate(ODD_RECORDS.items()):
        request = produce_request(s, topic, version, records())
        request.topic_data[0].partition_data[0].index = index
        s.ask(f"records: {label}", request, version)
    request = fetch_request(s, topic, 12)
    request.topics[0].partitions = [
        FetchRequest.FetchPartition(partition=index, partition_max_bytes=1000) for index in range(len(ODD_RECORDS))
    ]
    s.ask(f"records that are there after Produce v{version}", request, 12)


TOPIC_RULES = (
    ("max.message.bytes", "100", "two records"),
    ("max.message.bytes", "100", "a big record"),
    ("cleanup.policy", "compact", "null key"),
    ("cleanup.policy", "compact", "keyed"),
    ("message.timestamp.before.max.ms", "1000", "two records"),
    ("message.timestamp.after.max.ms", "1000", "from the far future"),
    ("compression.type", "gzip", "two records"),
    ("message.timestamp.type", "LogAppendTime", "two records"),
)


def _sequences(s: Session, version: int) -> None:
    """Idempotent producers: right, wrong, stale and repeated sequences."""
    topic = s.topic()
    made = s.producer_id(None)
    pid, epoch = made.producer_id, made.producer_epoch
    steps = (
        ("first", pid, epoch, 0),
        ("again", pid, epoch, 0),
        ("next", pid, epoch, 2),
        ("gap", pid, epoch, 9),
        ("before", pid, epoch, 1),
        ("newer epoch, not at 0", pid, epoch + 1, 4),
        ("newer epoch", pid, epoch + 1, 0),
        ("stale epoch", pid, epoch, 4),
        ("unknown producer, not at 0", pid + 5_000_000, 0, 4),
        ("unknown producer", pid + 6_000_000, 3, 0),
        ("no sequence", pid, epoch + 1, -1),
        ("no epoch", pid, -1, 0),
        ("negative epoch and id", -5, -5, 0),
        ("wrapping", pid, epoch + 2, 2**31 - 1),
    )
    for label, producer, at, sequence in steps:
        records = batch([b"x", b"y"], producer_id=producer, producer_epoch=at, base_sequence=sequence)
        s.ask(f"sequence: {label}", produce_request(s, topic, version, records), version)
    records = batch([b"x"], producer_id=pid, producer_epoch=epoch + 1, base_sequence=2, transactional=True)
    s.ask("sequence: transactional batch, no id", produce_request(s, topic, version, records), version)


def fetch(s: Session) -> None:
    topic, trimmed = s.topic(2), s.topic()
    fill(s, topic)
    fill(s, trimmed)
    _delete_to(s, trimmed, 4)
    for version in s.versions(ApiKey.FETCH):

        def base(version: int = version) -> FetchRequest:
            return fetch_request(s, topic, version)

        s.ask("as it should be", base(), version)
        values = {
            "fetch_offset": OFFSETS,
            "current_leader_epoch": EPOCHS,
            "last_fetched_epoch": EPOCHS,
            "partition": [-1, 1, 2, 2**31 - 1],
            "max_wait_ms": [-1, 1, 100],
            "min_bytes": [-1, 0, 10_000_000],
            "max_bytes": [-1, 0, 1, 100, 2**31 - 1],
            "partition_max_bytes": [-1, 0, 1, 70, 150, 2**31 - 1],
            "isolation_level": [-1, 1, 2],
            "replica_id": [-3, -2, 0, 1, 9],
            "session_id": [1, 99],
            "session_epoch": [-2, 1, 2**31 - 1],
            "log_start_offset": [-2, 0, 100],
            "cluster_id": ["", "no-such-cluster"],
            "rack_id": ["", "rack"],
        }
        for mutation in mutations(base(), version, values=values):
            s.ask(mutation.label, mutation.apply(base()), version)
        for offset in OFFSETS:
            s.ask(f"trimmed log at {offset}", fetch_request(s, trimmed, version, offset), version)
        if version >= 7:
            _fetch_sessions(s, version, topic, trimmed)


def _fetch_sessions(s: Session, version: int, topic: str, other: str) -> None:
    def step(label: str, session: int, epoch: int, topics: list[str], forgotten: list[str] | None = None) -> Any:
        request = fetch_request(s, topic, version)
        request.session_id, request.session_epoch = session, epoch
        request.topics = [fetch_request(s, name, version, 8).topics[0] for name in topics]
        request.forgotten_topics_data = [
            FetchRequest.ForgottenTopic(
                **({"topic_id": s.topic_id(name)} if version >= 13 else {"topic": name}), partitions=[0]
            )
            for name in forgotten or ()
        ]
        return s.ask(f"session: {label}", request, version)

    made = step("opened", 0, 0, [topic, other])
    session = made.session_id if made is not None else 0
    step("next", session, 1, [])
    step("wrong epoch", session, 7, [])
    step("changed", session, 2, [topic])
    step("forgotten", session, 3, [], [topic])
    step("forgotten again", session, 4, [], [topic])
    step("unknown topic", session, 5, ["no-such-topic"])
    step("closed", session, -1, [])
    step("after it was closed", session, 6, [])
    step("epoch without id", 0, 5, [topic])


def _delete_to(s: Session, topic: str, offset: int) -> None:
    part = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=offset)
    s.do(
        DeleteRecordsRequest(
            topics=[DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[part])], timeout_ms=60_000
        ),
        2,
    )


def list_offsets(s: Session) -> None:
    topic, trimmed, empty = s.topic(2), s.topic(), s.topic()
    fill(s, topic)
    fill(s, trimmed)
    _delete_to(s, trimmed, 4)
    Topic, Part = ListOffsetsRequest.ListOffsetsTopic, ListOffsetsRequest.ListOffsetsPartition
    times = [-(2**63), -7, -6, -5, -4, -3, -2, -1, 0, 1, START - 1, START, START + 1, START + 2500, START + 4000]
    times += [START + 4001, 2**63 - 1]
    for version in s.versions(ApiKey.LIST_OFFSETS):

        def base(version: int = version, name: str = topic) -> ListOffsetsRequest:
            part = Part(partition_index=0, timestamp=-1)
            if version == 0:
                part.max_num_offsets = 10
            return ListOffsetsRequest(
                replica_id=-1, topics=[Topic(name=name, partitions=[part])], timeout_ms=1000 if version >= 10 else 0
            )

        s.ask("as it should be", base(), version)
        values = {
            "timestamp": times,
            "current_leader_epoch": EPOCHS,
            "partition_index": [-1, 1, 2],
            "replica_id": [-3, -2, 0, 1, 9],
            "isolation_level": [-1, 1, 2],
            "max_num_offsets": [-1, 0, 1, 2],
            "timeout_ms": [-1, 0],
        }
        for mutation in mutations(base(), version, values=values):
            s.ask(mutation.label, mutation.apply(base()), version)
        for name, label in ((trimmed, "trimmed"), (empty, "empty")):
            for time in times:
                request = base(name=name)
                request.topics[0].partitions[0].timestamp = time
                s.ask(f"{label} log at {time}", request, version)


def offset_for_leader_epoch(s: Session) -> None:
    topic = s.topic(2)
    fill(s, topic)
    Topic, Part = OffsetForLeaderEpochRequest.OffsetForLeaderTopic, OffsetForLeaderEpochRequest.OffsetForLeaderPartition
    for version in s.versions(ApiKey.OFFSET_FOR_LEADER_EPOCH):

        def base() -> OffsetForLeaderEpochRequest:
            part = Part(partition=0, leader_epoch=0)
            return OffsetForLeaderEpochRequest(topics=[Topic(topic=topic, partitions=[part])])

        s.ask("as it should be", base(), version)
        values = {
            "current_leader_epoch": EPOCHS,
            "leader_epoch": EPOCHS,
            "partition": [-1, 1, 2],
            "replica_id": [-3, -2, -1, 0, 1, 9],
        }
        for mutation in mutations(base(), version, values=values):
            s.ask(mutation.label, mutation.apply(base()), version)


def delete_records(s: Session) -> None:
    compacted = s.topic(1, {"cleanup.policy": "compact"})
    topic = s.topic(2)
    Topic, Part = DeleteRecordsRequest.DeleteRecordsTopic, DeleteRecordsRequest.DeleteRecordsPartition
    for version in s.versions(ApiKey.DELETE_RECORDS):
        fill(s, topic)

        def base(name: str = topic, offset: int = 0) -> DeleteRecordsRequest:
            part = Part(partition_index=0, offset=offset)
            return DeleteRecordsRequest(topics=[Topic(name=name, partitions=[part])], timeout_ms=60_000)

        s.ask("as it should be", base(), version)
        values = {
            "offset": [*OFFSETS, 2, 1],
            "partition_index": [-1, 1, 2],
            "timeout_ms": [-1, 0, 1],
        }
        for mutation in mutations(base(), version, values=values):
            s.ask(mutation.label, mutation.apply(base()), version)
        s.ask("compacted topic", base(compacted, 0), version)
        s.ask("internal topic", base("__consumer_offsets", 0), version)
        s.ask("what is left", fetch_request(s, topic, 12), 12)
