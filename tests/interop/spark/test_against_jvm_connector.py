"""Every source option gives the rows, the schema and the tasks that Spark's own Kafka connector gives (batch queries).

The connector itself reads from and writes to Tidelog here, so this is also its interoperability test.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from support.connectors import Pair
from support.spark import BrokerLab
from tidelog.client import topics
from tidelog.common.types import TopicPartition

pytestmark = [pytest.mark.java, pytest.mark.timeout(1200)]

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def prepare(lab: BrokerLab) -> tuple[str, str]:
    """Two topics with times, headers, nulls, transactions, and a beginning that was deleted."""
    one, two = lab.topic(3), lab.topic(1)
    for partition in range(3):
        rows = [f"{partition}-{number}" for number in range(100)]
        lab.produce(one, rows, partition=partition, timestamps=[1000 * n + partition for n in range(100)])
    headers = pa.array([[("a", b"1"), ("b", None)], [], None, [("a", b"\xff")]], HEADERS)
    lab.produce(two, ["w", "x", "y", "z"], headers=headers, keyed=False)
    lab.produce(two, ["aborted"], transactional_id="jvm-a", commit=False)
    lab.produce(two, ["kept"], transactional_id="jvm-b")
    lab.ask(lambda cluster: topics.delete_records(cluster, {TopicPartition(one, 1): 40}))
    return one, two


def option_sets(one: str, two: str) -> list[dict[str, str]]:
    def offsets(*values: int) -> str:
        return json.dumps({one: {str(number): value for number, value in enumerate(values)}})

    return [
        {"subscribe": one},
        {"subscribe": f"{one},{two}"},
        {"subscribePattern": f"{one}|{two}"},
        {"subscribePattern": "no-such-.*"},
        {"assign": json.dumps({one: [2], two: [0]})},
        {"subscribe": two, "includeHeaders": "true"},
        {"subscribe": two, "kafka.isolation.level": "read_committed"},
        {"subscribe": one, "startingOffsets": offsets(5, -2, 90), "endingOffsets": offsets(7, -1, 91)},
        {"subscribe": one, "startingOffsets": offsets(5, 50, 99), "endingOffsets": offsets(5, 60, 100)},
        {"subscribe": one, "startingTimestamp": "50001"},
        {"subscribe": one, "startingTimestamp": "50001", "endingTimestamp": "52000"},
        {"subscribe": one, "endingTimestamp": "99999999"},
        {"subscribe": one, "startingOffsetsByTimestamp": offsets(1000, 60001, 99002)},
        {"subscribe": one, "endingOffsetsByTimestamp": offsets(1000, 60001, 99002)},
        {"subscribe": one, "startingTimestamp": "99001", "startingOffsetsByTimestampStrategy": "latest"},
        {"subscribe": one, "startingOffsets": offsets(0, 10, 0), "failOnDataLoss": "false"},
        {"subscribe": one, "minPartitions": "7"},
        {"subscribe": one, "minPartitions": "2"},
        {"subscribe": one, "maxRecordsPerPartition": "30"},
        {"subscribe": one, "maxRecordsPerPartition": "90", "minPartitions": "9"},
        {"subscribe": one, "startingOffsets": "earliest", "endingOffsets": "latest"},
        # Both refuse these:
        {"subscribe": one, "startingOffsets": "latest"},
        {"subscribe": one, "endingOffsets": "earliest"},
        {"subscribe": one, "startingOffsets": offsets(0, 0)},
        {"subscribe": one, "startingTimestamp": "99001"},
        {"subscribe": one, "startingOffsets": offsets(0, 10, 0)},
        {"subscribe": one, "assign": json.dumps({one: [0]})},
        {"subscribe": "no-such-topic"},
        {"subscribe": one, "kafka.auto.offset.reset": "earliest"},
    ]


def test_the_same_answers(pair: Pair) -> None:
    different = []
    for options in option_sets(*prepare(pair.lab)):
        theirs, ours = pair.ask("read", options=options)
        if ("error" in ours) != ("error" in theirs):
            different.append((options, ours.get("error"), theirs.get("error")))
        elif "error" not in ours:
            if "minPartitions" not in options:  # theirs has tasks for empty ranges, and knows no maxRecordsPerPartition
                ours["ok"]["tasks"] = theirs["ok"]["tasks"]
            if ours != theirs:
                summary = [(len(one["ok"]["rows"]), one["ok"]["types"], one["ok"]["tasks"]) for one in (ours, theirs)]
                different.append((options, *summary))
    assert not different


def test_the_same_records_are_written(pair: Pair) -> None:
    """Keys, nulls, headers, partitions and topics as columns: what either writes, both read alike."""
    types = "topic string, partition int, key string, value string, headers array<struct<key:string,value:binary>>"
    written = []
    for engine in (pair.theirs, pair.ours):
        one, two = pair.lab.topic(3), pair.lab.topic(2)
        rows = [(one, None, f"k{n}", f"v{n}", None) for n in range(50)] + [
            (two, 1, None, "placed", None),
            (two, 0, "k", None, None),
            (two, 1, "k", "", [("h", None), ("h", None)]),
        ]
        engine.do("write", rows=rows, types=types, options={"delivery": "at_least_once"})
        options = {"topic": one, "delivery": "at_least_once"}
        engine.do("write", rows=[("k", "by option")], types="key string, value string", options=options)
        found = pair.same("read", options={"subscribe": f"{one},{two}", "includeHeaders": "true"})["rows"]
        names = {one: "one", two: "two"}
        written.append([[row[0], row[1], names[row[2]], row[3], row[4], row[7]] for row in found])
    assert len(written[0]) == 54
    assert written[1] == written[0]


def test_both_refuse_to_write_the_same_things(pair: Pair) -> None:
    for rows, types, options in (
        ([("a",)], "key string", {"topic": "t"}),
        ([(1,)], "value int", {"topic": "t"}),
        ([("a", 1.5)], "value string, key double", {"topic": "t"}),
        ([("a",)], "value string", {}),
        ([("a", None)], "value string, topic string", {}),
    ):
        theirs, ours = pair.ask("write", rows=rows, types=types, options=options)
        assert "error" in theirs, types
        assert "error" in ours, types
