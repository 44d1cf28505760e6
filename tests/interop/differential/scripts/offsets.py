"""Committed offsets: commit, fetch, delete, for groups with members and without."""

from __future__ import annotations

from typing import Any

from interop.differential.mutate import mutations
from interop.differential.scripts.groups import GENERATIONS, MEMBERS, Member, beat_request, member, new_group
from interop.differential.session import Session
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest

CommitTopic, CommitPart = OffsetCommitRequest.OffsetCommitRequestTopic, OffsetCommitRequest.OffsetCommitRequestPartition


def commit_request(s: Session, version: int, topic: str, who: Member) -> OffsetCommitRequest:
    part = CommitPart(partition_index=0, committed_offset=5, committed_metadata="note")
    named: dict[str, Any] = {"topic_id": s.topic_id(topic)} if version >= 10 else {"name": topic}
    request = OffsetCommitRequest(group_id=who.group, topics=[CommitTopic(**named, partitions=[part])])
    if version >= 1:
        request.generation_id_or_member_epoch, request.member_id = who.generation, who.id
    if version >= 7:
        request.group_instance_id = who.instance
    return request


def commit(s: Session) -> None:
    topic = s.topic(2)
    values = {
        "generation_id_or_member_epoch": GENERATIONS,
        "member_id": MEMBERS,
        "group_id": ["", "no-such-group"],
        "group_instance_id": ["", "i1", "i2"],
        "retention_time_ms": [-2, 0, 1000],
        "committed_offset": [-(2**63), -2, -1, 0, 2**63 - 1],
        "committed_metadata": ["", "x" * 4096, "x" * 4097],
        "partition_index": [-1, 1, 2],
    }
    stable, completing, static = member(s), member(s, synced=False), member(s, instance="i1")
    consumer = _consumer(s, topic)
    for version in s.versions(ApiKey.OFFSET_COMMIT):
        simple = Member(s.fresh("simple"), "", -1)
        s.coordinator(simple.group)
        whos = {"stable": stable, "completing": completing, "static": static, "simple": simple, "consumer": consumer}
        for label, who in whos.items():

            def base(who: Member = who, version: int = version) -> OffsetCommitRequest:
                return commit_request(s, version, topic, who)

            s.ask(f"{label}: as it should be", base(), version)
            for mutation in mutations(base(), version, values=values):
                s.ask(f"{label}: {mutation.label}", mutation.apply(base()), version)


def _consumer(s: Session, topic: str) -> Member:
    version = 1 if 1 in s.versions(ApiKey.CONSUMER_GROUP_HEARTBEAT) else 0
    if not s.versions(ApiKey.CONSUMER_GROUP_HEARTBEAT):
        return Member(s.fresh("c"), "", -1)
    group = new_group(s, topic)
    joined = s.do(beat_request(s, group, topic, version), version)
    assert joined.error_code == 0, joined
    return Member(group, joined.member_id, joined.member_epoch)


def fetch(s: Session) -> None:
    topic = s.topic(3)
    stable, consumer = member(s), _consumer(s, topic)
    simple = Member(s.fresh("simple"), "", -1)
    s.coordinator(simple.group)
    for who in (stable, consumer, simple):
        s.do(commit_request(s, 9, topic, who), 9)
    values = {
        "partition_indexes": [0, 1, 7, -1],
        "group_id": ["", "no-such-group"],
        "member_id": [None, *MEMBERS],
        "member_epoch": [-2, -1, 0, 5],
    }
    for version in s.versions(ApiKey.OFFSET_FETCH):
        for label, who in {"stable": stable, "consumer": consumer, "simple": simple}.items():

            def base(who: Member = who, version: int = version) -> OffsetFetchRequest:
                return fetch_request(s, version, topic, who)

            s.ask(f"{label}: as it should be", base(), version)
            for mutation in mutations(base(), version, values=values):
                s.ask(f"{label}: {mutation.label}", mutation.apply(base()), version)


def fetch_request(s: Session, version: int, topic: str, who: Member) -> OffsetFetchRequest:
    if version < 8:
        asked = OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=[0, 1])
        return OffsetFetchRequest(group_id=who.group, topics=[asked])
    named: dict[str, Any] = {"topic_id": s.topic_id(topic)} if version >= 10 else {"name": topic}
    topics = [OffsetFetchRequest.OffsetFetchRequestTopics(**named, partition_indexes=[0, 1])]
    group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=who.group, topics=topics)
    if version >= 9 and who.id:
        group.member_id, group.member_epoch = who.id, who.generation
    return OffsetFetchRequest(groups=[group])


def delete(s: Session) -> None:
    topic = s.topic(2)
    stable = member(s)
    simple = Member(s.fresh("simple"), "", -1)
    s.coordinator(simple.group)
    Topic, Part = OffsetDeleteRequest.OffsetDeleteRequestTopic, OffsetDeleteRequest.OffsetDeleteRequestPartition
    values = {"group_id": ["", "no-such-group"], "partition_index": [-1, 1, 2]}
    for version in s.versions(ApiKey.OFFSET_DELETE):
        for label, who in {"stable": stable, "simple": simple}.items():
            s.do(commit_request(s, 9, topic, who), 9)

            def base(who: Member = who) -> OffsetDeleteRequest:
                return OffsetDeleteRequest(
                    group_id=who.group, topics=[Topic(name=topic, partitions=[Part(partition_index=0)])]
                )

            s.ask(f"{label}: as it should be", base(), version)
            s.ask(f"{label}: again", base(), version)
            for mutation in mutations(base(), version, values=values):
                s.ask(f"{label}: {mutation.label}", mutation.apply(base()), version)
            s.ask(f"{label}: what is left", fetch_request(s, 8, topic, who), 8)
