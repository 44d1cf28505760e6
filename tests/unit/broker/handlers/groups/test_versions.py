"""Every version of every group and transaction API, over the wire, against a broker in this process."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvloop

from scenarios.coordinator.driver import encode_subscription
from tidelog.broker.handlers import handler_for
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request

SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "node.id": "1",
}


class Wire:
    """A broker and a connection to it, on an event loop of their own."""

    def __init__(self, home: Path) -> None:
        self.runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self.broker = self.runner.run(self._start(home))

    async def _start(self, home: Path) -> Broker:
        broker = Broker({**SETTINGS, "log.dirs": str(home)})
        await broker.start()
        host, port = broker.address.split(":")
        self.reader, self.writer = await asyncio.open_connection(host, int(port))
        return broker

    def call(self, key: ApiKey, version: int, request: Any) -> Any:
        return self.runner.run(self.exchange(key, version, request))

    async def exchange(self, key: ApiKey, version: int, request: Any) -> Any:
        self.writer.write(encode_request(key, version, 7, "client", request))
        (size,) = struct.unpack(">i", await asyncio.wait_for(self.reader.readexactly(4), 60))
        return decode_response(key, version, await self.reader.readexactly(size))[1]

    def close(self) -> None:
        async def stop() -> None:
            self.writer.close()
            await self.writer.wait_closed()
            await self.broker.stop()

        self.runner.run(stop())
        self.runner.close()


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    wire = Wire(tmp_path_factory.mktemp("broker"))
    topic = m.CreateTopicsRequest.CreatableTopic(name="a", num_partitions=3, replication_factor=1)
    wire.call(ApiKey.CREATE_TOPICS, 4, m.CreateTopicsRequest(topics=[topic], timeout_ms=5000))
    for key_type in (0, 1):
        wire.call(ApiKey.FIND_COORDINATOR, 2, m.FindCoordinatorRequest(key="x", key_type=key_type))
    yield wire
    wire.close()


def versions(key: ApiKey, first: int = 0) -> list[int]:
    row = handler_for(key)
    assert row is not None
    return list(range(max(first, row.min_version), row.max_version + 1))


@pytest.mark.parametrize("version", versions(ApiKey.FIND_COORDINATOR))
@pytest.mark.parametrize("key_type", [0, 1, 2])
def test_find_coordinator(wire: Wire, version: int, key_type: int) -> None:
    if version < 1 and key_type:
        return
    request = m.FindCoordinatorRequest(key_type=key_type)
    if version >= 4:
        request.coordinator_keys = ["g", "h"]
    else:
        request.key = "g"
    response = wire.call(ApiKey.FIND_COORDINATOR, version, request)
    found = response.coordinators if version >= 4 else [response]
    for coordinator in found:
        if key_type == 2:
            assert coordinator.error_code == ErrorCode.INVALID_REQUEST
        else:
            assert (coordinator.error_code, coordinator.node_id, coordinator.host) == (0, 1, "127.0.0.1")


def join(wire: Wire, group: str, version: int) -> Any:
    """Join as one version's client would; returns the answer that counts."""
    request = m.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=encode_subscription(["a"]))],
    )
    if version >= 1:
        request.rebalance_timeout_ms = 10_000
    response = wire.call(ApiKey.JOIN_GROUP, version, request)
    if version >= 4:
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
        request.member_id = response.member_id
        response = wire.call(ApiKey.JOIN_GROUP, version, request)
    assert response.error_code == 0
    return response


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
def test_a_member_of_each_version(wire: Wire, version: int) -> None:
    group = f"join-{version}"
    joined = join(wire, group, version)
    assert joined.generation_id == 1
    assert joined.leader == joined.member_id
    assert joined.protocol_name == "range"
    assert len(joined.members) == 1
    sync_version = min(version, 5)
    sync = m.SyncGroupRequest(
        group_id=group,
        generation_id=1,
        member_id=joined.member_id,
        assignments=[m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"\0\1mine")],
    )
    if sync_version >= 5:
        refused = wire.call(ApiKey.SYNC_GROUP, sync_version, sync)
        assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        sync.protocol_type, sync.protocol_name = "consumer", "range"
    synced = wire.call(ApiKey.SYNC_GROUP, sync_version, sync)
    assert (synced.error_code, bytes(synced.assignment)) == (0, b"\0\1mine")
    beat = m.HeartbeatRequest(group_id=group, generation_id=1, member_id=joined.member_id)
    assert wire.call(ApiKey.HEARTBEAT, min(version, 4), beat).error_code == 0
    beat.generation_id = 9
    assert wire.call(ApiKey.HEARTBEAT, min(version, 4), beat).error_code == ErrorCode.ILLEGAL_GENERATION
    leave_version = min(version, 5)
    leave = m.LeaveGroupRequest(group_id=group)
    if leave_version >= 3:
        leave.members = [
            m.LeaveGroupRequest.MemberIdentity(member_id=member) for member in (joined.member_id, "nobody")
        ]
    else:
        leave.member_id = joined.member_id
    left = wire.call(ApiKey.LEAVE_GROUP, leave_version, leave)
    assert left.error_code == 0
    if leave_version >= 3:
        assert [member.error_code for member in left.members] == [0, ErrorCode.UNKNOWN_MEMBER_ID]


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
def test_join_errors_are_encoded_in_every_version(wire: Wire, version: int) -> None:
    request = m.JoinGroupRequest(group_id="", session_timeout_ms=10_000, protocol_type="consumer")
    assert wire.call(ApiKey.JOIN_GROUP, version, request).error_code == ErrorCode.INVALID_GROUP_ID
    request = m.JoinGroupRequest(group_id="e", session_timeout_ms=1, protocol_type="consumer")
    assert wire.call(ApiKey.JOIN_GROUP, version, request).error_code == ErrorCode.INVALID_SESSION_TIMEOUT


@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP))
def test_leaving_a_group_that_is_none(wire: Wire, version: int) -> None:
    request = m.LeaveGroupRequest(group_id="none")
    if version >= 3:
        request.members = [m.LeaveGroupRequest.MemberIdentity(member_id="x")]
        response = wire.call(ApiKey.LEAVE_GROUP, version, request)
        assert (response.error_code, response.members[0].error_code) == (0, ErrorCode.UNKNOWN_MEMBER_ID)
    else:
        request.member_id = "x"
        assert wire.call(ApiKey.LEAVE_GROUP, version, request).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def commit(wire: Wire, group: str, version: int, offset: int, topic: str = "a") -> list[int]:
    partition = m.OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=1, committed_offset=offset, committed_metadata="note"
    )
    entry = m.OffsetCommitRequest.OffsetCommitRequestTopic(partitions=[partition])
    if version >= 10:
        entry.topic_id = wire.broker.metadata.topic_id(topic) or bytes(15) + b"\1"
        if topic != "a":
            entry.topic_id = bytes(15) + b"\7"
    else:
        entry.name = topic
    response = wire.call(ApiKey.OFFSET_COMMIT, version, m.OffsetCommitRequest(group_id=group, topics=[entry]))
    return [partition.error_code for topic in response.topics for partition in topic.partitions]


def fetch(wire: Wire, group: str, version: int, everything: bool = False) -> list[tuple[int, str, int]]:
    request = m.OffsetFetchRequest()
    if version < 8:
        request.group_id = group
        request.topics = (
            None if everything else [m.OffsetFetchRequest.OffsetFetchRequestTopic(name="a", partition_indexes=[1, 2])]
        )
        response = wire.call(ApiKey.OFFSET_FETCH, version, request)
        topics = response.topics
    else:
        topic = m.OffsetFetchRequest.OffsetFetchRequestTopics(partition_indexes=[1, 2])
        if version >= 10:
            topic.topic_id = wire.broker.metadata.topic_id("a")
        else:
            topic.name = "a"
        request.groups = [
            m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None if everything else [topic])
        ]
        topics = wire.call(ApiKey.OFFSET_FETCH, version, request).groups[0].topics
    return [
        (partition.committed_offset, partition.metadata, partition.error_code)
        for topic in topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT))
def test_commit_and_fetch(wire: Wire, version: int) -> None:
    group = f"commit-{version}"
    assert commit(wire, group, version, 40 + version) == [0]
    unknown = ErrorCode.UNKNOWN_TOPIC_ID if version >= 10 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(wire, group, version, 1, "missing") == [unknown]
    found = fetch(wire, group, version)
    if version == 0:
        assert found == [(40, "", 0), (-1, "", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
        assert fetch(wire, group, 5) == [(-1, "", 0), (-1, "", 0)]  # the store and the topic are two worlds
    else:
        assert found == [(40 + version, "note", 0), (-1, "", 0)]
        assert fetch(wire, group, 2, everything=True) == found[:1]
        if version >= 2:
            assert fetch(wire, group, version, everything=True) == found[:1]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH, 8))
def test_fetch_of_several_groups(wire: Wire, version: int) -> None:
    commit(wire, "several-1", 7, 1)
    commit(wire, "several-2", 7, 2)
    groups = [
        m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=name, topics=None)
        for name in ("several-1", "several-2", "several-3")
    ]
    response = wire.call(ApiKey.OFFSET_FETCH, version, m.OffsetFetchRequest(groups=groups, require_stable=True))
    assert [group.group_id for group in response.groups] == ["several-1", "several-2", "several-3"]
    assert [[p.committed_offset for t in group.topics for p in t.partitions] for group in response.groups] == [
        [1],
        [2],
        [],
    ]


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS))
def test_describe(wire: Wire, version: int) -> None:
    commit(wire, "described", 7, 1)
    request = m.DescribeGroupsRequest(groups=["described", "unknown"])
    if version >= 3:
        request.include_authorized_operations = True
    first, second = wire.call(ApiKey.DESCRIBE_GROUPS, version, request).groups
    assert (first.group_state, first.error_code) == ("Empty", 0)
    assert second.group_state == "Dead"
    assert second.error_code == (ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else 0)
    if version >= 6:
        assert second.error_message == "Group unknown not found."
    if version >= 3:
        assert first.authorized_operations > 0


@pytest.mark.parametrize("version", versions(ApiKey.LIST_GROUPS))
def test_list(wire: Wire, version: int) -> None:
    commit(wire, "listed", 7, 1)
    request = m.ListGroupsRequest()
    response = wire.call(ApiKey.LIST_GROUPS, version, request)
    assert "listed" in {group.group_id for group in response.groups}
    if version >= 4:
        request.states_filter = ["sTaBlE"]
        assert "listed" not in {group.group_id for group in wire.call(ApiKey.LIST_GROUPS, version, request).groups}
    if version >= 5:
        request.states_filter, request.types_filter = ["empty"], ["Classic"]
        assert "listed" in {group.group_id for group in wire.call(ApiKey.LIST_GROUPS, version, request).groups}


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_GROUPS))
def test_delete(wire: Wire, version: int) -> None:
    commit(wire, "deleted", 7, 1)
    request = m.DeleteGroupsRequest(groups_names=["deleted", "unknown", ""])
    codes = [entry.error_code for entry in wire.call(ApiKey.DELETE_GROUPS, version, request).results]
    assert codes == [0, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.GROUP_ID_NOT_FOUND]
    assert fetch(wire, "deleted", 7) == [(-1, "", 0), (-1, "", 0)]


def test_offset_delete(wire: Wire) -> None:
    commit(wire, "trimmed", 7, 1)
    topics = [
        m.OffsetDeleteRequest.OffsetDeleteRequestTopic(
            name=name, partitions=[m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=1)]
        )
        for name in ("a", "missing")
    ]
    response = wire.call(ApiKey.OFFSET_DELETE, 0, m.OffsetDeleteRequest(group_id="trimmed", topics=topics))
    assert [p.error_code for t in response.topics for p in t.partitions] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert fetch(wire, "trimmed", 7) == [(-1, "", 0), (-1, "", 0)]
    unknown = wire.call(ApiKey.OFFSET_DELETE, 0, m.OffsetDeleteRequest(group_id="nobody"))
    assert unknown.error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("version", versions(ApiKey.CONSUMER_GROUP_HEARTBEAT))
def test_consumer_groups(wire: Wire, version: int) -> None:
    request = m.ConsumerGroupHeartbeatRequest(
        group_id=f"kip848-{version}",
        member_id="m1" if version else "",
        member_epoch=0,
        rebalance_timeout_ms=5000,
        subscribed_topic_names=["a"],
        topic_partitions=[],
    )
    joined = wire.call(ApiKey.CONSUMER_GROUP_HEARTBEAT, version, request)
    assert (joined.error_code, joined.member_epoch) == (0, 2)
    assert joined.assignment.topic_partitions[0].partitions == [0, 1, 2]
    described = wire.call(
        ApiKey.CONSUMER_GROUP_DESCRIBE, version, m.ConsumerGroupDescribeRequest(group_ids=[request.group_id, "no"])
    )
    first, second = described.groups
    assert (first.group_state, first.assignor_name, len(first.members)) == ("Stable", "uniform", 1)
    assert first.members[0].assignment.topic_partitions[0].topic_name == "a"
    assert second.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    request.server_assignor = "other"
    refused = wire.call(ApiKey.CONSUMER_GROUP_HEARTBEAT, version, request)
    assert (refused.error_code, "uniform" in refused.error_message) == (ErrorCode.UNSUPPORTED_ASSIGNOR, True)


# -- transactions --------------------------------------------------------------------------------------------------


def init(wire: Wire, name: str | None, version: int = 1, **fields: int) -> Any:
    request = m.InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000, **fields)
    return wire.call(ApiKey.INIT_PRODUCER_ID, version, request)


@pytest.mark.parametrize("version", versions(ApiKey.INIT_PRODUCER_ID))
def test_init_producer_id(wire: Wire, version: int) -> None:
    plain = init(wire, None, version)
    assert (plain.error_code, plain.producer_epoch) == (0, 0)
    assert init(wire, "", version).error_code == ErrorCode.INVALID_REQUEST
    first = init(wire, f"init-{version}", version)
    second = init(wire, f"init-{version}", version)
    assert (first.producer_id, first.producer_epoch) == (second.producer_id, 0)
    assert second.producer_epoch == 1
    if version >= 3:
        fenced = init(wire, f"init-{version}", version, producer_id=first.producer_id, producer_epoch=0)
        assert fenced.error_code == (ErrorCode.PRODUCER_FENCED if version >= 4 else ErrorCode.INVALID_PRODUCER_EPOCH)


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_of_each_version(wire: Wire, version: int, committed: bool) -> None:
    name, group = f"txn-{version}-{committed}", f"txn-group-{version}-{committed}"
    identity = init(wire, name)
    pid, epoch = identity.producer_id, identity.producer_epoch
    topics = [m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="a", partitions=[0, 1])]
    if version < 4:
        request = m.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=name,
            v3_and_below_producer_id=pid,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=topics,
        )
        added = wire.call(ApiKey.ADD_PARTITIONS_TO_TXN, version, request)
        results = added.results_by_topic_v3_and_below
    else:
        request = m.AddPartitionsToTxnRequest(
            transactions=[
                m.AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
                    transactional_id=name, producer_id=pid, producer_epoch=epoch, verify_only=verify, topics=topics
                )
                for verify in (False, True)
            ]
        )
        added = wire.call(ApiKey.ADD_PARTITIONS_TO_TXN, version, request)
        assert len(added.results_by_transaction) == 2
        results = [topic for entry in added.results_by_transaction for topic in entry.topic_results]
    assert {p.partition_error_code for topic in results for p in topic.results_by_partition} == {0}
    if version < 5:
        offsets = m.AddOffsetsToTxnRequest(transactional_id=name, producer_id=pid, producer_epoch=epoch, group_id=group)
        assert wire.call(ApiKey.ADD_OFFSETS_TO_TXN, min(version, 4), offsets).error_code == 0
    partition = m.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
        partition_index=1, committed_offset=77, committed_metadata="t"
    )
    offsets_commit = m.TxnOffsetCommitRequest(
        transactional_id=name,
        group_id=group,
        producer_id=pid,
        producer_epoch=epoch,
        topics=[m.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name="a", partitions=[partition])],
    )
    response = wire.call(ApiKey.TXN_OFFSET_COMMIT, version, offsets_commit)
    assert [p.error_code for t in response.topics for p in t.partitions] == [0]
    assert fetch(wire, group, 7)[0][0] == -1
    described = wire.call(
        ApiKey.DESCRIBE_TRANSACTIONS, 0, m.DescribeTransactionsRequest(transactional_ids=[name, "no"])
    )
    assert described.transaction_states[0].transaction_state == "Ongoing"
    assert {topic.topic for topic in described.transaction_states[0].topics} == {"a", "__consumer_offsets"}
    assert described.transaction_states[1].error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    end = m.EndTxnRequest(transactional_id=name, producer_id=pid, producer_epoch=epoch, committed=committed)
    ended = wire.call(ApiKey.END_TXN, version, end)
    assert ended.error_code == 0
    assert (ended.producer_id, ended.producer_epoch) == ((pid, epoch + 1) if version >= 5 else (-1, -1))
    wait_for_offset(wire, group, 77 if committed else -1)


def wait_for_offset(wire: Wire, group: str, offset: int) -> None:
    """The markers follow the answer; a stable fetch waits for them."""
    for _ in range(200):
        topic = m.OffsetFetchRequest.OffsetFetchRequestTopic(name="a", partition_indexes=[1])
        request = m.OffsetFetchRequest(group_id=group, topics=[topic], require_stable=True)
        partition = wire.call(ApiKey.OFFSET_FETCH, 7, request).topics[0].partitions[0]
        if partition.error_code != ErrorCode.UNSTABLE_OFFSET_COMMIT:
            break
    assert (partition.error_code, partition.committed_offset) == (0, offset)


@pytest.mark.parametrize("version", versions(ApiKey.ADD_PARTITIONS_TO_TXN)[:4])
def test_unknown_partitions_stop_the_others(wire: Wire, version: int) -> None:
    identity = init(wire, "unknown-partition")
    request = m.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="unknown-partition",
        v3_and_below_producer_id=identity.producer_id,
        v3_and_below_producer_epoch=identity.producer_epoch,
        v3_and_below_topics=[m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="a", partitions=[0, 99])],
    )
    results = wire.call(ApiKey.ADD_PARTITIONS_TO_TXN, version, request).results_by_topic_v3_and_below
    assert [p.partition_error_code for p in results[0].results_by_partition] == [
        ErrorCode.OPERATION_NOT_ATTEMPTED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


@pytest.mark.parametrize("version", versions(ApiKey.WRITE_TXN_MARKERS))
def test_write_markers(wire: Wire, version: int) -> None:
    topics = [
        m.WriteTxnMarkersRequest.WritableTxnMarkerTopic(name="a", partition_indexes=[0, 0]),
        m.WriteTxnMarkersRequest.WritableTxnMarkerTopic(name="missing", partition_indexes=[0]),
    ]
    marker = m.WriteTxnMarkersRequest.WritableTxnMarker(
        producer_id=987, producer_epoch=version, transaction_result=True, topics=topics, coordinator_epoch=1
    )
    response = wire.call(ApiKey.WRITE_TXN_MARKERS, version, m.WriteTxnMarkersRequest(markers=[marker]))
    codes = [p.error_code for topic in response.markers[0].topics for p in topic.partitions]
    assert codes == [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


@pytest.mark.parametrize("version", versions(ApiKey.LIST_TRANSACTIONS))
def test_list_transactions(wire: Wire, version: int) -> None:
    identity = init(wire, "to-list")

    def names(**filters: Any) -> set[str]:
        response = wire.call(ApiKey.LIST_TRANSACTIONS, version, m.ListTransactionsRequest(**filters))
        assert response.error_code == 0
        return {entry.transactional_id for entry in response.transaction_states}

    assert "to-list" in names()
    assert "to-list" in names(state_filters=["Empty", "Nonsense"])
    assert "to-list" not in names(state_filters=["Ongoing"])
    assert names(producer_id_filters=[identity.producer_id]) == {"to-list"}
    if version >= 2:
        assert names(transactional_id_pattern="to-.*") == {"to-list"}
