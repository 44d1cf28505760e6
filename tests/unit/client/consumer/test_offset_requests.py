"""The two requests in the shape of each version."""

from __future__ import annotations

import pytest

from tidelog.client.consumer.offset_requests import commit_request, fetch_request, group_of
from tidelog.client.values import ConsumerGroupMetadata, OffsetAndMetadata
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import OffsetCommitRequest, OffsetFetchRequest, OffsetFetchResponse

ME = ConsumerGroupMetadata("g", 4, "m", None)
T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


@pytest.mark.parametrize("version", range(2, 10))
def test_a_commit_survives_every_version(version: int) -> None:
    request = commit_request({T0: OffsetAndMetadata(7, 2, "x"), U0: OffsetAndMetadata(1)}, ME)
    read = OffsetCommitRequest.decode(request.encode(version), version)
    assert (read.group_id, read.generation_id_or_member_epoch, read.member_id) == ("g", 4, "m")
    found = {(t.name, entry.partition_index): entry.committed_offset for t in read.topics for entry in t.partitions}
    assert found == {("t", 0): 7, ("u", 0): 1}


@pytest.mark.parametrize("version", range(1, 10))
def test_a_fetch_survives_every_version(version: int) -> None:
    request = fetch_request([T0, T1, U0], ME, version, fenced=True)
    read = OffsetFetchRequest.decode(request.encode(version), version)
    group = read.groups[0] if version >= 8 else read
    assert group.group_id == "g"
    assert {topic.name: topic.partition_indexes for topic in group.topics} == {"t": [0, 1], "u": [0]}
    assert read.require_stable is (version >= 7)
    if version == 9:
        assert (group.member_id, group.member_epoch) == ("m", 4)


def test_only_who_is_fenced_says_who_it_is() -> None:
    group = fetch_request([T0], ME, 9, fenced=False).groups[0]
    assert (group.member_id, group.member_epoch) == (None, -1)


def test_the_groups_part_of_an_answer() -> None:
    many = OffsetFetchResponse(groups=[OffsetFetchResponse.OffsetFetchResponseGroup(group_id="g")])
    assert group_of(many, 8).group_id == "g"
    assert group_of(many, 7) is many
