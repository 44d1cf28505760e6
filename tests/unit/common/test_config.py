"""Configuration: typed values, Kafka's ranges, and answers that say what is allowed."""

from __future__ import annotations

import pytest

from tidelog.common.config import ConfigDef, ConfigError, Type, at_least, between, format_value, one_of, subset_of

KEYS = ConfigDef("example")
BYTES = KEYS.define("segment.bytes", Type.INT, 1 << 30, at_least(1 << 20), doc="Size of a segment file.")
RATIO = KEYS.define("ratio", Type.DOUBLE, 0.5, between(0, 1))
POLICY = KEYS.define("cleanup.policy", Type.LIST, ["delete"], subset_of("delete", "compact"))
KIND = KEYS.define("kind", Type.STRING, "a", one_of("a", "b"))
FLAG = KEYS.define("flag", Type.BOOLEAN, False)


def test_defaults_and_explicit_values() -> None:
    config = KEYS.parse({"segment.bytes": "2097152", "flag": "TRUE", "typo.key": "1"})
    assert config[BYTES] == 2097152
    assert config[FLAG] is True
    assert config[RATIO] == 0.5
    assert config.explicit == {"segment.bytes", "flag"}
    assert config.unknown == ("typo.key",)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("segment.bytes", "12", "at least 1048576"),
        ("segment.bytes", "many", "type INT"),
        ("segment.bytes", str(2**31), "type INT"),
        ("segment.bytes", "1_0", "type INT"),
        ("ratio", "1.5", "between 0 and 1"),
        ("cleanup.policy", "delete,shred", "among: delete, compact"),
        ("kind", "c", "one of: a, b"),
        ("flag", "yes", "true or false"),
    ],
)
def test_wrong_values_say_what_is_allowed(name: str, value: str, allowed: str) -> None:
    with pytest.raises(ConfigError, match=allowed) as caught:
        KEYS.parse({name: value})
    assert name in str(caught.value)


def test_lists_and_text_forms() -> None:
    assert KEYS.parse({"cleanup.policy": " compact , delete "})[POLICY] == ["compact", "delete"]
    assert format_value(Type.LIST, ["compact", "delete"]) == "compact,delete"
    assert format_value(Type.BOOLEAN, True) == "true"
    assert format_value(Type.STRING, None) is None


def test_a_key_is_declared_once() -> None:
    with pytest.raises(ValueError, match="twice"):
        KEYS.define("flag", Type.BOOLEAN, True)


def test_reference_page_names_every_key() -> None:
    page = KEYS.markdown()
    assert all(f"`{key.name}`" in page for key in KEYS)
