"""The admin client, with every boundary of its requests spoiled: questions are answered, changes are made once or told
of, and nobody waits longer than the time-out says."""

from __future__ import annotations

import itertools
import time

import pytest

from faults.client.conftest import QUICK
from support.wire_proxy import EVERYWHERE, GARBLES, Act, At, WireProxy, cut, garble, hole, refuse, split
from tidelog import Admin, KafkaError
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.testing import Broker

_names = (f"admin-{number}" for number in itertools.count())
FAULTS: dict[str, tuple[Act, At]] = {
    **{f"{act.__name__}-{at.name}": (act(), at) for act in (cut, hole, split) for at in EVERYWHERE},
    **{f"garble-{kind}": (garble(kind), At.ANSWER) for kind in GARBLES},
}


def admin(proxy: WireProxy) -> Admin:
    return Admin({**QUICK, "bootstrap.servers": proxy.address, "default.api.timeout.ms": 20_000})


@pytest.mark.parametrize("api", [ApiKey.METADATA, ApiKey.DESCRIBE_CLUSTER, ApiKey.LIST_GROUPS])
@pytest.mark.parametrize("fault", FAULTS)
def test_questions_are_answered(broker: Broker, proxy: WireProxy, fault: str, api: ApiKey) -> None:
    act, at = FAULTS[fault]
    name = next(_names)
    broker.create_topic(name)
    proxy.on(api, act, at=at)
    with admin(proxy) as client:
        assert name in client.topics()
        assert client.describe_cluster().nodes
        assert isinstance(client.groups(), list)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_change_is_made_once_or_told_of(broker: Broker, proxy: WireProxy, fault: str) -> None:
    """When the answer is lost, the second attempt finds the topic there: Kafka's admin says so, and so does ours."""
    act, at = FAULTS[fault]
    name = next(_names)
    rule = proxy.on(ApiKey.CREATE_TOPICS, act, at=at)
    with admin(proxy) as client:
        try:
            client.create_topic(name, 1)
        except KafkaError as error:
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        assert name in client.topics()
    assert rule.fired == 1


def test_a_controller_that_moves_is_asked_again(broker: Broker, proxy: WireProxy) -> None:
    name = next(_names)
    rule = proxy.on(ApiKey.CREATE_TOPICS, refuse(ErrorCode.NOT_CONTROLLER), times=2)
    with admin(proxy) as client:
        client.create_topic(name, 1)
        assert name in client.topics()
    assert rule.fired == 2


def test_a_cluster_that_never_answers_is_not_waited_for(broker: Broker, proxy: WireProxy) -> None:
    proxy.on(None, hole(), times=10_000)
    began = time.monotonic()
    with admin(proxy) as client, pytest.raises(KafkaError):
        client.topics(timeout=1.5)
    assert time.monotonic() - began < 20
    proxy.heal()
