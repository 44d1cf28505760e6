"""Our assignors beside Java's, on a large random set: the same partitions to the same members.

Each case is a step in the life of a group: members come, go and change what they subscribe to, topics grow, and what a
step has assigned is what the next one starts from. Some members claim what is not theirs, as one does that has slept
through a generation.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.kafka import KAFKA_4, java_command, require_java
from tidelog.client.consumer.assignors.assignor import Assignor, MemberSubscription, PartitionRacks, Shares
from tidelog.client.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from tidelog.client.consumer.assignors.lookup import BUILT_IN
from tidelog.client.consumer.assignors.sticky import StickyAssignor, encode_user_data
from tidelog.common.types import TopicPartition

SOURCE = Path(__file__).parents[2] / "support" / "java" / "Assignors.java"
SEED = 20260416
CASES = 3000
RACKS = ("a", "b", "c")

Topics = dict[str, list[PartitionRacks]]
Members = dict[str, MemberSubscription]


class GroupLife:
    """Random groups, one after the other, each for some steps."""

    def __init__(self, kind: type[Assignor], rng: random.Random) -> None:
        self.kind = kind
        self.rng = rng
        self.sticky = issubclass(kind, (StickyAssignor, CooperativeStickyAssignor))

    def steps(self) -> Iterator[tuple[Topics, Members, Shares]]:
        while True:
            yield from self._one_group()

    def _one_group(self) -> Iterator[tuple[Topics, Members, Shares]]:
        rng = self.rng
        self.racks = rng.random() < 0.3
        self.alike = rng.random() < 0.5
        topics = {f"topic-{i}": self._partitions([], rng.randint(1, 8)) for i in range(rng.randint(1, 5))}
        wanted = {self._member(): self._subscription(topics) for _ in range(rng.randint(1, rng.choice((4, 8, 30))))}
        instances = {m: f"i{rng.randint(0, 10**6)}" if rng.random() < 0.2 else None for m in wanted}
        racks = {m: rng.choice(RACKS) if self.racks and rng.random() < 0.9 else None for m in wanted}
        shares: Shares = {}
        for generation in range(1, rng.randint(2, 7)):
            members = {
                m: self._said(wanted[m], shares.get(m, []), generation - 1 if shares else -1, instances[m], racks[m])
                for m in wanted
            }
            subscribed = {t: topics[t] for t in topics if any(t in said.topics for said in members.values())}
            shares = self.kind().distribute(subscribed, members)
            yield topics, members, {m: list(share) for m, share in shares.items()}
            if rng.random() < 0.5:
                new = self._member()
                wanted[new] = self._subscription(topics)
                instances[new] = None
                racks[new] = rng.choice(RACKS) if self.racks else None
            if rng.random() < 0.5 and len(wanted) > 1:
                wanted.pop(rng.choice(list(wanted)))
            if rng.random() < 0.3:
                grown = rng.choice(list(topics))
                topics = {**topics, grown: self._partitions(topics[grown], rng.randint(1, 4))}
            if rng.random() < 0.3:
                wanted[rng.choice(list(wanted))] = self._subscription(topics)

    def _member(self) -> str:
        return f"consumer-{self.rng.randint(0, 99)}-{self.rng.getrandbits(64):016x}"

    def _subscription(self, topics: Topics) -> tuple[str, ...]:
        if self.alike:
            return tuple(topics)
        return tuple(self.rng.sample(sorted(topics), self.rng.randint(1, len(topics))))

    def _partitions(self, present: list[PartitionRacks], more: int) -> list[PartitionRacks]:
        start = len(present)
        return present + [PartitionRacks(start + i, self._replicas()) for i in range(more)]

    def _replicas(self) -> frozenset[str]:
        return frozenset(self.rng.sample(RACKS, self.rng.randint(1, 2)) if self.racks else ())

    def _said(
        self,
        topics: tuple[str, ...],
        owned: list[TopicPartition],
        generation: int,
        instance: str | None,
        rack: str | None,
    ) -> MemberSubscription:
        """Now and then a member forgets, or comes from an earlier generation with what it had then."""
        rng = self.rng
        if rng.random() < 0.1:
            owned, generation = [], -1
        elif rng.random() < 0.15 and generation > 0:
            generation -= 1
            topic = rng.choice(topics)
            owned = [*owned, TopicPartition(topic, 0)] if TopicPartition(topic, 0) not in owned else owned
        data = None
        if self.kind is StickyAssignor and generation >= 0:
            data = encode_user_data(tuple(owned), generation)
        return MemberSubscription(topics, data, tuple(owned), generation, instance, rack)


def as_json(kind: type[Assignor], topics: Topics, members: Members) -> str:
    return json.dumps(
        {
            "assignor": kind.__name__,
            "topics": {name: [sorted(p.racks) for p in partitions] for name, partitions in topics.items()},
            "members": [
                {
                    "id": member,
                    "topics": list(said.topics),
                    "instance": said.instance_id,
                    "rack": said.rack,
                    "owned": [list(tp) for tp in said.owned],
                    "generation": said.generation,
                    "user_data": None if said.user_data is None else said.user_data.hex(),
                }
                for member, said in members.items()
            ],
        }
    )


def ask_java(cases: list[str], conf: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        java_command(KAFKA_4, conf, str(SOURCE)),
        input="\n".join(cases) + "\n",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line[1:]) for line in done.stdout.splitlines() if line.startswith("=")]


@pytest.mark.java
@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_every_member_gets_what_java_gives_it(kind: type[Assignor], tmp_path: Path) -> None:
    require_java()
    life = GroupLife(kind, random.Random(SEED)).steps()
    steps = [next(life) for _ in range(CASES)]
    answers = ask_java([as_json(kind, topics, members) for topics, members, _ in steps], tmp_path)
    assert len(answers) == CASES
    wrong = []
    for (topics, members, ours), answer in zip(steps, answers, strict=True):
        if "error" in answer:
            continue  # Java's own mistakes are not ours to repeat
        theirs = {m: sorted(TopicPartition(*tp) for tp in share) for m, share in answer.items()}
        if theirs != {m: sorted(share) for m, share in ours.items()}:
            wrong.append((topics, members, ours, theirs))
    assert not wrong, f"{len(wrong)} of {CASES} differ, the first: {wrong[0]}"
    assert sum("error" in answer for answer in answers) < CASES // 20
