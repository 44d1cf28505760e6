"""A config name that was nearly right is answered with the right one, by the Admin as by the command."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tidelog import Admin, ErrorCode, KafkaError
from tidelog.admin import ConfigResource, NewTopic
from tidelog.client.admin.config_names import TOPIC_CONFIGS, meant, with_meant_name
from tidelog.common.errors import UsageError
from tidelog.log.config import TOPIC_KEYS
from tidelog.testing import Broker

#: Of Kafka 3 and before, and Kafka's own.
OLD = {
    "internal.segment.bytes",
    "message.downconversion.enable",
    "message.format.version",
    "message.timestamp.difference.max.ms",
}


@pytest.fixture(scope="module")
def admin() -> Iterator[Admin]:
    with Broker() as broker, Admin(bootstrap_servers=broker.address) as client:
        client.create_topic("orders")
        yield client


def test_the_names_are_those_of_todays_topics() -> None:
    assert set(TOPIC_KEYS.keys) - TOPIC_CONFIGS == OLD
    assert set(TOPIC_KEYS.keys) >= TOPIC_CONFIGS


@pytest.mark.parametrize(
    ("name", "right"),
    [("retention.mss", "retention.ms"), ("cleanup_policy", "cleanup.policy"), ("retention.ms", None), ("x", None)],
)
def test_the_nearest_name(name: str, right: str | None) -> None:
    assert meant([name], TOPIC_CONFIGS) == right


def test_a_topic_is_created_with_a_misspelt_config(admin: Admin) -> None:
    with pytest.raises(KafkaError, match=r"retention\.mss; did you mean retention\.ms\?$") as refused:
        admin.create_topic("other", configs={"segment.bytes": 1 << 20, "retention.mss": 5})
    assert refused.value.code is ErrorCode.INVALID_CONFIG
    made = admin.create_topics([NewTopic("good"), NewTopic("bad", configs={"cleanup_policy": "compact"})])
    assert list(made.ok) == ["good"]
    assert "did you mean cleanup.policy?" in str(made.failed["bad"])


def test_a_misspelt_config_is_altered(admin: Admin) -> None:
    orders = ConfigResource.topic("orders")
    with pytest.raises(KafkaError, match=r"did you mean retention\.ms\?$"):
        admin.alter_config(orders, {"retention.mss": 5})
    with pytest.raises(KafkaError, match=r"INVALID_CONFIG: (?!.*did you mean)"):
        admin.alter_config(orders, {"retention.ms": "a week"})


def test_only_configs_have_names() -> None:
    error = KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, "it is there")
    assert with_meant_name(error, ["retention.mss"], TOPIC_CONFIGS) is error


def test_a_misspelt_topic(admin: Admin) -> None:
    for call in (admin.describe_topic, admin.delete_topic):
        with pytest.raises(KafkaError, match=r"there is no topic ordres; did you mean orders\?$") as missing:
            call("ordres")
        assert missing.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        with pytest.raises(KafkaError, match=r"topics\(\) lists what there is\.$"):
            call("quite-another")


def test_a_name_is_no_resource(admin: Admin) -> None:
    with pytest.raises(UsageError, match=r"expected a ConfigResource, as ConfigResource\.topic\('orders'\)"):
        admin.alter_config("orders", {"retention.ms": 5})  # type: ignore[arg-type] # that is the point
