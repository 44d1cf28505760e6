"""Exactly once through a spoiled wire: a topic copied in transactions, with every boundary of their requests spoiled.

The copy is read past the proxy, committed records only, and held against what the copier wrote down, by the checker of
the coordinator's tests: nothing lost, doubled, torn or reordered, nothing of what was aborted.
"""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from faults.client.conftest import QUICK
from faults.client.copying import OurCopier
from faults.client.ledger import read_log
from faults.client.test_producer import storm
from faults.coordinator.history import Copied, findings
from support.steady import Steady
from support.wire_proxy import Act, At, WireProxy, cut, hole, refuse
from tidelog import Producer
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.testing import Broker

PARTITIONS = 2
PATIENCE = 60
_names = (f"copy-{number}" for number in itertools.count())
APIS = (ApiKey.INIT_PRODUCER_ID, ApiKey.PRODUCE, ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN, ApiKey.FIND_COORDINATOR)
FAULTS: dict[str, tuple[ApiKey, Act, At]] = {
    **{f"{api.name}-{act.__name__}-{at.name}": (api, act(), at)
       for api in APIS for act, at in ((cut, At.REQUEST), (cut, At.MID_ANSWER), (hole, At.ANSWER))},
    **{f"{api.name}-{code.name}": (api, refuse(code), At.REQUEST)
       for api in (ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN)
       for code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)},
    "END_TXN-CONCURRENT_TRANSACTIONS": (ApiKey.END_TXN, refuse(ErrorCode.CONCURRENT_TRANSACTIONS), At.REQUEST),
}  # fmt: skip


def start(broker: Broker, proxy: WireProxy, count: int) -> tuple[str, OurCopier]:
    name = next(_names)
    for suffix in ("in", "out"):
        broker.create_topic(f"{name}-{suffix}", PARTITIONS)
    with Producer(bootstrap_servers=broker.address) as producer:
        for number in range(count):
            producer.send(f"{name}-in", b"%d" % number, partition=number % PARTITIONS)
    settings: dict[str, Any] = {**QUICK, "bootstrap.servers": proxy.address, "default.api.timeout.ms": 10_000}
    return name, OurCopier(settings, name, name, f"{name}-in", f"{name}-out")


def finish(broker: Broker, name: str, copier: OurCopier, count: int, enough: Any) -> None:
    """Copy until all is there; then judge."""
    deadline, last = time.monotonic() + PATIENCE, [-1, 0]
    while copied(broker, name) < count or not enough():
        assert time.monotonic() < deadline, f"stuck after {last}: {copier.__dict__}"
        last = [copied(broker, name), copier.copy()]
    copier.close()
    view = {
        number: [
            Copied(str(number), int(record.value.split()[0]), record.value.split()[1].decode())
            for record in read_log(broker.address, f"{name}-out", number, committed=True)
        ]
        for number in range(PARTITIONS)
    }
    assert findings(copier.history, range(count), view) == {}


def copied(broker: Broker, name: str) -> int:
    return sum(len(read_log(broker.address, f"{name}-out", number, committed=True)) for number in range(PARTITIONS))


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault(broker: Broker, proxy: WireProxy, fault: str) -> None:
    api, act, at = FAULTS[fault]
    name, copier = start(broker, proxy, 80)
    rule = proxy.on(api, act, at=at, nth=1 if api in (ApiKey.INIT_PRODUCER_ID, ApiKey.FIND_COORDINATOR) else 2)
    finish(broker, name, copier, 80, lambda: True)
    assert rule.fired == 1


def through_a_storm(broker: Broker, proxy: WireProxy, count: int, rate: float) -> OurCopier:
    name, copier = start(broker, proxy, count)
    before = proxy.storms
    proxy.chance = storm(rate)
    finish(broker, name, copier, count, lambda: True)
    proxy.heal()
    history = copier.history
    print(f"{proxy.storms} faults; {len(history.committed)} committed, {len(history.aborted)} aborted, "
          f"{history.cut_short} cut short, {copier.replaced} times replaced")  # fmt: skip
    assert proxy.storms > before
    return copier


def test_a_storm(broker: Broker, proxy: WireProxy) -> None:
    through_a_storm(broker, proxy, 1500, 0.08)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_ten_minutes_of_storms(broker: Broker, proxy: WireProxy) -> None:
    ends, steady = time.monotonic() + 600, Steady()
    while time.monotonic() < ends:
        through_a_storm(broker, proxy, 1000, 0.05)
        steady.note()
    print(f"{[one >> 20 for one in steady.memory]} MB")
    steady.check(megabytes=32)
