"""What `health()` says of connections: nothing bad before anybody was asked, and the reason once nobody answers."""

from __future__ import annotations

import pytest

from support.consumers import FACES, Face
from support.patience import eventually
from support.ports import free_port
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param


def test_before_the_first_poll_nobody_is_to_blame(face: Face) -> None:
    with Broker() as broker, face.consumer(broker, group_id="early") as consumer:
        consumer.subscribe(["orders"])
        with pytest.raises(UsageError):
            consumer.poll(timeout="500ms")
        health = consumer.health()
        assert (health.ok, health.connected) == (False, False)
        assert health.reason == "poll was not called yet: the first one connects"
        eventually(lambda: (consumer.poll(0), consumer.health())[1].ok)


def test_a_broker_that_cannot_be_reached_is_named_with_the_reason(face: Face) -> None:
    with face.consumer(f"127.0.0.1:{free_port()}") as consumer:
        consumer.assign([TopicPartition("orders", 0)])
        reason = eventually(lambda: (consumer.poll(0.01), consumer.health().reason)[1], lambda text: "TCP" in text)
        assert reason.startswith("there is no connection to any broker: cannot connect to 127.0.0.1:")
        assert "Connection refused" in reason
