"""What the group machine reads: the broker's values as they are now, and those of single groups over them."""

from __future__ import annotations

from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.coordinator.config import GroupConfig

INTERVAL = "group.consumer.assignment.interval.ms"


def test_the_assignment_interval_changes_while_the_broker_runs() -> None:
    broker = BrokerConfig({})
    config = GroupConfig.of(broker)
    assert config.assignment_interval_of("g") == 1000
    broker.apply_dynamic({}, {INTERVAL: "50"})
    assert config.assignment_interval_of("g") == 50
    broker.apply_dynamic({}, {})
    assert config.assignment_interval_of("g") == 1000


def test_a_group_has_its_own_interval_within_the_limits_of_the_broker() -> None:
    broker = BrokerConfig({"group.consumer.min.assignment.interval.ms": "200"})
    own = {"quick": {"consumer.assignment.interval.ms": "0"}, "slow": {"consumer.assignment.interval.ms": "99999"}}
    config = GroupConfig.of(broker, own)
    assert [config.assignment_interval_of(name) for name in ("quick", "slow", "other")] == [200, 15_000, 1000]
