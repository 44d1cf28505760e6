"""Every source option gives the rows, the schema and the tasks that Spark's own Kafka connector gives."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))

import spark_jvm

from support.spark import Lab
from support.tidelog import TidelogServer
from tidelog.client import topics
from tidelog.common.types import TopicPartition

pytestmark = [pytest.mark.java, pytest.mark.timeout(600)]

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    from tidelog.spark.session import tidelog_session

    with TidelogServer(tmp_path_factory.mktemp("broker")) as server:
        spark = tidelog_session("against the JVM connector", master="local[2]")
        spark.sparkContext.setLogLevel("OFF")
        yield Lab(spark, server.address, server.data, "jvm")
        spark.stop()


def prepare(lab: Lab) -> tuple[str, str]:
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


def our_answer(lab: Lab, options: dict[str, str]) -> dict[str, Any]:
    try:
        frame = lab.read(None, **options)
        chosen = ["hex(key) key", "hex(value) value", "topic", "partition", "offset", "unix_millis(timestamp) ms"]
        if "headers" in frame.columns:
            chosen.append("to_json(headers) headers")
        rows = frame.selectExpr(*chosen, "timestampType").orderBy("topic", "partition", "offset").collect()
        types = frame.schema.simpleString()
        return {"rows": [list(row) for row in rows], "types": types, "tasks": frame.rdd.getNumPartitions()}
    except Exception as error:
        return {"error": str(error)}


def test_the_same_answers(lab: Lab) -> None:
    sets = option_sets(*prepare(lab))
    job = json.dumps({"broker": lab.address, "reads": sets})
    theirs = json.loads(spark_jvm.run(Path(__file__).with_name("jvm_reader.py"), input=job).splitlines()[-1])
    different = []
    for options, expected in zip(sets, theirs, strict=True):
        ours = our_answer(lab, options)
        if ("error" in ours) != ("error" in expected):
            different.append((options, ours.get("error"), expected.get("error")))
        elif "error" not in ours:
            if "minPartitions" not in options:  # theirs has tasks for empty ranges, and knows no maxRecordsPerPartition
                ours["tasks"] = expected["tasks"]
            if ours != expected:
                summary = [(len(one["rows"]), one["types"], one["tasks"]) for one in (ours, expected)]
                different.append((options, *summary))
    assert not different
