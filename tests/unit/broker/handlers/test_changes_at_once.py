"""Several clients change the cluster at the same time: nothing acknowledged is lost, nothing is left over."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from support.loop import async_test, until
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.uuids import ZERO_UUID
from tidelog.net.node_client import NodeClient
from tidelog.protocol import messages as m

TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32


@asynccontextmanager
async def serving(path, clients: int = 2):
    """A broker and so many connections to it."""
    values = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(path)}
    async with Broker(values) as broker:
        nodes = [await NodeClient.connect("127.0.0.1", broker.endpoints[0].port) for _ in range(clients)]
        try:
            yield broker, nodes
        finally:
            for node in nodes:
                await node.close()


def new(name: str) -> m.CreateTopicsRequest:
    topic = m.CreateTopicsRequest.CreatableTopic
    return m.CreateTopicsRequest(topics=[topic(name=name, num_partitions=1, replication_factor=1)])


def gone(*, name: str | None = None, topic_id: bytes = ZERO_UUID) -> m.DeleteTopicsRequest:
    state = m.DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=topic_id)
    return m.DeleteTopicsRequest(topics=[state])


def setting(kind: int, name: str, **values: str) -> m.IncrementalAlterConfigsRequest:
    request = m.IncrementalAlterConfigsRequest
    configs = [
        request.AlterableConfig(name=key.replace("_", "."), config_operation=0, value=value)
        for key, value in values.items()
    ]
    return request(resources=[request.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)])


async def set_of(node: NodeClient, kind: int, name: str) -> dict[str, str | None]:
    """What is set for a resource itself, without defaults."""
    resource = m.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None
    )
    result = (await node.send(m.DescribeConfigsRequest(resources=[resource]))).results[0]
    assert result.error_code == 0
    return {entry.name: entry.value for entry in result.configs if entry.config_source in (1, 2, 3, 7, 8)}


TOPIC_VALUES = {
    "retention.ms": "1000000",
    "segment.ms": "1000001",
    "flush.ms": "1000002",
    "max.message.bytes": "1000003",
    "index.interval.bytes": "1000004",
    "file.delete.delay.ms": "1000005",
    "delete.retention.ms": "1000006",
    "retention.bytes": "1000007",
}
GROUP_VALUES = {
    "consumer.session.timeout.ms": "46000",
    "consumer.heartbeat.interval.ms": "5100",
    "share.session.timeout.ms": "47000",
    "share.heartbeat.interval.ms": "5200",
}
METRICS_VALUES = {"interval.ms": "1000", "metrics": "org.apache", "match": "client_id=x"}


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [
        (TOPIC, "shared", TOPIC_VALUES),
        (BROKER, "", {f"log.{key}": value for key, value in list(TOPIC_VALUES.items())[:1]} | {"log.roll.ms": "9999"}),
        (BROKER, "1", {"log.segment.bytes": "2000000", "log.retention.ms": "10", "log.index.interval.bytes": "99"}),
        (GROUP, "g", GROUP_VALUES),
        (METRICS, "m", METRICS_VALUES),
    ],
    ids=["topic", "all brokers", "broker", "group", "client metrics"],
)
@async_test
async def test_no_acknowledged_config_is_lost(tmp_path, kind, name, values):
    async with serving(tmp_path, len(values)) as (_, nodes):
        await nodes[0].send(new("shared"))
        answers = await asyncio.gather(
            *(
                node.send(setting(kind, name, **{key.replace(".", "_"): value}))
                for node, (key, value) in zip(nodes, values.items(), strict=True)
            )
        )
        assert [answer.responses[0].error_code for answer in answers] == [0] * len(values)
        assert values.items() <= (await set_of(nodes[0], kind, name)).items()
    async with serving(tmp_path) as (_, nodes):
        assert values.items() <= (await set_of(nodes[0], kind, name)).items()


@async_test
async def test_no_acknowledged_quota_or_credential_is_lost(tmp_path):
    Q, S = m.AlterClientQuotasRequest, m.AlterUserScramCredentialsRequest
    keys = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")

    def quota(key):
        entity = [Q.EntityData(entity_type="user", entity_name="u")]
        return Q(entries=[Q.EntryData(entity=entity, ops=[Q.OpData(key=key, value=100.0)])])

    def credential(mechanism):
        new = S.ScramCredentialUpsertion(
            name="u", mechanism=mechanism, iterations=4096, salt=b"s", salted_password=b"p"
        )
        return S(upsertions=[new])

    async with serving(tmp_path, 6) as (_, nodes):
        wanted = [*map(quota, keys), credential(1), credential(2)]
        await asyncio.gather(*(node.send(request) for node, request in zip(nodes, wanted, strict=True)))
        quotas = (await nodes[0].send(m.DescribeClientQuotasRequest(components=[]))).entries
        assert {value.key for value in quotas[0].values} == set(keys)
        users = (await nodes[0].send(m.DescribeUserScramCredentialsRequest(users=None))).results
        assert [info.mechanism for info in users[0].credential_infos] == [1, 2]


@async_test
async def test_a_change_of_configs_beside_a_deletion_leaves_nothing(tmp_path):
    async with serving(tmp_path) as (broker, (one, other)):
        for round in range(10):
            name = f"t{round}"
            assert (await one.send(new(name))).topics[0].error_code == 0
            deleted, changed = await asyncio.gather(
                one.send(gone(name=name)), other.send(setting(TOPIC, name, retention_ms="5"))
            )
            assert deleted.responses[0].error_code == 0
            assert changed.responses[0].error_code in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            assert await broker.store.exists(f"/config/topics/{name}") is None
            assert (await one.send(new(name))).topics[0].error_code == 0
            assert await set_of(one, TOPIC, name) == {}
    async with serving(tmp_path) as (broker, (one, _)):
        assert (await one.send(gone(name="t0"))).responses[0].error_code == 0
        assert (await one.send(new("t0"))).topics[0].error_code == 0


@async_test
async def test_configs_without_a_topic_do_not_keep_its_name(tmp_path):
    """As stores have them that an earlier version left."""
    async with serving(tmp_path) as (broker, (one, _)):
        await broker.store.create("/config/topics/old", b'{"version":1,"config":{"retention.ms":"5"}}')
        topic = m.CreateTopicsRequest.CreatableTopic
        both = [topic(name=name, num_partitions=1, replication_factor=1) for name in ("old", "new")]
        answer = await one.send(m.CreateTopicsRequest(topics=both))
        assert [made.error_code for made in answer.topics] == [0, 0]
        assert await set_of(one, TOPIC, "old") == {}


@async_test
async def test_one_name_that_the_store_refuses_does_not_hold_back_the_others(tmp_path):
    async with serving(tmp_path) as (broker, (one, _)):
        await broker.store.create("/brokers/topics/odd", b"{}")
        topic = m.CreateTopicsRequest.CreatableTopic
        wanted = [topic(name=name, num_partitions=1, replication_factor=1) for name in ("a", "odd", "b")]
        answer = await one.send(m.CreateTopicsRequest(topics=wanted))
        codes = {made.name: made.error_code for made in answer.topics}
        assert codes == {"a": 0, "odd": ErrorCode.TOPIC_ALREADY_EXISTS, "b": 0}
        assert set(broker.metadata.topics) == {"a", "b"}


@async_test
async def test_an_id_means_that_topic_and_not_a_newer_one_of_its_name(tmp_path):
    async with serving(tmp_path, 3) as (broker, (one, other, third)):
        for _ in range(10):
            old = (await one.send(new("t"))).topics[0].topic_id
            deleted, made, again = await asyncio.gather(
                one.send(gone(name="t")), other.send(new("t")), third.send(gone(topic_id=old))
            )
            results = (deleted.responses[0].error_code, made.topics[0].error_code, again.responses[0].error_code)
            if made.topics[0].error_code == 0:
                assert results == (0, 0, ErrorCode.UNKNOWN_TOPIC_ID)
                assert broker.metadata.topic_id("t") == made.topics[0].topic_id
                await one.send(gone(name="t"))
            else:
                assert sorted((results[0], results[2])) in (
                    [0, ErrorCode.UNKNOWN_TOPIC_ID],
                    [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
                )
                await one.send(gone(name="t"))
            assert "t" not in broker.metadata.topics


@async_test
async def test_a_change_whose_effect_fails_ends_the_broker(tmp_path, caplog):
    async with serving(tmp_path) as (broker, (one, _)):

        def fail(*_):
            raise RuntimeError("no effect")

        broker.replicas.apply_leader_and_isr = fail
        answer = await one.send(new("t"))
        assert answer.topics[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert "it is in the store, but could not be carried out" in caplog.text
        assert isinstance(broker.failure, RuntimeError)
        await asyncio.wait_for(broker.wait_ended(), 60)


@async_test
async def test_a_stop_waits_for_the_change_under_way_and_refuses_others(tmp_path):
    async with serving(tmp_path) as (broker, (one, _)):
        inner = broker.store.multi
        begun, go_on = asyncio.Event(), asyncio.Event()

        async def slow(operations):
            begun.set()
            await go_on.wait()
            return await inner(operations)

        broker.store.multi = slow
        asking = asyncio.ensure_future(one.send(new("t")))
        await begun.wait()
        stopping = asyncio.ensure_future(broker.stop())
        await asyncio.wait([asking], timeout=60)  # its connection is closed
        await until(lambda: broker.changes._stopped)
        await asyncio.wait([stopping], timeout=0.5)
        assert not stopping.done()
        with pytest.raises(KafkaError, match="stopping"):
            await broker.changes.run("too late", lambda: asyncio.sleep(0))
        go_on.set()
        await stopping
        assert asking.exception() is not None
    async with serving(tmp_path) as (broker, _):
        assert "t" in broker.metadata.topics
