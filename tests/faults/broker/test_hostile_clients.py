"""Clients that send garbage, half frames and huge lengths, never read, or come in thousands: the broker serves on."""

from __future__ import annotations

import random
import resource
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from support.tidelog import TidelogServer
from tidelog.protocol.api import API, ApiKey
from tidelog.protocol.headers import encode_request
from tidelog.protocol.messages import ApiVersionsRequest, FetchRequest


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TidelogServer]:
    with TidelogServer(
        tmp_path_factory.mktemp("broker"), properties={"socket.request.max.bytes": "10485760"}
    ) as started:
        yield started


def connect(server: TidelogServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=60)


def rss_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


def check_alive(server: TidelogServer) -> None:
    """A good client is answered at once."""
    with connect(server) as sock:
        sock.sendall(encode_request(ApiKey.API_VERSIONS, 3, 77, "check", ApiVersionsRequest(client_software_name="x")))
        size, correlation = struct.unpack(">ii", sock.recv(8, socket.MSG_WAITALL))
        assert correlation == 77
        assert len(sock.recv(size - 4, socket.MSG_WAITALL)) == size - 4


def closes(sock: socket.socket) -> bool:
    """Whether the broker closed the connection (rather than leaving it hanging)."""
    sock.settimeout(60)
    try:
        while sock.recv(65536):
            continue
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("length", [-1, -(2**31), 2**31 - 1, 10485761])
def test_impossible_lengths_close_that_connection_alone(server: TidelogServer, length: int) -> None:
    with connect(server) as bad:
        bad.sendall(struct.pack(">i", length) + b"x" * 100)
        assert closes(bad)
    check_alive(server)


@pytest.mark.timeout(1200)  # the long form takes ten minutes
def test_random_bytes(server: TidelogServer, request: pytest.FixtureRequest) -> None:
    """Whole frames of noise, noise behind good headers, and good requests with flipped bytes."""
    rng = random.Random(20)
    deadline = time.monotonic() + (600 if request.config.getoption("--soak") else 60)
    good = encode_request(ApiKey.API_VERSIONS, 3, 1, "check", ApiVersionsRequest(client_software_name="x"))
    before = rss_mb(server.pid)
    while time.monotonic() < deadline:
        with connect(server) as sock:
            for _ in range(rng.randrange(1, 20)):
                spec = API[rng.choice(list(API))]
                version = rng.randint(spec.min_version, spec.max_version)
                body = rng.randbytes(rng.choice([0, 1, 7, 60, 700]))
                header = struct.pack(">hhi", int(spec.key), version, 1) + struct.pack(">h", 2) + b"id" + b"\0"
                frame = rng.choice(
                    [
                        struct.pack(">i", len(body)) + body,
                        struct.pack(">i", len(header) + len(body)) + header + body,
                        bytes(byte ^ (1 << rng.randrange(8)) if rng.random() < 0.05 else byte for byte in good),
                    ]
                )
                try:
                    sock.sendall(frame)
                except OSError:
                    break
    check_alive(server)
    assert rss_mb(server.pid) < before + 100


def test_half_frames_do_not_hold_others_up(server: TidelogServer) -> None:
    good = encode_request(ApiKey.API_VERSIONS, 3, 5, "check", ApiVersionsRequest(client_software_name="x"))
    halves = [connect(server) for _ in range(50)]
    for number, sock in enumerate(halves):
        sock.sendall(good[: 1 + number % (len(good) - 1)])
    check_alive(server)
    for number, sock in enumerate(halves):  # the rest arrives byte by byte: it is a good request after all
        for byte in good[1 + number % (len(good) - 1) :]:
            sock.sendall(bytes([byte]))
        assert struct.unpack(">ii", sock.recv(8, socket.MSG_WAITALL))[1] == 5
        sock.close()


def test_a_client_that_never_reads_cannot_fill_the_memory(server: TidelogServer) -> None:
    admin = AdminClient({"bootstrap.servers": server.address})
    admin.create_topics([NewTopic("unread", 1, 1)])["unread"].result(60)
    producer = Producer({"bootstrap.servers": server.address})
    for _ in range(60):
        producer.produce("unread", value=bytes(900_000), partition=0)
        producer.poll(0)
    assert producer.flush(60) == 0
    fetch = FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=50_000_000,
        topics=[
            FetchRequest.FetchTopic(
                topic="unread",
                partitions=[FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=50_000_000)],
            )
        ],
    )
    request = encode_request(ApiKey.FETCH, 4, 1, "deaf", fetch)
    before = rss_mb(server.pid)
    with connect(server) as deaf:
        deaf.settimeout(2)
        sent = 0
        try:
            while sent < 200_000_000:
                deaf.sendall(request * 100)
                sent += len(request) * 100
        except TimeoutError:
            sent += 0
        assert sent < 200_000_000, "the broker should stop reading from a client that does not read"
        check_alive(server)
        assert rss_mb(server.pid) < before + 120
    check_alive(server)


def test_five_thousand_connections(server: TidelogServer) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 6000:
        pytest.skip(f"this machine allows {hard} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 6000), hard))
    before = rss_mb(server.pid)
    connections: list[socket.socket] = []
    try:
        for _ in range(5000):
            connections.append(connect(server))
        check_alive(server)
        good = encode_request(ApiKey.API_VERSIONS, 3, 9, "check", ApiVersionsRequest(client_software_name="x"))
        for sock in connections[::50]:
            sock.sendall(good)
        for sock in connections[::50]:
            assert struct.unpack(">ii", sock.recv(8, socket.MSG_WAITALL))[1] == 9
        assert rss_mb(server.pid) < before + 200
    finally:
        for sock in connections:
            sock.close()
    check_alive(server)


def test_a_crowd_takes_no_descriptor_that_the_logs_need(tmp_path: Path) -> None:
    """Idle connections up to the limit of open files: checkpoints, new segments and new topics go on."""
    limit = 300
    with TidelogServer(tmp_path, properties={"replica.high.watermark.checkpoint.interval.ms": "200"}) as crowded:
        resource.prlimit(crowded.pid, resource.RLIMIT_NOFILE, (limit, limit))
        early = [connect(crowded) for _ in range(20)]
        crowd = [connect(crowded) for _ in range(limit)]
        try:
            deadline = time.monotonic() + 60
            while "few descriptors are left" not in crowded.log:
                assert time.monotonic() < deadline, "nobody was turned away"
                time.sleep(0.05)
            good = encode_request(ApiKey.API_VERSIONS, 3, 9, "check", ApiVersionsRequest(client_software_name="x"))
            for _ in range(10):
                time.sleep(0.2)  # as long as a checkpoint takes to come round
                assert crowded.process is not None
                assert crowded.process.poll() is None, crowded.log[-2000:]
                early[0].sendall(good)
                size, correlation = struct.unpack(">ii", early[0].recv(8, socket.MSG_WAITALL))
                assert correlation == 9
                early[0].recv(size - 4, socket.MSG_WAITALL)
            assert "taken offline" not in crowded.log
        finally:
            for sock in [*early, *crowd]:
                sock.close()
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                check_alive(crowded)
                break
            except (ConnectionError, struct.error):
                time.sleep(0.1)
        else:
            raise AssertionError("nobody was let in again")
