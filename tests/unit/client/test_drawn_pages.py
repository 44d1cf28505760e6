"""The drawn pages of producer and consumer: what they link to is there, and what they draw is what happens."""

from __future__ import annotations

import re

import pytest

from support.guides import GUIDES
from tidelog.client.config import consumer, producer
from tidelog.client.consumer.assignors.assignor import Assignor, MemberSubscription, PartitionRacks
from tidelog.client.consumer.assignors.range import RangeAssignor
from tidelog.client.consumer.assignors.round_robin import RoundRobinAssignor

PAGES = ["inside-the-producer", "inside-the-consumer"]


@pytest.mark.parametrize("page", PAGES)
def test_what_they_link_to_is_there(page: str) -> None:
    text = (GUIDES / f"{page}.md").read_text()
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert len(links) > 10
    assert [link for link in links if not (GUIDES / link).resolve().is_file()] == []
    tests = re.findall(r"`(tests/[\w/.]+)`", text)
    assert tests
    assert [test for test in tests if not (GUIDES.parents[1] / test).is_file()] == []


@pytest.mark.parametrize(("page", "keys"), list(zip(PAGES, [producer.KEYS, consumer.KEYS], strict=True)))
def test_the_settings_that_they_name_are_there(page: str, keys: producer.ClientKeys) -> None:
    rows = [line for line in (GUIDES / f"{page}.md").read_text().splitlines() if line.startswith("|")]
    named = {name for row in rows[2:] for name in re.findall(r"`([a-z]+(?:\.[a-z]+)+)`", row.split("|")[4])}
    assert len(named) > 12
    assert sorted(name for name in named if name not in keys) == []


@pytest.mark.parametrize("page", PAGES)
def test_the_boxes_are_closed(page: str) -> None:
    """Every corner of a box has another one above or below it, in its column."""
    drawings = re.findall(r"^```\n(.*?)^```", (GUIDES / f"{page}.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(drawings) >= 5
    for drawing in drawings:
        lines = drawing.splitlines()
        for row, line in enumerate(lines):
            assert len(line) <= 124, line
            for column in (found.start() for found in re.finditer("[┌┐]", line)):
                below = [other[column : column + 1] for other in lines[row + 1 :]]
                assert any(sign in "└┘┴├┤┼│▼" for sign in below[:1]), f"{row}:{column} of\n{drawing}"


@pytest.mark.parametrize(("assignor", "name"), [(RangeAssignor(), "range"), (RoundRobinAssignor(), "round robin")])
def test_partitions_are_shared_out_as_drawn(assignor: Assignor, name: str) -> None:
    text = (GUIDES / "inside-the-consumer.md").read_text()
    (drawn,) = re.findall(rf"^ +{name} +A: (.*?)  +B: (.*?)  ", text, re.MULTILINE)
    topics = {topic: [PartitionRacks(number) for number in range(3)] for topic in ("orders", "bills")}
    given = assignor.assign(topics, {member: MemberSubscription(("orders", "bills")) for member in "AB"})
    assert [sorted(map(str, given[member].partitions)) for member in "AB"] == [sorted(part.split()) for part in drawn]
