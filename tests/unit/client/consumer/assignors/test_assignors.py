"""The assignors by their own examples; that they do as Java's is shown by tests/interop/client/test_assignors.py."""

from __future__ import annotations

import pytest

from tidelog.client.consumer.assignors.assignor import (
    Assignor,
    MemberSubscription,
    PartitionRacks,
    RebalanceProtocol,
    Shares,
)
from tidelog.client.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from tidelog.client.consumer.assignors.hash_order import capacity_for, hash_order
from tidelog.client.consumer.assignors.lookup import assignors_of, common_protocol
from tidelog.client.consumer.assignors.range import RangeAssignor
from tidelog.client.consumer.assignors.round_robin import RoundRobinAssignor
from tidelog.client.consumer.assignors.sticky import StickyAssignor, decode_user_data, encode_user_data
from tidelog.client.values import ConsumerGroupMetadata
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition


def topics(**counts: int) -> dict[str, list[PartitionRacks]]:
    return {name: [PartitionRacks(index) for index in range(count)] for name, count in counts.items()}


def member(*wanted: str, owned: str = "", generation: int = -1, rack: str | None = None) -> MemberSubscription:
    return MemberSubscription(wanted, None, tuple(parse(owned)), generation, None, rack)


def parse(text: str) -> list[TopicPartition]:
    return [TopicPartition(word[0], int(word[1:])) for word in text.split()]


def show(shares: Shares) -> dict[str, str]:
    return {name: " ".join(f"{tp.topic}{tp.partition}" for tp in sorted(share)) for name, share in shares.items()}


def test_range_cuts_each_topic_in_runs() -> None:
    group = {name: member("a", "b") for name in ("x", "y", "z")}
    assert show(RangeAssignor().distribute(topics(a=7, b=3), group)) == {
        "x": "a0 a1 a2 b0",
        "y": "a3 a4 b1",
        "z": "a5 a6 b2",
    }


def test_range_prefers_racks_within_the_same_shares() -> None:
    racks = [PartitionRacks(i, frozenset("r" if i % 2 else "s")) for i in range(4)]
    group = {"x": member("a", rack="r"), "y": member("a", rack="s")}
    assert show(RangeAssignor().distribute({"a": racks}, group)) == {"x": "a1 a3", "y": "a0 a2"}


def test_round_robin_deals_in_turn_and_passes_over_who_did_not_subscribe() -> None:
    group = {"x": member("a", "b"), "y": member("b")}
    assert show(RoundRobinAssignor().distribute(topics(a=2, b=3), group)) == {"x": "a0 a1 b1", "y": "b0 b2"}


def test_static_members_come_first_and_by_instance_id() -> None:
    group = {"x": member("a"), "z": member("a")._replace(instance_id="1"), "y": member("a")._replace(instance_id="2")}
    assert show(RangeAssignor().distribute(topics(a=3), group)) == {"z": "a0", "y": "a1", "x": "a2"}


def test_sticky_moves_as_little_as_evenness_allows() -> None:
    first = StickyAssignor()
    first.on_assignment(first.assign(topics(a=4), {"x": member("a")})["x"], ConsumerGroupMetadata("g", 1, "x"))
    group = {"x": member("a")._replace(user_data=first.subscription_user_data(frozenset("a"))), "y": member("a")}
    assert show(StickyAssignor().distribute(topics(a=4), group)) == {"x": "a0 a1", "y": "a2 a3"}


def test_cooperative_sticky_gives_nothing_that_another_still_owns() -> None:
    group = {"x": member("a", owned="a0 a1 a2 a3", generation=1), "y": member("a")}
    assert show(CooperativeStickyAssignor().distribute(topics(a=4), group)) == {"x": "a0 a1", "y": ""}
    group = {"x": member("a", owned="a0 a1", generation=2), "y": member("a", generation=2)}
    assert show(CooperativeStickyAssignor().distribute(topics(a=4), group)) == {"x": "a0 a1", "y": "a2 a3"}


def test_uneven_subscriptions_end_as_even_as_they_can() -> None:
    """Kafka's own example for the sticky assignor."""
    group = {"x": member("a"), "y": member("a", "b"), "z": member("a", "b", "c")}
    shares = show(StickyAssignor().distribute(topics(a=1, b=2, c=3), group))
    assert shares == {"x": "a0", "y": "b0 b1", "z": "c0 c1 c2"}


def test_the_later_generation_s_claim_counts() -> None:
    group = {"x": member("a", owned="a0 a1", generation=5), "y": member("a", owned="a0 a1", generation=6)}
    shares = show(CooperativeStickyAssignor().distribute(topics(a=2), group))
    assert sorted(shares.values()) == ["", "a0"]
    assert shares["y"] == "a0"


def test_partitions_that_do_not_exist_any_more_are_nobodys() -> None:
    group = {"x": member("a", owned="a0 a7", generation=1)}
    assert show(CooperativeStickyAssignor().distribute(topics(a=2), group)) == {"x": "a0 a1"}


def test_user_data_is_kafkas_and_survives_garbage() -> None:
    data = encode_user_data((TopicPartition("a", 0), TopicPartition("a", 3)), 7)
    assert data.hex() == "00000001" "0001" "61" "00000002" "00000000" "00000003" "00000007"  # fmt: skip
    assert decode_user_data(data) == (tuple(parse("a0 a3")), 7)
    assert decode_user_data(data[:-4]) == (tuple(parse("a0 a3")), None)
    assert decode_user_data(b"\0\0\0\1\x7f") == ((), -1)
    assert decode_user_data(None) == ((), None)


def test_hash_order_is_javas() -> None:
    """`new HashSet<>(List.of("consumer", "topic", "a", "b", "zz"))` prints them so."""
    assert hash_order(["b", "a"]) == ["a", "b"]
    assert capacity_for(12) == 16
    assert capacity_for(13) == 32


class Everything(Assignor):
    name = "everything"
    protocols = (RebalanceProtocol.COOPERATIVE,)

    def distribute(self, topics: object, members: object) -> Shares:
        return {}


def test_assignors_are_found_by_name_class_and_instance() -> None:
    own = Everything()
    found = assignors_of(["range", "org.apache.kafka.clients.consumer.StickyAssignor", CooperativeStickyAssignor, own])
    assert [assignor.name for assignor in found] == ["range", "sticky", "cooperative-sticky", "everything"]
    assert found[3] is own
    path = "tidelog.client.consumer.assignors.round_robin.RoundRobinAssignor"
    assert assignors_of([path])[0].name == "roundrobin"


@pytest.mark.parametrize("wrong", [[], ["rnage"], ["range", RangeAssignor], ["no.such.Assignor"], [3]])
def test_what_is_no_assignor_is_refused(wrong: list[object]) -> None:
    with pytest.raises(UsageError, match=r"partition\.assignment\.strategy"):
        assignors_of(wrong)


def test_a_member_does_what_all_its_assignors_can() -> None:
    assert common_protocol(assignors_of(["range", "cooperative-sticky"])) is RebalanceProtocol.EAGER
    assert common_protocol(assignors_of(["cooperative-sticky"])) is RebalanceProtocol.COOPERATIVE
    with pytest.raises(UsageError, match="no rebalance protocol in common"):
        common_protocol(assignors_of(["range", Everything]))
