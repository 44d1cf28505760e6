"""Versions of Kafka and the message formats that they stand for."""

from __future__ import annotations

import pytest

from tidelog.common.config import ConfigError
from tidelog.log.config import LogConfig
from tidelog.log.message_format import magic_of, parse_version, stored_magic

BY_MAGIC = {
    0: ["0.8.0", "0.8.1", "0.8.2", "0.8.2.2", "0.9.0", "0.9.0.1"],
    1: ["0.10.0-IV0", "0.10.0-IV1", "0.10.0", "0.10.1-IV2", "0.10.1.0", "0.10.2", "0.10.2-IV0"],
    2: [
        "0.11.0-IV0",
        "0.11.0-IV2",
        "0.11.0",
        "1.0",
        "1.1-IV0",
        "2.0",
        "2.8",
        "2.8.1",
        "2.8-IV1",
        "3.0-IV1",
        "3.9",
        "4.1",
    ],
}


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_versions_name_formats(magic: int) -> None:
    assert {magic_of(parse_version(text)) for text in BY_MAGIC[magic]} == {magic}


def test_versions_rise() -> None:
    rising = ["0.8.0", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.2", "0.11.0-IV1", "0.11.0"]
    rising += ["1.0", "2.7-IV1", "2.7", "2.8-IV0", "2.8", "3.0-IV0", "3.0-IV1", "3.9-IV0", "4.0", "10.1"]
    versions = [parse_version(text) for text in rising]
    assert versions == sorted(set(versions))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2",
        "0.7.0",
        "0.10",
        "0.9.0-IV0",
        "2.8-IV2",
        "2.8-IV",
        "2.8-IVx",
        "3.10",
        "1.2",
        "x.y",
        "2.8-SNAPSHOT",
        "4",
        "4.0-IV",
        "4.x",
    ],
)
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid version"):
        parse_version(text)
    with pytest.raises(ConfigError, match=r"message\.format\.version"):
        LogConfig.from_topic({"message.format.version": text})


@pytest.mark.parametrize(
    ("protocol", "broker", "topic", "magic"),
    [
        (None, None, None, 2),
        (None, "0.9.0", "0.9.0", 2),
        ("3.0", "0.9.0", "0.9.0", 2),
        ("3.0-IV1", None, "0.10.2", 2),
        ("3.0-IV0", None, "0.10.2", 1),
        ("2.8", None, None, 2),
        ("2.8", None, "0.10.2", 1),
        ("2.8", None, "0.9.0", 0),
        ("2.8", "0.10.2", None, 1),
        ("2.8", "0.10.2", "0.9.0", 0),
        ("2.8", "0.10.2", "2.8", 2),
        ("2.8", "0.10.2", "3.0", 1),  # newer than the protocol: as if it were not set
        ("0.10.2", "0.9.0", "0.11.0", 0),
    ],
)
def test_what_is_stored(protocol: str | None, broker: str | None, topic: str | None, magic: int) -> None:
    assert stored_magic(protocol, broker, topic) == magic
    settings = {"inter.broker.protocol.version": protocol, "log.message.format.version": broker}
    own = {} if topic is None else {"message.format.version": topic}
    assert LogConfig.from_topic(own, settings).record_magic == magic
