"""`tidelog produce` as a process: on a terminal, behind a slow pipe, with nobody at the other end."""

from __future__ import annotations

import os
import pty
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.ports import free_port
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker

COMMAND = [str(Path(sys.executable).with_name("tidelog")), "produce"]


@pytest.fixture(scope="module")
def broker():
    with Broker() as broker:
        broker.create_topic("t")
        yield broker


@contextmanager
def producing(address: str, stdin: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([*COMMAND, "t", "-b", address], stdin=stdin, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stderr):
            if stream is not None:
                stream.close()


def wait_for_end(broker: Broker, offset: int) -> None:
    log = broker.server.log_manager.logs[TopicPartition("t", 0)]
    for _ in range(6000):
        if log.log_end_offset >= offset:
            return
        broker.call(_pause())
    raise AssertionError(f"only {log.log_end_offset} records")


async def _pause() -> None:
    import asyncio

    await asyncio.sleep(0.01)


def test_ctrl_c_on_a_terminal_ends_it_at_once(broker):
    before = broker.server.log_manager.logs[TopicPartition("t", 0)].log_end_offset
    master, slave = pty.openpty()
    with producing(broker.address, slave) as process:
        os.close(slave)
        os.write(master, b"typed\n")
        wait_for_end(broker, before + 1)
        process.send_signal(2)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert re.fullmatch(rb"Interrupted: [01] records? written to t.\n", err)
    os.close(master)


def test_a_slow_pipe_is_not_held_back(broker):
    before = broker.server.log_manager.logs[TopicPartition("t", 0)].log_end_offset
    with producing(broker.address, subprocess.PIPE) as process:
        assert process.stdin is not None
        for number in (1, 2):
            process.stdin.write(b"line\n")
            process.stdin.flush()
            wait_for_end(broker, before + number)
        _, err = process.communicate(b"no end", timeout=60)
        assert (process.returncode, err) == (0, b"3 records written to t.\n")


def test_nobody_at_the_address_is_told_at_once():
    address = f"127.0.0.1:{free_port()}"
    with producing(address, subprocess.PIPE) as process:
        _, err = process.communicate(b"x\n", timeout=50)  # less than a client's patience
        assert process.returncode == 1
        assert err.startswith(f"error: NETWORK_EXCEPTION: cannot connect to {address} (TCP): Connection ref".encode())
        assert b"-b or $TIDELOG_BOOTSTRAP_SERVER names another broker" in err


def test_whom_it_waits_for_is_said_and_can_be_given_up():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with producing(address, subprocess.PIPE) as process:
            assert process.stderr is not None
            assert process.stderr.readline() == f"Waiting for a broker at {address}; Ctrl-C gives up.\n".encode()
            process.send_signal(2)
            assert process.wait(60) == 130


def test_who_goes_away_is_waited_for():
    with Broker() as broker:
        broker.create_topic("t")
        address = broker.address
        with producing(address, subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stderr is not None
            process.stdin.write(b"line\n")
            process.stdin.flush()
            wait_for_end(broker, 1)
            broker.stop()
            assert process.stderr.readline() == f"Waiting for a broker at {address}; Ctrl-C gives up.\n".encode()
            broker.start()
            _, err = process.communicate(b"after\n", timeout=120)
            assert (process.returncode, err) == (0, b"2 records written to t.\n")


def test_a_topic_that_nobody_makes_is_told_at_once():
    with (
        Broker(config={"auto.create.topics.enable": "false"}) as broker,
        producing(broker.address, subprocess.PIPE) as process,
    ):
        _, err = process.communicate(b"x\n", timeout=50)  # less than a client's patience for what comes later
        assert process.returncode == 2
        assert err == b"error: There is no topic t, and the cluster does not create it by itself\n"
