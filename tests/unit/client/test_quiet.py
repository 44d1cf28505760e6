"""What clients leave alone: standard error (all is `logging`), and, on a caller's loop, threads."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tidelog import aio
from tidelog.client.admin.topic_values import NewTopic
from tidelog.testing import Broker

#: A program in which about everything goes wrong that a client could have something to say about.
PROGRAM = """
import logging, sys, tidelog
logging.basicConfig(filename=sys.argv[2], level=logging.DEBUG)
address = sys.argv[1]

class Broken(tidelog.ProducerInterceptor):
    def on_send(self, record):
        raise ZeroDivisionError("in an interceptor")

def broken(metadata, error):
    raise ZeroDivisionError("in a callback")

servers = f"127.0.0.1:1,{address}"
producer = tidelog.Producer({"bootstrap.servers": servers, "lingr.ms": 5, "interceptor.classes": [Broken]})
producer.send("t", b"x", on_delivery=broken)
try:
    producer.flush(30)
except ZeroDivisionError:
    pass
settings = {"bootstrap.servers": address, "group.id": "g", "allow.auto.create.topics": False}
consumer = tidelog.Consumer(settings)
consumer.subscribe(["no-such-topic"])
consumer.poll(0.3)
with tidelog.Admin(bootstrap_servers="127.0.0.1:1") as admin:
    try:
        admin.topics(timeout=0.3)
    except tidelog.KafkaError:
        pass
consumer.close()
producer.close()
"""


def test_nothing_is_written_to_standard_error(tmp_path: Path) -> None:
    """Not even by a program whose callbacks raise and whose brokers are not there; its log has it all."""
    log = tmp_path / "log"
    with Broker() as broker:
        broker.create_topic("t")
        program = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
        done = subprocess.run([*program, broker.address, str(log)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    said = log.read_text()
    assert "did you mean linger.ms?" in said
    assert "in a callback" in said
    assert "in an interceptor" in said
    assert "there is no topic no-such-topic" in said


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_clients_on_a_callers_loop_start_no_threads(
    run: Callable[[Coroutine[Any, Any, None]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three, from the first connection to the last commit. (The broker, on a thread of its own, may.)"""
    caller, started, start = threading.current_thread(), [], threading.Thread.start

    def noted(thread: threading.Thread) -> None:
        if threading.current_thread() is caller:
            started.append(thread.name)
        start(thread)

    async def main(address: str) -> None:
        async with aio.Admin(bootstrap_servers=address) as admin:
            await admin.create_topics([NewTopic("t", 1)])
        async with aio.Producer(bootstrap_servers=address) as producer:
            await producer.send("t", b"x")
        settings = {"bootstrap.servers": address, "group.id": "g", "auto.offset.reset": "earliest"}
        async with aio.Consumer(settings) as consumer:
            await consumer.subscribe(["t"])
            assert [record.value for record in await consumer.poll(30)] == [b"x"]
            await consumer.commit()

    with Broker() as broker:
        monkeypatch.setattr(threading.Thread, "start", noted)
        run(main(broker.address))
        monkeypatch.undo()
    assert started == []
