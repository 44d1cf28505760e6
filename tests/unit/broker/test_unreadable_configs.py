"""Config nodes that hold what nobody can use: each is named and passed over, everything else is served."""

from __future__ import annotations

import json

import pytest

from support.hang_ups import ask
from support.loop import async_test, until
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.broker.server import Broker
from tidelog.broker.store.errors import StoreError
from tidelog.protocol import messages as m

TOPIC, BROKER, METRICS, GROUP = 2, 4, 16, 32
SET, DELETE = 0, 1
SESSION = "consumer.session.timeout.ms"
#: Path of the node → how it is changed: (type, name, key, value).
NODES = {
    "/config/topics/t": (TOPIC, "t", "segment.ms", "70000"),
    "/config/brokers/1": (BROKER, "1", "log.cleaner.threads", "2"),
    "/config/brokers/<default>": (BROKER, "", "log.retention.ms", "70000"),
    "/config/groups/g": (GROUP, "g", SESSION, "50000"),
    "/config/client-metrics/m": (METRICS, "m", "interval.ms", "1000"),
}
GARBAGE = {"no JSON": b"{garbage", "no text": b"\xff\xfe", "no object": b"[1]", "no configs": b'{"config": 5}'}


def values(path):
    return {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(path),
        "node.id": "1",
        "offsets.topic.num.partitions": "1",
    }


async def put(broker, path, data):
    if await broker.store.exists(path) is None:
        await broker.store.create(path, data, make_parents=True)
    else:
        await broker.store.set(path, data)


async def alter(broker, kind, name, key, value, operation=SET):
    request = m.IncrementalAlterConfigsRequest
    config = request.AlterableConfig(name=key, config_operation=operation, value=value)
    resource = request.AlterConfigsResource(resource_type=kind, resource_name=name, configs=[config])
    return (await ask(broker, request(resources=[resource]), 1)).responses[0]


async def described(broker, kind, name):
    request = m.DescribeConfigsRequest
    resource = request.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
    result = (await ask(broker, request(resources=[resource]), 4)).results[0]
    assert result.error_code == 0
    return {entry.name: entry.value for entry in result.configs}


async def beat(broker, group_id, member_id):
    return await ask(
        broker,
        m.ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=0,
            rebalance_timeout_ms=30_000,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        ),
        1,
    )


@pytest.mark.parametrize("data", GARBAGE.values(), ids=GARBAGE)
@pytest.mark.parametrize(("path", "change"), NODES.items(), ids=NODES)
@async_test
async def test_a_start_names_what_it_cannot_read_and_the_next_change_writes_it_anew(
    tmp_path, path, change, data, caplog
):
    kind, name, key, value = change
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("t", 1, 1)])
        await put(broker, path, data)
    async with Broker(values(tmp_path)) as broker:
        await described(broker, kind, name)
        listed = await ask(broker, m.ListConfigResourcesRequest(), 1)
        assert listed.error_code == 0
        assert path in caplog.text
        assert (await alter(broker, kind, name, key, value)).error_code == 0
    caplog.clear()
    async with Broker(values(tmp_path)) as broker:
        assert (await described(broker, kind, name))[key] == value
        assert "ignored" not in caplog.text


@async_test
async def test_nothing_is_deleted_from_a_topic_whose_configs_cannot_be_read(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("t", 1, 1, configs={"retention.ms": "-1"})])
        await put(broker, "/config/topics/t", b"{garbage")
        await put(broker, "/config/topics/later", b"{garbage")
    async with Broker(values(tmp_path)) as broker:
        assert broker.configs.log_config("t").retention_ms == -1
        assert (await alter(broker, TOPIC, "t", "segment.ms", "70000")).error_code == 0
        assert broker.configs.log_config("t").retention_ms > 0, "set anew, it is known again"
        (made,) = await broker.controller.create_topics([NewTopic("later", 1, 1, configs={"retention.ms": "5"})])
        assert made.configs
        assert broker.configs.log_config("later").retention_ms == 5


@async_test
async def test_one_groups_bad_config_does_not_keep_the_others_from_being_loaded(tmp_path, caplog):
    async with Broker(values(tmp_path)) as broker:
        await broker.controller.create_topics([NewTopic("t", 1, 1)])
        await ask(broker, m.FindCoordinatorRequest(key="g", key_type=0), 3)
        for group_id in ("g", "other"):
            assert (await beat(broker, group_id, "one")).error_code == 0
        stored = {SESSION: "soon", "of.another.kafka": "1", "consumer.heartbeat.interval.ms": "6000"}
        await put(broker, "/config/groups/g", json.dumps({"version": 1, "config": stored}).encode())
    async with Broker(values(tmp_path)) as broker:
        await until(lambda: not broker.coordinators.group.runtime.loading)
        for group_id in ("g", "other"):
            answer = await beat(broker, group_id, "two")
            assert answer.error_code == 0
            assert answer.heartbeat_interval_ms == (6000 if group_id == "g" else 5000)
        assert "config of group g is ignored: Invalid value soon" in caplog.text
        assert (await described(broker, GROUP, "g"))[SESSION] == "45000"
        # The next change is not refused for it; what another Kafka set stays.
        assert (await alter(broker, GROUP, "g", "consumer.heartbeat.interval.ms", "7000")).error_code == 0
        kept = json.loads((await broker.store.get("/config/groups/g"))[0])["config"]
        assert kept == {"of.another.kafka": "1", "consumer.heartbeat.interval.ms": "7000"}


@async_test
async def test_quotas_and_credentials_are_described_without_those_that_cannot_be_read(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await put(broker, "/config/clients/bad", b"{garbage")
        await put(broker, "/config/clients/odd", b'{"config": {"producer_byte_rate": "x", "request_percentage": "5"}}')
        await put(
            broker, "/config/users/u", b'{"config": {"SCRAM-SHA-256": "garbage", "SCRAM-SHA-512": "iterations=9"}}'
        )
        quotas = (await ask(broker, m.DescribeClientQuotasRequest(components=[], strict=False), 1)).entries
        assert [(entry.entity[0].entity_name, [(v.key, v.value) for v in entry.values]) for entry in quotas] == [
            ("odd", [("request_percentage", 5.0)])
        ]
        users = (await ask(broker, m.DescribeUserScramCredentialsRequest(users=None), 0)).results
        assert [(user.user, [(i.mechanism, i.iterations) for i in user.credential_infos]) for user in users] == [
            ("u", [(2, 9)])
        ]


@async_test
async def test_a_bad_block_of_producer_ids_is_named(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await broker.store.set("/latest_producer_id_block", b'{"block_start": "x"}')
        with pytest.raises(StoreError, match="/latest_producer_id_block"):
            await broker.producer_ids.next()


# -- what is set no more ---------------------------------------------------------------------------------------------


async def quota(broker, entity, value):
    request = m.AlterClientQuotasRequest
    named = [request.EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    ops = [request.OpData(key="producer_byte_rate", value=value or 0.0, remove=value is None)]
    answer = await ask(broker, request(entries=[request.EntryData(entity=named, ops=ops)]), 1)
    assert answer.entries[0].error_code == 0


@async_test
async def test_an_entity_with_nothing_set_has_no_node(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        for kind, root, key in ((GROUP, "groups", SESSION), (METRICS, "client-metrics", "interval.ms")):
            for number in range(3):
                assert (await alter(broker, kind, f"n{number}", key, "50000")).error_code == 0
                assert (await alter(broker, kind, f"n{number}", key, None, DELETE)).error_code == 0
                assert (await alter(broker, kind, f"m{number}", key, None, DELETE)).error_code == 0
            assert await broker.store.children(f"/config/{root}") == []
        assert not broker.group_configs
        assert len(await broker.store.children("/config/changes")) <= 11


@async_test
async def test_a_quota_that_is_taken_away_takes_its_nodes_along_but_not_its_neighbours(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        await quota(broker, {"user": "u", "client-id": "a"}, 5.0)
        await quota(broker, {"user": "u", "client-id": "b"}, 5.0)
        await quota(broker, {"user": "u"}, 6.0)
        await quota(broker, {"user": "u", "client-id": "a"}, None)
        assert await broker.store.children("/config/users/u/clients") == ["b"]
        await quota(broker, {"user": "u"}, None)
        assert await broker.store.children("/config/users/u/clients") == ["b"]
        await quota(broker, {"user": "u"}, 6.0)
        await quota(broker, {"user": "u", "client-id": "b"}, None)
        assert await broker.store.children("/config/users/u") == []
        assert await broker.store.children("/config/users") == ["u"], "it has a quota of its own"
        await quota(broker, {"user": "u", "client-id": "b"}, 5.0)
        await quota(broker, {"user": "u"}, None)
        await quota(broker, {"user": "u", "client-id": "b"}, None)
        assert await broker.store.children("/config/users") == []


@async_test
async def test_a_change_is_not_refused_for_a_pool_that_it_leaves_as_it_is(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        for name, threads in (("", "5"), ("1", "10"), ("1", "20")):
            assert (await alter(broker, BROKER, name, "background.threads", threads)).error_code == 0
        assert (await alter(broker, BROKER, "", "log.retention.ms", "5000")).error_code == 0
        # Without its own value this broker would have the default's 5 threads: less than half.
        assert (await alter(broker, BROKER, "1", "background.threads", None, DELETE)).error_code == 42
        assert (await alter(broker, BROKER, "", "background.threads", "50")).error_code == 0, "it is not in force here"
