"""Every method of Kafka's own Admin is in the guide's table."""

from __future__ import annotations

import re
import subprocess

import kafka_jars
import pytest

from support.guides import GUIDES
from support.kafka import KAFKA_4, require_java

pytestmark = pytest.mark.java


def test_the_table_has_every_method_of_javas_admin() -> None:
    require_java()
    (jar,) = kafka_jars.broker_libs(KAFKA_4).glob("kafka-clients-*.jar")
    command = ["javap", "-cp", str(jar), "org.apache.kafka.clients.admin.Admin"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    methods = set(re.findall(r" (\w+)\(", shown))
    rows = re.findall(r"^\| `(\w+)` \|", (GUIDES / "admin.md").read_text(), re.MULTILINE)
    assert methods == set(rows)
    assert len(rows) == len(set(rows))
