"""`tidelog consume` as a process, while the topic that it follows goes away."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.disks import write
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker

COMMAND = [str(Path(sys.executable).with_name("tidelog")), "consume", "t", "--from", "beginning"]


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@contextmanager
def consuming(address: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([*COMMAND, "-b", address], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()  # one that goes on would be waited for


def put(broker: Broker, *values: bytes) -> None:
    broker.create_topic("t")
    broker.call(write(broker.server, TopicPartition("t", 0), list(values)))


def test_a_topic_that_is_made_anew_is_told_and_nothing_of_it_is_shown(broker: Broker) -> None:
    """Its records are another topic's, and to wait for the old one's would be to wait for ever."""
    put(broker, b"old")
    with consuming(broker.address) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"old\n"
        broker.call(broker.server.controller.delete_topics(["t"]))
        put(broker, b"new", b"at the offset behind the old one")
        assert process.stdout.readline() == b""
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err.startswith(b"error: ")
    assert b"t-0 was deleted and made anew" in err
