"""`/metrics` and `/health`: HEAD has no body, connections are bounded, and a scrape does not hold up the loop."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import socket
import struct
import threading

from support.disks import create, write
from support.loop import async_test, until
from tidelog.broker import exposition, http
from tidelog.broker.server import Broker
from tidelog.common.errors import StorageError
from tidelog.common.types import TopicPartition
from tidelog.testing.fs import FailingFileSystem


def values(tmp_path):
    return {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(tmp_path),
        "tidelog.http.listener": "127.0.0.1:0",
    }


async def ask(broker, request):
    reader, writer = await asyncio.open_connection("127.0.0.1", broker.http.port)
    writer.write(request + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return head, body


@async_test
async def test_head_tells_the_length_and_sends_no_body(tmp_path):
    async with Broker(values(tmp_path)) as broker:
        for path in (b"/health", b"/metrics", b"/elsewhere"):
            whole, body = await ask(broker, b"GET " + path)
            assert f"Content-Length: {len(body)}".encode() in whole
            head, nothing = await ask(broker, b"HEAD " + path)
            assert nothing == b""
            assert head.splitlines()[0] == whole.splitlines()[0]
            assert b"Content-Length: " in head


@async_test
async def test_who_asks_how_it_is_hears_of_a_directory_that_is_offline(tmp_path):
    """503 is what a health checker understands; the body says which it is."""
    disk = FailingFileSystem()
    dirs = {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}"}
    async with Broker({**values(tmp_path), **dirs}, fs=disk) as broker:
        await create(broker, "t", 2)
        head, body = await ask(broker, b"GET /health")
        assert (head.splitlines()[0], json.loads(body)["status"]) == (b"HTTP/1.1 200 OK", "ok")
        disk.fail("write", "/b/*.log", errno.ENOSPC)
        for number in range(2):
            with contextlib.suppress(StorageError):
                await write(broker, TopicPartition("t", number), [b"1"])
        head, body = await ask(broker, b"GET /health")
        told = json.loads(body)
        assert head.startswith(b"HTTP/1.1 503 ")
        assert (told["status"], told["offline_dirs"]) == ("degraded", [str(tmp_path / "b")])


@async_test
async def test_more_connections_than_can_be_served_are_told_so(tmp_path, monkeypatch):
    monkeypatch.setattr(http, "MOST_CONNECTIONS", 3)
    async with Broker(values(tmp_path)) as broker:
        idle = [await asyncio.open_connection("127.0.0.1", broker.http.port) for _ in range(3)]
        await until(lambda: broker.http._open == 3)
        reader, writer = await asyncio.open_connection("127.0.0.1", broker.http.port)
        assert b"503" in await reader.read()
        writer.close()
        for _, writer in idle:
            writer.close()
        await until(lambda: broker.http._open == 0)
        head, _ = await ask(broker, b"GET /health")
        assert b"200" in head


@async_test
async def test_a_scrape_reads_the_logs_in_slices_and_makes_its_text_on_a_thread(tmp_path, monkeypatch):
    monkeypatch.setattr(exposition, "SLICE", 2)
    threads = []
    text = exposition.Numbers.text
    monkeypatch.setattr(
        exposition.Numbers, "text", lambda self: threads.append(threading.current_thread()) or text(self), raising=True
    )
    async with Broker(values(tmp_path)) as broker:
        await create(broker, "t", 5)
        head, body = await ask(broker, b"GET /metrics")
        assert b"200" in head
        assert body.count(b"tidelog_log_end_offset{") == 5
        assert b'tidelog_log_bytes{partition="4",topic="t"} 0.0' in body
        assert len(threads) == 1
        assert threads[0] is not threading.main_thread()


@async_test
async def test_who_asks_and_does_not_read_is_cut_off_with_what_it_was_to_get(tmp_path, monkeypatch):
    monkeypatch.setattr(http, "READ_TIMEOUT", 0.5)
    transports = []

    async def much(self):
        return bytes(64 << 20)

    serve = http.HttpServer._serve

    async def noted(self, reader, writer):
        transports.append(writer.transport)
        await serve(self, reader, writer)

    monkeypatch.setattr(exposition.Exposition, "text", much)
    monkeypatch.setattr(http.HttpServer, "_serve", noted)
    async with Broker(values(tmp_path)) as broker:
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", broker.http.port))
            deaf.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
            await until(lambda: transports and broker.http._open == 0)
            await until(lambda: transports[0].get_write_buffer_size() == 0)
            assert await asyncio.to_thread(read_all, deaf) < 64 << 20


@async_test
async def test_who_leaves_while_its_answer_is_made_is_no_failure(tmp_path, monkeypatch):
    """A scraper that gives up, a port scan: what the loop only logs fails this test."""
    asked, left = asyncio.Event(), asyncio.Event()
    gone = []

    async def slow(self):
        asked.set()
        await left.wait()
        return b"numbers"

    serve = http.HttpServer._serve

    async def noted(self, reader, writer):
        gone.append(writer.transport.is_closing)
        await serve(self, reader, writer)

    monkeypatch.setattr(exposition.Exposition, "text", slow)
    monkeypatch.setattr(http.HttpServer, "_serve", noted)
    async with Broker(values(tmp_path)) as broker:
        _, writer = await asyncio.open_connection("127.0.0.1", broker.http.port)
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        await asked.wait()
        reset(writer)
        await until(lambda: gone[0]())
        left.set()
        await until(lambda: broker.http._open == 0)
        assert b"200" in (await ask(broker, b"GET /health"))[0]


def reset(writer):
    """Hang up without a word: the other side's next look at the connection is an error."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def read_all(sock):
    """How many bytes come before the end."""
    sock.settimeout(60)
    count = 0
    try:
        while piece := sock.recv(1 << 20):
            count += len(piece)
    except ConnectionError:
        return count
    return count
