"""librdkafka in groups: eager, cooperative, static and KIP-848 members that come and go; commits; exactly-once copy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

PROTOCOLS = [
    {"partition.assignment.strategy": "range"},
    {"partition.assignment.strategy": "cooperative-sticky"},
    {"group.protocol": "consumer"},
]


def consumer(server: Any, group: str, **options: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": server.address,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **({} if options.get("group.protocol") == "consumer" else {"session.timeout.ms": 30_000}),
            **({} if options.get("group.protocol") == "consumer" else {"heartbeat.interval.ms": 300}),
            **options,
        }
    )


def poll_until(consumers: list[Consumer], done: Callable[[], bool], seconds: float = 120) -> list[Any]:
    """Poll them all until `done`; what they read."""
    seen = []
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, [member.assignment() for member in consumers]
        for member in consumers:
            message = member.poll(0.05)
            if message is not None and message.error() is None:
                seen.append(message)
    return seen


def shares(consumers: list[Consumer]) -> list[int]:
    return sorted(len(member.assignment()) for member in consumers)


@pytest.mark.parametrize("options", PROTOCOLS, ids=lambda options: next(iter(options.values())))
def test_members_come_and_go(server: Any, filled: Callable[..., str], options: dict[str, str]) -> None:
    name = filled(4, 40)
    group = f"{name}-group"
    first = consumer(server, group, **options)
    first.subscribe([name])
    seen = poll_until([first], lambda: len(first.assignment()) == 4)
    while len(seen) < 40:
        message = first.poll(60)
        assert message is not None
        seen.append(message)
    first.commit(asynchronous=False)
    second = consumer(server, group, **options)
    second.subscribe([name])
    again = poll_until([first, second], lambda: shares([first, second]) == [2, 2])
    assert again == []  # nothing is read twice: the new owner starts from the commit
    first.close()
    poll_until([second], lambda: len(second.assignment()) == 4)
    second.close()


@pytest.mark.parametrize("options", PROTOCOLS, ids=lambda options: next(iter(options.values())))
def test_more_members_than_partitions(server: Any, filled: Callable[..., str], options: dict[str, str]) -> None:
    """A partition belongs to one member of a group: whoever is left over has nothing to read. Another group has all."""
    name = filled(2, 0)
    group = f"{name}-group"
    members = [consumer(server, group, **options) for _ in range(3)]
    other = consumer(server, f"{name}-other", **options)
    for member in (*members, other):
        member.subscribe([name])
    admin = AdminClient({"bootstrap.servers": server.address})

    def stable() -> bool:
        """Two members alone would share like this as well, until the third one comes."""
        found = admin.describe_consumer_groups([group])[group].result(60)
        return found.state == ConsumerGroupState.STABLE and len(found.members) == 3

    poll_until([*members, other], lambda: stable() and shares(members) == [0, 1, 1] and len(other.assignment()) == 2)
    producer = Producer({"bootstrap.servers": server.address})
    for number in range(20):
        producer.produce(name, str(number), partition=number % 2)
    assert producer.flush(60) == 0
    for team in (members, [other]):
        seen: list[Any] = []
        while len(seen) < 20:
            seen += poll_until(team, iter([False, True]).__next__)
        assert sorted(int(message.value()) for message in seen) == list(range(20))
    for member in (*members, other):
        member.close()


@pytest.mark.parametrize("options", PROTOCOLS[:2], ids=lambda options: next(iter(options.values())))
def test_a_group_changes_its_protocol_while_it_lives(
    server: Any, filled: Callable[..., str], options: dict[str, str]
) -> None:
    """A member of the new protocol joins a classic group, shares its work, and leaves again."""
    name = filled(4, 0)
    group = f"{name}-group"
    admin = AdminClient({"bootstrap.servers": server.address})

    def kind() -> str:
        return str(next(g.type for g in admin.list_consumer_groups().result(60).valid if g.group_id == group).name)

    old = consumer(server, group, **options)
    old.subscribe([name])
    poll_until([old], lambda: len(old.assignment()) == 4)
    assert kind() == "CLASSIC"
    new = consumer(server, group, **{"group.protocol": "consumer"})
    new.subscribe([name])
    poll_until([old, new], lambda: shares([old, new]) == [2, 2])
    assert kind() == "CONSUMER"
    new.commit(offsets=[TopicPartition(name, new.assignment()[0].partition, 7)], asynchronous=False)
    new.close()
    poll_until([old], lambda: len(old.assignment()) == 4)
    assert kind() == "CLASSIC"
    assert 7 in [partition.offset for partition in old.committed(old.assignment(), 60)]
    old.close()


def test_a_static_member_restarts_without_a_rebalance(server: Any, filled: Callable[..., str]) -> None:
    name = filled(2, 0)
    group = f"{name}-group"
    members = [consumer(server, group, **{"group.instance.id": f"instance-{number}"}) for number in range(2)]
    for member in members:
        member.subscribe([name])
    poll_until(members, lambda: shares(members) == [1, 1])
    had = members[1].assignment()
    members[1].close()  # a static member does not leave
    members[1] = consumer(server, group, **{"group.instance.id": "instance-1"})
    members[1].subscribe([name])
    poll_until(members, lambda: len(members[1].assignment()) == 1)
    assert members[1].assignment() == had
    assert shares(members) == [1, 1]
    for member in members:
        member.close()


def test_a_second_process_with_the_same_instance_id_fences_the_first(server: Any, filled: Callable[..., str]) -> None:
    name = filled(1, 0)
    first = consumer(server, f"{name}-group", **{"group.instance.id": "same"})
    first.subscribe([name])
    poll_until([first], lambda: len(first.assignment()) == 1)
    second = consumer(server, f"{name}-group", **{"group.instance.id": "same"})
    second.subscribe([name])
    poll_until([second], lambda: len(second.assignment()) == 1)
    with pytest.raises(KafkaException, match=r"(?i)fenced|fatal"):
        first.commit(offsets=[TopicPartition(name, 0, 1)], asynchronous=False)
    second.commit(offsets=[TopicPartition(name, 0, 1)], asynchronous=False)
    second.close()


def test_a_regular_expression_finds_new_topics(server: Any, filled: Callable[..., str]) -> None:
    name = filled(1, 1)
    member = consumer(server, f"{name}-group", **{"group.protocol": "consumer"})
    member.subscribe([f"^{name[:-2]}.*"])
    poll_until([member], lambda: len(member.assignment()) == 1)
    filled(2, 1)
    poll_until([member], lambda: len(member.assignment()) == 3)
    member.close()


def test_an_online_upgrade_and_back(server: Any, filled: Callable[..., str]) -> None:
    """A classic member and one of the new protocol share a group; then the new one leaves again."""
    name = filled(4, 0)
    group = f"{name}-group"
    old = consumer(server, group)
    old.subscribe([name])
    poll_until([old], lambda: len(old.assignment()) == 4)
    new = consumer(server, group, **{"group.protocol": "consumer"})
    new.subscribe([name])
    poll_until([old, new], lambda: shares([old, new]) == [2, 2])
    new.close()
    poll_until([old], lambda: len(old.assignment()) == 4)
    old.close()


def test_commits_are_listed_changed_and_deleted(server: Any, filled: Callable[..., str]) -> None:
    name = filled(2, 10)
    group = f"{name}-group"
    admin = AdminClient({"bootstrap.servers": server.address})
    member = consumer(server, group)
    member.commit(offsets=[TopicPartition(name, 0, 3), TopicPartition(name, 1, 4)], asynchronous=False)
    committed = member.committed([TopicPartition(name, 0), TopicPartition(name, 1)], 60)
    assert [partition.offset for partition in committed] == [3, 4]
    member.close()
    assert group in {found.group_id for found in admin.list_consumer_groups().result().valid}
    (deleted,) = admin.delete_consumer_groups([group]).values()
    deleted.result(60)
    assert group not in {found.group_id for found in admin.list_consumer_groups().result().valid}
    member = consumer(server, group)
    assert [partition.offset for partition in member.committed([TopicPartition(name, 0)], 60)] == [-1001]
    member.close()


def test_exactly_once_copy(server: Any, filled: Callable[..., str]) -> None:
    source, target = filled(2, 100), filled(2, 0)
    reader = consumer(server, f"{source}-copy", **{"isolation.level": "read_committed"})
    reader.subscribe([source])
    writer = Producer({"bootstrap.servers": server.address, "transactional.id": f"{source}-id"})
    writer.init_transactions(60)
    copied, rounds = 0, 0
    while copied < 100:
        records = reader.consume(min(15, 100 - copied), 60)
        assert records
        writer.begin_transaction()
        for record in records:
            writer.produce(target, record.value(), record.key())
        writer.send_offsets_to_transaction(reader.position(reader.assignment()), reader.consumer_group_metadata(), 60)
        rounds += 1
        if rounds % 3 == 0:
            writer.abort_transaction(60)
            for partition in reader.committed(reader.assignment(), 60):
                reader.seek(TopicPartition(partition.topic, partition.partition, max(partition.offset, 0)))
        else:
            writer.commit_transaction(60)
            copied += len(records)
    reader.close()
    check = consumer(server, f"{source}-check", **{"isolation.level": "read_committed"})
    check.subscribe([target])
    seen = []
    while len(seen) < 100:
        message = check.poll(60)
        assert message is not None
        seen.append(message.value())
    assert check.poll(0.5) is None
    assert sorted(seen) == sorted(b"value %d" % number for number in range(100))
    check.close()


def test_a_zombie_producer_is_fenced(server: Any, filled: Callable[..., str]) -> None:
    name = filled(1, 0)
    settings = {"bootstrap.servers": server.address, "transactional.id": f"{name}-id"}
    first, second = Producer(settings), Producer(settings)
    first.init_transactions(60)
    first.begin_transaction()
    first.produce(name, b"zombie")
    first.flush(60)
    second.init_transactions(60)
    with pytest.raises(KafkaException) as caught:
        first.commit_transaction(60)
    assert caught.value.args[0].fatal()
    second.begin_transaction()
    second.produce(name, b"good")
    second.commit_transaction(60)
    check = consumer(server, f"{name}-check", **{"isolation.level": "read_committed"})
    check.subscribe([name])
    message = check.poll(60)
    assert message is not None
    assert message.value() == b"good"
    check.close()
