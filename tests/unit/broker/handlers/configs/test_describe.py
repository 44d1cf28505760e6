"""What a config is, and where its value comes from."""

from __future__ import annotations

from support.admin_requests import (
    CONFIG_BROKER,
    CONFIG_TOPIC,
    DELETE,
    SET,
    alter,
    create,
    describe,
    value_of,
)


def test_a_topic_config_shows_its_sources(ask):
    create(ask, "configured", configs=[("segment.ms", "1000")])
    entry = value_of(describe(ask, CONFIG_TOPIC, "configured"), "segment.ms")
    assert (entry.value, entry.config_source, entry.config_type) == ("1000", 1, 5)
    assert [(s.name, s.value, s.source) for s in entry.synonyms] == [("segment.ms", "1000", 1)]
    assert entry.documentation
    only = describe(ask, CONFIG_TOPIC, "configured", ["segment.ms", "retention.ms"])
    assert {entry.name for entry in only.configs} == {"segment.ms", "retention.ms"}


def test_passwords_are_never_shown(ask):
    assert alter(ask, CONFIG_BROKER, "1", ("ssl.keystore.password", SET, "secret")).error_code == 0
    entry = value_of(describe(ask, CONFIG_BROKER, "1"), "ssl.keystore.password")
    assert (entry.value, entry.is_sensitive) == (None, True)
    assert all(synonym.value is None for synonym in entry.synonyms)
    alter(ask, CONFIG_BROKER, "1", ("ssl.keystore.password", DELETE, None))


def test_a_broker_shows_the_id_that_it_found_for_itself(ask):
    result = describe(ask, CONFIG_BROKER, "1")
    assert [value_of(result, name).value for name in ("node.id", "broker.id")] == ["1", "1"]
    assert value_of(result, "node.id").config_source == 4
