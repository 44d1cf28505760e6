"""From what a user gives to a config: dicts, keywords, Python's values, mistakes, and what keys decide together."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from tidelog.client.config import admin, client_config, common, consumer, parse, producer
from tidelog.client.config.parsing import ClientConfig, ClientKeys
from tidelog.common.config import ConfigError, Key
from tidelog.common.errors import UsageError

BROKER = {"bootstrap.servers": "h:9092"}


def producing(**keywords: object) -> ClientConfig:
    return parse(producer.KEYS, BROKER, keywords)


def consuming(**keywords: object) -> ClientConfig:
    return parse(consumer.KEYS, BROKER, keywords)


def warnings(keys: ClientKeys, raw: dict[str, object], caplog: pytest.LogCaptureFixture) -> list[str]:
    with caplog.at_level(logging.WARNING, "tidelog.client"):
        parse(keys, {**BROKER, **raw})
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("keys", [producer.KEYS, consumer.KEYS, admin.KEYS])
def test_a_broker_must_be_named(keys: ClientKeys) -> None:
    with pytest.raises(UsageError, match=r"bootstrap\.servers is not set"):
        parse(keys, {})


def test_only_names_that_are_close_are_suggested() -> None:
    with pytest.raises(UsageError, match=r"there is no setting consumer_timeout_ms$"):
        consuming(consumer_timeout_ms=5)


@pytest.mark.parametrize("given", ["localhost:9092", ["localhost:9092"], 9092, ""])
def test_settings_are_a_dict_or_keywords(given: Any) -> None:
    with pytest.raises(UsageError, match=r"settings are a dict or keywords, not .*: bootstrap_servers="):
        parse(producer.KEYS, given, {})


def test_keywords_are_kafkas_names_with_underscores() -> None:
    config = parse(producer.KEYS, None, {"bootstrap_servers": ["a:1", "b:2"], "linger_ms": 20})
    assert config[common.BOOTSTRAP_SERVERS] == ["a:1", "b:2"]
    assert config[producer.LINGER_MS] == 20


def test_a_misspelt_keyword_is_an_error_with_the_right_one() -> None:
    with pytest.raises(UsageError, match=r"there is no setting linger: did you mean linger_ms\?"):
        producing(linger=20)
    with pytest.raises(UsageError, match=r"there is no setting quite_another$"):
        producing(quite_another=1)


def test_a_setting_cannot_be_given_twice() -> None:
    with pytest.raises(UsageError, match=r"bootstrap\.servers is given twice"):
        parse(producer.KEYS, BROKER, {"bootstrap_servers": "h:9093"})


def test_a_key_that_the_client_does_not_have_is_told(caplog: pytest.LogCaptureFixture) -> None:
    (text,) = warnings(producer.KEYS, {"fetch.max.wait.ms": "1"}, caplog)
    assert text == "the client key fetch.max.wait.ms is not known and has no effect"


def test_a_misspelt_key_is_told_with_the_right_one(caplog: pytest.LogCaptureFixture) -> None:
    (text,) = warnings(consumer.KEYS, {"fetch.min.byte": "1"}, caplog)
    assert text.endswith("fetch.min.byte is not known and has no effect: did you mean fetch.min.bytes?")


def test_a_key_that_means_something_to_java_alone_says_so(caplog: pytest.LogCaptureFixture) -> None:
    (text,) = warnings(consumer.KEYS, {"metric.reporters": ""}, caplog)
    assert text == "the client key metric.reporters has no effect here: metrics are read by metrics()"


def test_what_is_known_is_taken_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    assert warnings(consumer.KEYS, {"group.id": "g", "isolation.level": "read_committed"}, caplog) == []


def test_others_keys_are_handed_on() -> None:
    config = parse(producer.KEYS, {**BROKER, "my.key": 7}, {"linger_ms": 1})
    assert config.originals == {**BROKER, "my.key": 7, "linger.ms": 1}


def test_pythons_values_are_taken_as_they_are() -> None:
    def handler() -> str:
        return "token"

    interceptor = object()
    config = producing(
        interceptor_classes=[interceptor, "a:B"],
        sasl_login_callback_handler_class=handler,
        enable_idempotence=True,
        key_serializer=str,
    )
    assert config[producer.INTERCEPTOR_CLASSES] == [interceptor, "a:B"]
    assert config[producer.KEY_SERIALIZER] is str
    assert producing(interceptor_classes=interceptor)[producer.INTERCEPTOR_CLASSES] == [interceptor]
    assert producing(interceptor_classes="a:B, c:D")[producer.INTERCEPTOR_CLASSES] == ["a:B", "c:D"]


@pytest.mark.parametrize("value", ["x", 1.5, "3000000000", -1])
def test_a_value_that_cannot_be_names_its_key(value: object) -> None:
    with pytest.raises(ConfigError, match=r"batch\.size"):
        producing(batch_size=value)


def test_a_shared_key_has_the_default_of_the_client_that_it_is_read_for() -> None:
    assert producing()[common.RECEIVE_BUFFER_BYTES] == 32_768
    assert consuming()[common.RECEIVE_BUFFER_BYTES] == 65_536
    assert parse(admin.KEYS, BROKER)[common.CONNECTIONS_MAX_IDLE_MS] == 300_000
    assert producing()[common.CONNECTIONS_MAX_IDLE_MS] == 540_000


def test_whole_batches_are_larger() -> None:
    config = client_config(BROKER)
    assert config[producer.BATCH_SIZE] == 1_000_000
    assert config[consumer.MAX_PARTITION_FETCH_BYTES] == 8 << 20


# --- what keys decide together ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "against", [{"acks": "1"}, {"acks": 0}, {"retries": 0}, {"max_in_flight_requests_per_connection": 6}]
)
def test_idempotence_gives_way_unless_it_was_asked_for(against: dict[str, object]) -> None:
    assert producing()[producer.ENABLE_IDEMPOTENCE] is True
    assert producing(**against)[producer.ENABLE_IDEMPOTENCE] is False
    with pytest.raises(ConfigError, match="to use the idempotent producer"):
        producing(**against, enable_idempotence=True)
    with pytest.raises(ConfigError, match=r"Cannot set a transactional\.id without also enabling idempotence"):
        producing(**against, transactional_id="t")


def test_a_record_has_the_time_to_be_sent_once() -> None:
    assert producing(request_timeout_ms=130_000)[producer.DELIVERY_TIMEOUT_MS] == 130_005
    with pytest.raises(ConfigError, match=r"linger\.ms \+ request\.timeout\.ms \(30005\)"):
        producing(delivery_timeout_ms=30_004)
    assert producing(delivery_timeout_ms=30_005)[producer.DELIVERY_TIMEOUT_MS] == 30_005


def test_without_a_group_nothing_is_committed() -> None:
    assert consuming()[consumer.ENABLE_AUTO_COMMIT] is False
    assert consuming(group_id="g")[consumer.ENABLE_AUTO_COMMIT] is True
    with pytest.raises(ConfigError, match=r"without a group\.id"):
        consuming(enable_auto_commit=True)


@pytest.mark.parametrize(
    ("protocol", "setting"),
    [
        ("consumer", {"session_timeout_ms": 10_000}),
        ("Consumer", {"heartbeat_interval_ms": 1_000}),
        ("consumer", {"partition_assignment_strategy": "range"}),
        ("classic", {"group_remote_assignor": "uniform"}),
    ],
)
def test_each_group_protocol_has_keys_that_the_other_refuses(protocol: str, setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=rf"cannot be set when group\.protocol={protocol.upper()}"):
        consuming(group_id="g", group_protocol=protocol, **setting)
    other = "classic" if protocol.lower() == "consumer" else "consumer"
    assert consuming(group_id="g", group_protocol=other, **setting)[consumer.GROUP_PROTOCOL] == other


def test_a_member_reports_more_often_than_it_is_missed() -> None:
    with pytest.raises(ConfigError, match=r"must be lower than session\.timeout\.ms"):
        consuming(group_id="g", session_timeout_ms=3_000)


@pytest.mark.parametrize("value", ["earliest", "latest", "none", "by_duration:PT10M", "by_duration:P1DT2H3M4.5S"])
def test_where_to_begin(value: str) -> None:
    assert consuming(auto_offset_reset=value)[consumer.AUTO_OFFSET_RESET] == value


@pytest.mark.parametrize("value", ["smallest", "by_duration", "by_duration:", "by_duration:P", "by_duration:PT", "10m"])
def test_where_not_to_begin(value: str) -> None:
    with pytest.raises(ConfigError, match=r"auto\.offset\.reset"):
        consuming(auto_offset_reset=value)


def test_a_long_first_wait_is_the_longest() -> None:
    config = producing(retry_backoff_ms=5_000, reconnect_backoff_ms=2_000)
    assert config[common.RETRY_BACKOFF_MAX_MS] == 5_000
    assert config[common.RECONNECT_BACKOFF_MAX_MS] == 2_000
    assert producing(retry_backoff_ms=5_000, retry_backoff_max_ms=100)[common.RETRY_BACKOFF_MAX_MS] == 100


def test_every_constant_is_a_key_of_its_client() -> None:
    for module in (common, producer, consumer, admin):
        constants = {key.name for key in vars(module).values() if isinstance(key, Key)}
        assert constants, module
        assert constants <= set(module.KEYS.keys)
