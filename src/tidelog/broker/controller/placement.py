"""Which brokers hold a partition's replicas.

Placed by us, replicas are spread evenly: brokers stand in a ring in which neighbours are of different racks where
possible; partition p is led by the broker p places after a random start, and its other replicas follow along the ring,
one further step apart each time round, new racks first. Given by hand, they are only checked.

Six partitions of three replicas on the brokers 1, 2, 3, with a random start at 1 (Kafka's own example has ten on five):

    partition   0        1        2        3        4        5
    replicas    1 2 3    2 3 1    3 1 2    1 3 2    2 1 3    3 2 1

Each broker leads two. The second round shifts the others by one more: when broker 1 dies, its two partitions go to two
different brokers, not both to the same. The start is random so that many topics of one partition do not all begin at
the first broker. Racks go first because they fail as a whole: with as many replicas as racks, none has two of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest

from tidelog.broker.metadata.images import BrokerImage
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import Rng


def place_replicas(
    count: int, replication_factor: int, brokers: Collection[BrokerImage], rng: Rng, first_partition: int = 0
) -> list[tuple[int, ...]]:
    """Replicas for `count` partitions, preferred leader first.

    `first_partition`: the number of the first, where a topic grows; the pattern goes on from there. The random numbers
    are drawn anew then, so that new partitions do not meet the old ones' neighbours again and again.
    """
    times = f"Unable to replicate the partition {replication_factor} time(s): "
    if not brokers:
        reason = "All brokers are currently fenced, or have all their log directories cordoned."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, times + reason)
    if replication_factor > len(brokers):
        reason = f"The target replication factor of {replication_factor} cannot be reached because only "
        reason += f"{len(brokers)} broker(s) are registered."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, times + reason)
    if len(brokers) == 1:
        only = (next(iter(brokers)).node_id,)
        return [only] * count
    ring = _ring(brokers)
    racks = {broker.node_id: broker.rack for broker in brokers}
    start, shift = rng.randrange(len(ring)), rng.randrange(len(ring) - 1)
    result = []
    for partition in range(first_partition, first_partition + count):
        leader = (start + partition) % len(ring)
        step = 1 + (shift + partition // len(ring)) % (len(ring) - 1)
        others = [ring[(leader + step + i) % len(ring)] for i in range(len(ring))]
        result.append(_choose([ring[leader], *others], replication_factor, racks))
    return result


def check_assignment(replicas: Sequence[int], brokers: Mapping[int, BrokerImage], expected: int | None = None) -> None:
    """A manual assignment of one partition: known brokers, each once, as many as for the partitions before it.

    Racks and cordoned directories are not looked at: who places by hand knows why.
    """
    if not replicas:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes an empty replica list."
        )
    for node_id in sorted(replicas):
        if node_id not in brokers:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes broker {node_id}, but no such broker is registered.",
            )
    for node_id in replicas:
        if replicas.count(node_id) > 1:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes the broker {node_id} more than once.",
            )
    if expected is not None and len(replicas) != expected:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not "
            f"consistent with previous partitions, which have {expected} replica(s).",
        )


def _ring(brokers: Collection[BrokerImage]) -> list[int]:
    """Brokers in an order that goes through the racks in turn."""
    by_rack: dict[str | None, list[int]] = {}
    for broker in sorted(brokers, key=lambda broker: broker.node_id):
        by_rack.setdefault(broker.rack, []).append(broker.node_id)
    rows = zip_longest(*(by_rack[rack] for rack in sorted(by_rack, key=str)))
    return [node_id for row in rows for node_id in row if node_id is not None]


def _choose(order: Sequence[int], count: int, racks: Mapping[int, str | None]) -> tuple[int, ...]:
    """The first `count` different brokers, but a rack twice only when every rack has one."""
    chosen: list[int] = []
    rack_total = len(set(racks.values()))
    for node_id in order:
        used = {racks[other] for other in chosen}
        if node_id not in chosen and (racks[node_id] not in used or len(used) == rack_total):
            chosen.append(node_id)
            if len(chosen) == count:
                return tuple(chosen)
    chosen += [node_id for node_id in dict.fromkeys(order) if node_id not in chosen]
    return tuple(chosen[:count])
