"""The clients' keys: none that is given vanishes, none is declared that no client reads."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import pytest

from tidelog.client import config as keys
from tidelog.client.config import client_config
from tidelog.common.config import Key
from tidelog.common.errors import UsageError

SOURCE = Path(keys.__file__).parent
BROKER = {"bootstrap.servers": "h:9092"}


def warnings(raw: dict[str, str], caplog: pytest.LogCaptureFixture) -> list[str]:
    with caplog.at_level(logging.WARNING, "tidelog.client"):
        client_config({**BROKER, **raw})
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize("name", ["linger.ms", "group.id", "transactional.id", "retries"])
def test_a_key_that_no_client_has_is_told(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert warnings({name: "1"}, caplog) == [f"the client key {name} is not known and has no effect"]


def test_a_misspelt_key_is_told_with_the_right_one(caplog: pytest.LogCaptureFixture) -> None:
    (text,) = warnings({"fetch.min.byte": "1"}, caplog)
    assert text.endswith("fetch.min.byte is not known and has no effect: did you mean fetch.min.bytes?")


def test_what_is_known_is_taken_in_silence(caplog: pytest.LogCaptureFixture) -> None:
    assert warnings({"acks": "all", "isolation.level": "read_committed"}, caplog) == []


@pytest.mark.parametrize(("idempotence", "told"), [({}, 1), ({"enable.idempotence": "false"}, 0)])
def test_acks_that_idempotence_overrides_is_told(
    idempotence: dict[str, str], told: int, caplog: pytest.LogCaptureFixture
) -> None:
    assert len(warnings({"acks": "1", **idempotence}, caplog)) == told


def test_a_broker_must_be_named() -> None:
    with pytest.raises(UsageError, match=r"bootstrap\.servers is not set"):
        client_config({})


def test_every_declared_key_is_read_by_a_client() -> None:
    declared = {name: key.name for name, key in vars(keys).items() if isinstance(key, Key)}
    assert set(declared.values()) == set(keys.KEYS.keys)
    text = "\n".join(path.read_text() for path in SOURCE.rglob("*.py") if path.name != "config.py")
    own = (SOURCE / "config.py").read_text()
    read = set(re.findall(r"\[keys\.([A-Z_]+)\]", text)) | set(re.findall(r"config\[([A-Z_]+)\]", own))
    assert sorted(set(declared) - read) == []
