"""A client leaves at every await of its request: what it asked for is done, or was not begun; never half of it.

Every handler that awaits has a case here or is named among the readers; one without fails the test. A case is run with
a client that stays (what "done" looks like), then again and again with one that leaves a step later each time, until it
is answered first. Store, metadata, configs and logs must be those of before or those of done, and a restart must find
the same.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support.hang_ups import Leave, ask
from support.loop import async_test, until
from support.wire import batch, produce_request
from tidelog.broker.handlers import HANDLERS, load
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.protocol.message import Structure
from tidelog.records.format.attributes import Codec

READERS = {
    *(ApiKey.FETCH, ApiKey.OFFSET_FETCH, ApiKey.DESCRIBE_GROUPS, ApiKey.LIST_GROUPS, ApiKey.DESCRIBE_CONFIGS),
    *(ApiKey.DESCRIBE_CLIENT_QUOTAS, ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, ApiKey.DESCRIBE_QUORUM),
    *(ApiKey.DESCRIBE_TRANSACTIONS, ApiKey.LIST_TRANSACTIONS, ApiKey.CONSUMER_GROUP_DESCRIBE),
    *(ApiKey.LIST_CONFIG_RESOURCES, ApiKey.PUSH_TELEMETRY),  # what is pushed is checked and dropped
}
THEN = 1_700_000_000_000
#: More steps than any request takes.
MANY = 60


async def nothing(broker: Broker, name: str) -> Any:
    return None


class Case(NamedTuple):
    """`name` is unlike any other, and part of whatever the request touches."""

    key: ApiKey
    version: int
    request: Callable[[str, Any], Any]
    """(name, what `prepare` returned) → the request."""
    prepare: Callable[[Broker, str], Awaitable[Any]] = nothing
    look: Callable[[Broker, str], Awaitable[Any]] = nothing
    """What only a request can tell of the state."""
    durable: bool = True
    """Whether a restart finds the same; members of groups come and go."""
    fresh: bool = False
    """Whether each try needs a broker of its own."""
    label: str = ""

    def __str__(self) -> str:
        return f"{self.key.name}{self.label}".lower()


# -- requests --------------------------------------------------------------------------------------------------------


def new_topic(name: str, partitions: int = 2, **configs: str) -> m.CreateTopicsRequest:
    made = [
        m.CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
        for key, value in configs.items()
    ]
    topic = m.CreateTopicsRequest.CreatableTopic
    return m.CreateTopicsRequest(
        topics=[topic(name=name, num_partitions=partitions, replication_factor=1, configs=made)]
    )


async def a_topic(broker: Broker, name: str) -> None:
    answer = await ask(broker, new_topic(name, retention_ms="100000"), 7)
    assert answer.topics[0].error_code == 0


async def an_eager_topic(broker: Broker, name: str) -> None:
    """One that is synced with every append."""
    await ask(broker, new_topic(name, flush_messages="1"), 7)


async def a_full_topic(broker: Broker, name: str) -> None:
    await a_topic(broker, name)
    answer = await ask(broker, produce_request({name: {0: batch(b"a", b"b", b"c", timestamp=THEN)}}), 9)
    assert answer.responses[0].partition_responses[0].error_code == 0


def altered(kind: int, name: str, key: str) -> m.AlterConfigsRequest:
    config = m.AlterConfigsRequest.AlterableConfig(name=key, value="70000")
    resource = m.AlterConfigsRequest.AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
    return m.AlterConfigsRequest(resources=[resource])


def incremental(kind: int, name: str, key: str, value: str = "70000") -> m.IncrementalAlterConfigsRequest:
    request = m.IncrementalAlterConfigsRequest
    config = request.AlterableConfig(name=key, config_operation=0, value=value)
    return request(resources=[request.AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])])


def quota(name: str) -> m.AlterClientQuotasRequest:
    request = m.AlterClientQuotasRequest
    entity = [request.EntityData(entity_type=kind, entity_name=name) for kind in ("user", "client-id")]
    ops = [request.OpData(key="producer_byte_rate", value=1000.0)]
    return request(entries=[request.EntryData(entity=entity, ops=ops)])


def credential(name: str) -> m.AlterUserScramCredentialsRequest:
    request = m.AlterUserScramCredentialsRequest
    return request(
        upsertions=[
            request.ScramCredentialUpsertion(
                name=name, mechanism=1, iterations=4096, salt=b"salt", salted_password=b"password"
            )
        ]
    )


def grown(name: str) -> m.CreatePartitionsRequest:
    topic = m.CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=40, assignments=None)
    return m.CreatePartitionsRequest(topics=[topic])


def deleted(name: str) -> m.DeleteTopicsRequest:
    return m.DeleteTopicsRequest(topics=[m.DeleteTopicsRequest.DeleteTopicState(name=name)])


def shortened(name: str) -> m.DeleteRecordsRequest:
    request = m.DeleteRecordsRequest
    partition = request.DeleteRecordsPartition(partition_index=0, offset=2)
    return request(topics=[request.DeleteRecordsTopic(name=name, partitions=[partition])], timeout_ms=5000)


def elected(name: str) -> m.ElectLeadersRequest:
    partitions = m.ElectLeadersRequest.TopicPartitions(topic=name, partitions=[0, 1])
    return m.ElectLeadersRequest(election_type=0, topic_partitions=[partitions])


def packed(name: str) -> Any:
    """A batch that is unpacked on a thread before it is appended."""
    values = [bytes([number % 251]) * 300 + bytes(range(200)) for number in range(80)]
    return produce_request({name: {0: batch(*values, codec=Codec.LZ4, timestamp=THEN)}}, acks=-1)


# -- groups ----------------------------------------------------------------------------------------------------------


async def the_groups_topic(broker: Broker, name: str) -> None:
    answer = await ask(broker, m.FindCoordinatorRequest(key=name, key_type=0), 3)
    assert answer.error_code == 0


async def a_topic_and_groups(broker: Broker, name: str) -> None:
    await a_topic(broker, name)
    await the_groups_topic(broker, name)


def committed(name: str, offset: int = 7) -> m.OffsetCommitRequest:
    request = m.OffsetCommitRequest
    partitions = [
        request.OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, committed_metadata="")
        for index in (0, 1)
    ]
    topics = [request.OffsetCommitRequestTopic(name=name, partitions=partitions)]
    return request(group_id=name, generation_id_or_member_epoch=-1, topics=topics)


async def a_committed_group(broker: Broker, name: str) -> None:
    await a_topic_and_groups(broker, name)
    answer = await ask(broker, committed(name), 8)
    assert answer.topics[0].partitions[0].error_code == 0


async def offsets_of(broker: Broker, name: str) -> Any:
    topics = [m.OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=[0, 1])]
    answer = await ask(broker, m.OffsetFetchRequest(group_id=name, topics=topics), 7)
    return [(p.committed_offset, p.error_code) for topic in answer.topics for p in topic.partitions]


async def group_state(broker: Broker, name: str) -> Any:
    group = (await ask(broker, m.DescribeGroupsRequest(groups=[name]), 5)).groups[0]
    return group.group_state, len(group.members), group.protocol_data


def joined(name: str) -> m.JoinGroupRequest:
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"m")
    return m.JoinGroupRequest(
        group_id=name,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[protocol],
    )


async def a_joined_member(broker: Broker, name: str) -> Any:
    await the_groups_topic(broker, name)
    answer = await ask(broker, joined(name), 3)
    assert answer.error_code == 0
    return answer


async def a_stable_member(broker: Broker, name: str) -> Any:
    member = await a_joined_member(broker, name)
    assert (await ask(broker, synced(name, member), 3)).error_code == 0
    return member


def synced(name: str, member: Any) -> m.SyncGroupRequest:
    assignment = m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"a")
    return m.SyncGroupRequest(
        group_id=name, generation_id=member.generation_id, member_id=member.member_id, assignments=[assignment]
    )


def new_consumer(name: str) -> m.ConsumerGroupHeartbeatRequest:
    return m.ConsumerGroupHeartbeatRequest(
        group_id=name,
        member_id="member",
        member_epoch=0,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=[name],
        topic_partitions=[],
    )


async def consumer_group_state(broker: Broker, name: str) -> Any:
    group = (await ask(broker, m.ConsumerGroupDescribeRequest(group_ids=[name]), 1)).groups[0]
    return group.error_code, group.group_state, group.group_epoch, len(group.members)


def forgotten_offsets(name: str) -> m.OffsetDeleteRequest:
    request = m.OffsetDeleteRequest
    partitions = [request.OffsetDeleteRequestPartition(partition_index=index) for index in (0, 1)]
    return request(group_id=name, topics=[request.OffsetDeleteRequestTopic(name=name, partitions=partitions)])


# -- transactions ----------------------------------------------------------------------------------------------------


def init(name: str) -> m.InitProducerIdRequest:
    return m.InitProducerIdRequest(
        transactional_id=name, transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
    )


async def the_transactions_topic(broker: Broker, name: str) -> None:
    answer = await ask(broker, m.FindCoordinatorRequest(key=name, key_type=1), 3)
    assert answer.error_code == 0


async def a_producer(broker: Broker, name: str) -> Any:
    await a_topic_and_groups(broker, name)
    await the_transactions_topic(broker, name)
    answer = await ask(broker, init(name), 4)
    assert answer.error_code == 0
    return answer


async def an_open_transaction(broker: Broker, name: str) -> Any:
    producer = await a_producer(broker, name)
    answer = await ask(broker, added(name, producer), 3)
    results = answer.results_by_topic_v3_and_below[0].results_by_partition
    assert results[0].partition_error_code == 0
    records = batch(
        b"t",
        timestamp=THEN,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        transactional=True,
    )
    written = await ask(broker, produce_request({name: {0: records}}, acks=-1, transactional_id=name), 9)
    assert written.responses[0].partition_responses[0].error_code == 0
    return producer


async def a_transaction_with_a_group(broker: Broker, name: str) -> Any:
    producer = await a_producer(broker, name)
    assert (await ask(broker, added_group(name, producer), 3)).error_code == 0
    return producer


def added(name: str, producer: Any) -> m.AddPartitionsToTxnRequest:
    topic = m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=name, partitions=[0])
    return m.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[topic],
    )


def added_group(name: str, producer: Any) -> m.AddOffsetsToTxnRequest:
    return m.AddOffsetsToTxnRequest(
        transactional_id=name,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        group_id=name,
    )


def ended(name: str, producer: Any) -> m.EndTxnRequest:
    return m.EndTxnRequest(
        transactional_id=name,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=True,
    )


def committed_in_transaction(name: str, producer: Any) -> m.TxnOffsetCommitRequest:
    request = m.TxnOffsetCommitRequest
    partitions = [request.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)]
    return request(
        transactional_id=name,
        group_id=name,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[request.TxnOffsetCommitRequestTopic(name=name, partitions=partitions)],
    )


def marked(name: str, producer: Any) -> m.WriteTxnMarkersRequest:
    request = m.WriteTxnMarkersRequest
    topic = request.WritableTxnMarkerTopic(name=name, partition_indexes=[0])
    marker = request.WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        transaction_result=True,
        topics=[topic],
        coordinator_epoch=0,
    )
    return request(markers=[marker])


async def transaction_state(broker: Broker, name: str) -> Any:
    state = (await ask(broker, m.DescribeTransactionsRequest(transactional_ids=[name]), 0)).transaction_states[0]
    return (
        state.transaction_state,
        [(topic.topic.replace(name, "N"), topic.partitions) for topic in state.topics],
        state.producer_epoch,
    )


async def open_transactions(broker: Broker, name: str) -> Any:
    log = broker.log_manager.logs[TopicPartition(name, 0)]
    return log.last_stable_offset == log.high_watermark, await transaction_state(broker, name)


async def ended_transaction(broker: Broker, name: str) -> Any:
    """Its markers are written by a task of the coordinator, which may still be at it."""
    state = await transaction_state(broker, name)
    return "ended" if state[0] in ("PrepareCommit", "CompleteCommit") else state


# -- the table -------------------------------------------------------------------------------------------------------

TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
CASES = [
    Case(ApiKey.PRODUCE, 9, lambda name, _: packed(name), an_eager_topic),
    Case(
        ApiKey.METADATA,
        9,
        lambda name, _: m.MetadataRequest(
            topics=[m.MetadataRequest.MetadataRequestTopic(name=name)], allow_auto_topic_creation=True
        ),
    ),
    Case(ApiKey.OFFSET_COMMIT, 8, lambda name, _: committed(name), a_topic_and_groups, offsets_of),
    Case(ApiKey.OFFSET_COMMIT, 0, lambda name, _: committed(name), a_topic, label=" in the store"),
    Case(ApiKey.FIND_COORDINATOR, 3, lambda name, _: m.FindCoordinatorRequest(key=name, key_type=0), fresh=True),
    Case(ApiKey.JOIN_GROUP, 3, lambda name, _: joined(name), the_groups_topic, group_state, durable=False),
    Case(
        ApiKey.HEARTBEAT,
        3,
        lambda name, member: m.HeartbeatRequest(
            group_id=name, generation_id=member.generation_id, member_id=member.member_id
        ),
        a_stable_member,
        group_state,
    ),
    Case(
        ApiKey.LEAVE_GROUP,
        2,
        lambda name, member: m.LeaveGroupRequest(group_id=name, member_id=member.member_id),
        a_stable_member,
        group_state,
    ),
    Case(ApiKey.SYNC_GROUP, 3, synced, a_joined_member, group_state, durable=False),
    Case(ApiKey.CREATE_TOPICS, 7, lambda name, _: new_topic(name, 40, retention_ms="5")),
    Case(ApiKey.DELETE_TOPICS, 6, lambda name, _: deleted(name), a_topic),
    Case(ApiKey.DELETE_RECORDS, 2, lambda name, _: shortened(name), a_full_topic),
    Case(ApiKey.INIT_PRODUCER_ID, 4, lambda name, _: init(name), the_transactions_topic, transaction_state),
    Case(ApiKey.ADD_PARTITIONS_TO_TXN, 3, added, a_producer, transaction_state),
    Case(ApiKey.ADD_OFFSETS_TO_TXN, 3, added_group, a_producer, transaction_state),
    Case(ApiKey.END_TXN, 3, ended, an_open_transaction, ended_transaction, durable=False),
    Case(ApiKey.WRITE_TXN_MARKERS, 1, marked, an_open_transaction, open_transactions),
    Case(ApiKey.TXN_OFFSET_COMMIT, 3, committed_in_transaction, a_transaction_with_a_group, offsets_of),
    Case(ApiKey.ALTER_CONFIGS, 2, lambda name, _: altered(TOPIC, name, "segment.ms"), a_topic, label=" of a topic"),
    Case(  # the next one takes its place
        ApiKey.ALTER_CONFIGS,
        2,
        lambda name, _: altered(BROKER, "1", f"plugin.{name}"),
        durable=False,
        label=" of a broker",
    ),
    Case(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        lambda name, _: incremental(TOPIC, name, "segment.ms"),
        a_topic,
        label=" of a topic",
    ),
    Case(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        lambda name, _: incremental(BROKER, "", f"plugin.{name}"),
        label=" of all brokers",
    ),
    Case(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        lambda name, _: incremental(GROUP, name, "consumer.session.timeout.ms", "50000"),
        label=" of a group",
    ),
    Case(
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        1,
        lambda name, _: incremental(METRICS, name, "interval.ms"),
        label=" of client metrics",
    ),
    Case(ApiKey.CREATE_PARTITIONS, 3, lambda name, _: grown(name), a_topic),
    Case(
        ApiKey.DELETE_GROUPS,
        2,
        lambda name, _: m.DeleteGroupsRequest(groups_names=[name]),
        a_committed_group,
        offsets_of,
    ),
    Case(ApiKey.ELECT_LEADERS, 2, lambda name, _: elected(name), a_topic),
    Case(ApiKey.OFFSET_DELETE, 0, lambda name, _: forgotten_offsets(name), a_committed_group, offsets_of),
    Case(ApiKey.ALTER_CLIENT_QUOTAS, 1, lambda name, _: quota(name)),
    Case(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, lambda name, _: credential(name)),
    Case(
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        1,
        lambda name, _: new_consumer(name),
        a_topic_and_groups,
        consumer_group_state,
        durable=False,
    ),
]


def test_every_handler_that_awaits_has_a_case():
    awaiting = {row.key for row in HANDLERS if inspect.iscoroutinefunction(load(row.target))}
    cases = {case.key for case in CASES}
    assert not cases & READERS
    assert cases | READERS == awaiting


# -- the state -------------------------------------------------------------------------------------------------------


def values(path: Path) -> dict[str, str]:
    return {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(path),
        "node.id": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "true",
    }


def picture(broker: Broker, name: str) -> dict[str, Any]:
    """Everything about `name` (and the internal topics' being there), with ids and the name itself taken out."""
    assert broker._own_store is not None
    tree = broker._own_store.tree.nodes
    topics = [topic for topic in broker.metadata.topics if name in topic]
    logs = broker.log_manager.logs
    return {
        "store": {path.replace(name, "N"): _plain(node.data, name) for path, node in tree.items() if name in path},
        "doomed": [path for path in tree if path.startswith("/admin/delete_topics/")],
        "layers": {
            key.replace(name, "N"): text
            for layer in (broker.config.dynamic_broker, broker.config.dynamic_default)
            for key, text in layer.items()
            if name in key
        },
        "stored layers": sorted(
            text
            for path, node in tree.items()
            if path.startswith("/config/brokers/")
            for text in re.findall(rf'"plugin\.{name}":"\d+"', node.data.decode().replace(" ", ""))
        )
        != [],
        "topics": {
            topic.replace(name, "N"): (
                [state.leader for state in broker.metadata.topics[topic].partitions],
                dict(broker.configs.overrides(topic)),
                len(broker.replicas.topic(topic)),
            )
            for topic in topics
        },
        "configs in force": all(
            partition.log.config.segment_ms == broker.configs.log_config(topic).segment_ms
            for topic in topics
            for partition in broker.replicas.topic(topic).values()
        ),
        "ids agree": all(
            partition.topic_id == broker.metadata.topics[topic].topic_id
            for topic in topics
            for partition in broker.replicas.topic(topic).values()
        ),
        "logs": {
            str(tp).replace(name, "N"): (log.log_start_offset, log.high_watermark, log.log_end_offset)
            for tp, log in logs.items()
            if name in tp.topic
        },
        "directories": sorted(
            path.name.replace(name, "N")
            for path in Path(broker.config.log_dirs[0]).iterdir()
            if name in path.name and not path.name.endswith("-delete")
        ),
        "internal": {
            topic: (path_count(tree, topic), broker.metadata.partition_count(topic))
            for topic in ("__consumer_offsets", "__transaction_state")
        },
    }


def path_count(tree: Any, topic: str) -> int:
    return sum(path.startswith(f"/brokers/topics/{topic}/") for path in tree)


def _plain(data: bytes, name: str) -> str:
    return re.sub(r'"topic_id": ?"[^"]*"', '"topic_id"', data.decode()).replace(name, "N")


def codes(answer: Any) -> Iterator[int]:
    """Every error code in an answer, wherever it is: a case whose request is refused would prove nothing."""
    for field in answer._schema_.fields:
        found = getattr(answer, field.name)
        if field.name.endswith("error_code"):
            yield found
        for inner in found if isinstance(found, list) else [found]:
            if isinstance(inner, Structure):
                yield from codes(inner)


# -- the test --------------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    name: str
    picture: dict[str, Any]
    seen: Any


async def _look(broker: Broker, case: Case, name: str) -> Outcome:
    return Outcome(name, picture(broker, name), await case.look(broker, name))


async def _try(broker: Broker, case: Case, name: str, leave: Leave | None) -> tuple[Outcome, Outcome, Any]:
    made = await case.prepare(broker, name)
    before = await _look(broker, case, name)
    answer = await ask(broker, case.request(name, made), case.version, leave)
    return before, await _look(broker, case, name), answer


@pytest.mark.parametrize("in_store", [False, True], ids=["awaits", "store"])
@pytest.mark.parametrize("case", CASES, ids=str)
@async_test
async def test_done_or_not_begun(tmp_path, case, in_store):
    if case.fresh:
        await _with_fresh_brokers(tmp_path, case, in_store)
        return
    outcomes = []
    async with Broker(values(tmp_path)) as broker:
        _, done, answer = await _try(broker, case, "xstayx", None)
        assert all(code in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED) for code in codes(answer)), answer
        for number in range(MANY):
            leave = Leave(number, in_store=in_store)
            before, after, _ = await _try(broker, case, f"x{number}x", leave)
            assert after[1:] in (before[1:], done[1:]), f"leaving at step {number}"
            outcomes.append(after)
            if not leave.left:
                assert after[1:] == done[1:]
                break
        else:
            raise AssertionError("the request never came to its end")
        assert broker.failure is None
    if case.durable:
        async with Broker(values(tmp_path)) as broker:
            await until(lambda: not broker.coordinators.group.runtime.loading)
            await until(lambda: not broker.coordinators.transaction.runtime.loading)
            for outcome in outcomes:
                assert picture(broker, outcome.name) == outcome.picture
                assert await case.look(broker, outcome.name) == outcome.seen


REFUSED = {
    "create topics": (new_topic("no/name"), 7),
    "create partitions": (grown("unknown"), 3),
    "delete topics": (deleted("unknown"), 6),
    "alter configs": (incremental(TOPIC, "unknown", "segment.ms"), 1),
    "alter configs of a group": (incremental(GROUP, "g", "no.such.key"), 1),
}


@pytest.mark.parametrize(("request_", "version"), REFUSED.values(), ids=REFUSED)
@async_test
async def test_what_is_refused_after_its_client_left_is_no_failure(tmp_path, caplog, request_, version):
    async with Broker(values(tmp_path)) as broker:
        others = asyncio.Event()
        before = asyncio.create_task(broker.changes.run("what comes before", others.wait))
        await until(lambda: len(broker.changes) == 1)
        leave = Leave(0)
        asked = asyncio.create_task(ask(broker, request_, version, leave))
        try:
            await until(lambda: leave.left and not len(broker.network.dispatcher))
        finally:
            others.set()
        await asyncio.gather(before, asked)
        gc.collect()
        assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def _with_fresh_brokers(tmp_path: Path, case: Case, in_store: bool) -> None:
    async with Broker(values(tmp_path / "stay")) as broker:
        before, done, _ = await _try(broker, case, "xstayx", None)
    for number in range(MANY):
        leave = Leave(number, in_store=in_store)
        async with Broker(values(tmp_path / str(number))) as broker:
            _, after, _ = await _try(broker, case, f"x{number}x", leave)
            assert after[1:] in (before[1:], done[1:]), f"leaving at step {number}"
        async with Broker(values(tmp_path / str(number))) as broker:
            assert picture(broker, after.name) == after.picture
        if not leave.left:
            break
