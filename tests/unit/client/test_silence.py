"""A program that has set up no logging sees nothing of ours on standard error, whatever goes wrong."""

from __future__ import annotations

import subprocess
import sys

from support.ports import free_port

SCRIPT = """
import logging, sys
import tidelog

address = sys.argv[1]
for name in ("tidelog.client", "tidelog.client.consumer", "tidelog.net", "tidelog.log"):
    __import__(name.removesuffix(".consumer"))
    logging.getLogger(name).error("not for the terminal")
with tidelog.Consumer({"bootstrap.servers": address, "no.such.key": 1}) as consumer:
    consumer.assign([tidelog.TopicPartition("orders", 0)])
    while not consumer.health().reason.startswith("there is no connection to any broker: "):
        consumer.poll(timeout=0.01)
print(consumer.health().reason)
"""


def test_nothing_is_written_to_standard_error() -> None:
    address = f"127.0.0.1:{free_port()}"
    done = subprocess.run([sys.executable, "-c", SCRIPT, address], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "the consumer is closed\n"
