"""The Admin on our own broker: everything that it serves; and what it does not, said plainly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvloop
from confluent_kafka import Producer as ConfluentProducer

from support import group_members
from tidelog import aio
from tidelog.admin import (
    DEFAULT,
    HIGH_WATERMARK,
    Append,
    ConfigResource,
    ConfigSource,
    ConfigType,
    GroupState,
    GroupType,
    NewTopic,
    OffsetSpec,
    QuotaEntity,
    Replica,
    ScramCredential,
    ScramDeletion,
    ScramMechanism,
    ScramUpsertion,
    TransactionState,
)
from tidelog.client.admin.blocking import Admin
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition as TP
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    home = tmp_path_factory.mktemp("admin")
    with Broker(home / "one", config={"log.dirs": f"{home / 'one'},{home / 'two'}"}) as running:
        yield running


@pytest.fixture(scope="module")
def admin(broker: Broker) -> Iterator[Admin]:
    with Admin(bootstrap_servers=broker.address) as running:
        yield running


@pytest.fixture
def orders(admin: Admin, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("_", "-")
    admin.create_topic(name, partitions=2)
    return name


def fill(broker: Broker, name: str, count: int, **settings: object) -> None:
    producer = ConfluentProducer({"bootstrap.servers": broker.address, **settings})
    for number in range(count):
        producer.produce(name, str(number), partition=0, timestamp=1_000_000 + number)
    assert producer.flush(60) == 0


def code(found: object) -> ErrorCode:
    assert isinstance(found, KafkaError)
    return found.code


def test_topics(admin: Admin, orders: str) -> None:
    made = admin.create_topics([NewTopic("fresh", 3, configs={"retention.ms": 1000}), orders])
    assert (made.of("fresh").partitions, made.of("fresh").topic_id) == (3, admin.list_topics()["fresh"].topic_id)
    assert code(made[orders]) is ErrorCode.TOPIC_ALREADY_EXISTS
    assert admin.create_topic(orders, exists_ok=True).partitions == 2
    found = admin.describe_topics([orders, "missing"], ids=[made.of("fresh").topic_id])
    assert [(p.partition, p.leader, p.isr) for p in found.of(orders).partitions] == [(0, 1, (1,)), (1, 1, (1,))]
    assert found.of(made.of("fresh").topic_id).name == "fresh"
    assert code(found["missing"]) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert admin.create_topic("maybe", 4, validate_only=True).partitions == 4
    assert {"fresh", orders} <= set(admin.topics())
    assert "maybe" not in admin.topics()
    admin.delete_topic("fresh")
    with pytest.raises(KafkaError, match=r"topics\(\) lists what there is"):
        admin.delete_topic("fresh")
    admin.delete_topic("fresh", missing_ok=True)


def test_partitions(admin: Admin, orders: str) -> None:
    assert admin.create_partitions({orders: 3}).result() == {orders: None}
    assert len(admin.describe_topic(orders).partitions) == 3
    tp = TP(orders, 0)
    assert code(admin.elect_leaders([tp])[tp]) is ErrorCode.ELECTION_NOT_NEEDED
    assert admin.elect_leaders() == {}
    assert admin.alter_partition_reassignments({tp: [1]}).result() == {tp: None}
    assert admin.list_partition_reassignments() == {}


def test_offsets_and_records(admin: Admin, broker: Broker, orders: str) -> None:
    fill(broker, orders, 10)
    tp = TP(orders, 0)
    assert admin.end_offsets([tp, TP(orders, 1)]) == {tp: 10, TP(orders, 1): 0}
    assert admin.list_offsets({tp: datetime.fromtimestamp(1_000.004, UTC)}).of(tp)[:2] == (4, 1_000_004)
    assert admin.list_offsets({tp: OffsetSpec.MAX_TIMESTAMP}).of(tp).offset == 9
    assert admin.delete_records({tp: 3}).result() == {tp: 3}
    assert admin.beginning_offsets([tp]) == {tp: 3}
    assert admin.delete_records({tp: HIGH_WATERMARK}).result() == {tp: 10}


def test_configs(admin: Admin, orders: str) -> None:
    resource = ConfigResource.topic(orders)
    admin.alter_config(resource, {"retention.ms": 5000, "cleanup.policy": Append("compact")})
    found = admin.describe_config(resource, synonyms=True, documentation=True)
    assert (found["retention.ms"].value, found["retention.ms"].source) == ("5000", ConfigSource.DYNAMIC_TOPIC)
    assert found["cleanup.policy"].value == "delete,compact"
    assert found["retention.ms"].documentation
    admin.alter_config(resource, {"retention.ms": None})
    assert admin.describe_config(resource, keys=["retention.ms"])["retention.ms"].is_default
    with pytest.raises(KafkaError, match=r"retention\.ms"):
        admin.alter_config(resource, {"retention.ms": "soon"}, validate_only=True)
    broker = ConfigResource.broker(1)
    admin.alter_config(broker, {"log.cleaner.backoff.ms": 20_000})
    assert admin.describe_config(broker)["log.cleaner.backoff.ms"].source is ConfigSource.DYNAMIC_BROKER
    assert resource in admin.list_config_resources([ConfigType.TOPIC])


def test_groups_and_their_offsets(admin: Admin, broker: Broker, orders: str) -> None:
    tp, other = TP(orders, 0), TP(orders, 1)
    altered = admin.alter_consumer_group_offsets("simple", {tp: OffsetAndMetadata(5, 0, "half"), other: 7})
    assert altered.result() == {tp: None, other: None}
    assert admin.group_offsets("simple") == {tp: OffsetAndMetadata(5, 0, "half"), other: OffsetAndMetadata(7)}
    assert admin.list_consumer_group_offsets({"simple": [tp, TP(orders, 9)]}).of("simple")[TP(orders, 9)] is None
    assert admin.delete_consumer_group_offsets("simple", [other]).result() == {other: None}
    assert admin.describe_consumer_group("simple").is_simple
    group_members.join_consumer(broker.address, "new", orders)
    described = admin.describe_consumer_groups(["new", "simple"])
    assert described.of("new").type is GroupType.CONSUMER
    assert set(described.of("new").members[0].assignment) == {tp, other}
    assert described.of("simple").type is GroupType.CLASSIC
    assert {"new", "simple"} <= set(admin.groups())
    assert admin.list_groups(states=[GroupState.EMPTY])["simple"].state is GroupState.EMPTY
    assert code(admin.delete_consumer_groups(["new"])["new"]) is ErrorCode.NON_EMPTY_GROUP
    group_members.leave_consumer(broker.address, "new")
    assert admin.delete_consumer_groups(["new", "simple"]).result() == {"new": None, "simple": None}


def test_transactions(admin: Admin, broker: Broker, orders: str) -> None:
    tp = TP(orders, 0)
    producer = ConfluentProducer({"bootstrap.servers": broker.address, "transactional.id": "job"})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(orders, b"x", partition=0)
    producer.flush(60)
    (state,) = admin.describe_producers([tp]).of(tp)
    assert state.transaction_start_offset == 0
    described = admin.describe_transactions(["job"]).of("job")
    assert (described.state, described.partitions) == (TransactionState.ONGOING, frozenset([tp]))
    assert [each.transactional_id for each in admin.list_transactions(states=[TransactionState.ONGOING])] == ["job"]
    assert admin.fence_producers(["job"]).of("job").producer_id == state.producer_id
    assert admin.describe_producers([tp]).of(tp)[0].transaction_start_offset is None


def test_the_cluster(admin: Admin, broker: Broker, orders: str, tmp_path: Path) -> None:
    cluster = admin.describe_cluster()
    assert [node.port for node in cluster.nodes] == [broker.port]
    assert cluster.controller == cluster.nodes[0]
    assert admin.describe_features().finalized["transaction.version"].high == 2
    found = admin.describe_log_dirs().of(1)
    assert len(found) == 2
    replica = Replica(orders, 0, 1)
    place = admin.describe_replica_log_dirs([replica]).of(replica).current
    assert place in found
    assert code(admin.alter_replica_log_dirs({replica: str(tmp_path)})[replica]) is ErrorCode.LOG_DIR_NOT_FOUND
    other = (set(found) - {place}).pop()
    assert admin.alter_replica_log_dirs({replica: other}).result() == {replica: None}


def test_quotas_and_users(admin: Admin) -> None:
    alice, everybody = QuotaEntity(user="alice"), QuotaEntity(user=DEFAULT)
    admin.alter_client_quotas({alice: {"producer_byte_rate": 10.0}, everybody: {"producer_byte_rate": 5.0}}).result()
    assert admin.describe_client_quotas(user="alice") == {alice: {"producer_byte_rate": 10.0}}
    assert set(admin.describe_client_quotas()) == {alice, everybody}
    admin.alter_client_quotas({alice: {"producer_byte_rate": None}}).result()
    assert set(admin.describe_client_quotas()) == {everybody}
    admin.alter_user_scram_credentials([ScramUpsertion("bob", "secret")]).result()
    found = admin.describe_user_scram_credentials(["bob", "carol"])
    assert found.of("bob") == (ScramCredential(ScramMechanism.SCRAM_SHA_256, 4096),)
    assert code(found["carol"]) is ErrorCode.RESOURCE_NOT_FOUND
    admin.alter_user_scram_credentials([ScramDeletion("bob")]).result()
    assert admin.describe_user_scram_credentials() == {}
    assert "secret" not in repr(ScramUpsertion("bob", "secret"))


def test_what_the_broker_does_not_have_is_said(admin: Admin) -> None:
    with pytest.raises(KafkaError) as raised:
        admin.describe_share_groups(["g"]).result()
    assert raised.value.code is ErrorCode.UNSUPPORTED_VERSION
    assert "this cluster is too old for it, or does not offer it" in raised.value.message


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_on_any_loop(broker: Broker, make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    async def scenario() -> None:
        async with aio.Admin(bootstrap_servers=broker.address) as admin:
            names = [f"{make_loop.__module__}-{number}" for number in range(5)]
            made = await asyncio.gather(*(admin.create_topic(name) for name in names))
            assert [topic.name for topic in made] == names
            assert set(names) <= set(await admin.topics())
            (await admin.delete_topics(names)).result()

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(scenario())
