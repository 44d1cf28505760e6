"""What is said of groups to those who ask about them: which of them there are, and of which kind."""

from __future__ import annotations

from support.coordinator import GroupHarness
from tidelog.broker.coordinator.result import Caller
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m


def test_an_unknown_group_is_told_from_one_of_the_other_kind() -> None:
    """The texts are Apache Kafka's. Up to version 5 there was no error for either: both are dead groups."""
    harness = GroupHarness(topics={"t": 1})
    request = m.ConsumerGroupHeartbeatRequest(
        group_id="new",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    harness.write("new", lambda machine: machine.consumer_heartbeat(request, Caller("c", "/h", 1)))
    admin = harness.machine().admin
    for name, text in (("none", "Group none not found."), ("new", "Group new is not a classic group.")):
        found = admin.describe_classic(name, 6)
        assert (found.error_code, found.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, text)
        found = admin.describe_classic(name, 5)
        assert (found.error_code, found.error_message, found.group_state) == (0, None, "Dead")
