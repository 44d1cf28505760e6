"""Nothing stays behind of a connection, however it ends; and who reads, however slowly, is not taken for gone."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import struct
import tracemalloc

import pytest

from support.loop import async_test, until
from tidelog.testing.clock import ManualClock

from .harness import RecordingSink, framed, listening, many_listening, read_frame

RESET = struct.pack("ii", 1, 0)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


@async_test
async def test_who_connects_and_resets_leaves_nothing_behind():
    async with listening(RecordingSink(), max_connections_per_ip=100) as (listener, host, port):
        before = descriptors()
        for _ in range(15):
            for _ in range(20):
                knocking = socket.create_connection((host, port))
                knocking.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                knocking.close()
            # one that stays is served after those that knocked before it
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(framed(b"still there"))
            assert await read_frame(reader) == b"still there"
            writer.close()
            await until(lambda: not listener.table.connections)
        assert listener.table.refusal("127.0.0.1") is None
        await until(lambda: descriptors() <= before + 5)  # the loop may have opened one for itself


@async_test
async def test_connections_ask_the_kernel_whether_the_other_side_is_alive():
    sink = RecordingSink()
    async with listening(sink) as (_, host, port):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(framed(b"x"))
        await read_frame(reader)
        sock = sink.connections[0].transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        writer.close()


@async_test
async def test_a_slow_reader_is_closed_only_when_it_stops_reading():
    clock = ManualClock()
    sink = RecordingSink(lambda connection, frame: connection.write([framed(bytes(64 << 20))]))
    limits = {"max_idle_ms": 1000, "send_buffer": 32 << 10}
    async with many_listening(sink, ["TEST"], clock, **limits) as ([listener], [address]):
        loop = asyncio.get_running_loop()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 10)
            client.setblocking(False)
            await loop.sock_connect(client, address)
            await loop.sock_sendall(client, framed(b"much, please"))
            await until(lambda: sink.frames)
            for _ in range(20):
                (connection,) = listener.table.connections
                before, taken = connection.writes, 0
                while connection.writes == before or taken < 1 << 20:
                    taken += len(await loop.sock_recv(client, 1 << 16))
                clock.advance(0.9)
                assert listener.table.close_idle() == 0
            await nothing_moves(connection)
            listener.table.close_idle()
            clock.advance(1.1)
            assert listener.table.close_idle() == 1


@async_test
async def test_a_reader_that_takes_what_the_kernel_holds_is_not_idle():
    """Megabytes may lie there, and no write is possible, or needed, until much of them is taken."""
    clock = ManualClock()
    sink = RecordingSink(lambda connection, frame: connection.write([framed(bytes(64 << 20))]))
    async with many_listening(sink, ["TEST"], clock, max_idle_ms=1000, send_buffer=4 << 20) as ([listener], [address]):
        loop = asyncio.get_running_loop()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 10)
            client.setblocking(False)
            await loop.sock_connect(client, address)
            await loop.sock_sendall(client, framed(b"much, please"))
            await until(lambda: sink.frames)
            (connection,) = listener.table.connections
            await nothing_moves(connection)
            listener.table.close_idle()
            writes = connection.writes
            for _ in range(5):
                taken = 0
                while taken < 128 << 10:
                    taken += len(await loop.sock_recv(client, 1 << 14))
                clock.advance(0.9)
                assert listener.table.close_idle() == 0
            assert connection.writes == writes
            await nothing_moves(connection)
            listener.table.close_idle()
            clock.advance(1.1)
            assert listener.table.close_idle() == 1


async def nothing_moves(connection):
    quiet = 0
    while quiet < 100:
        before = connection.writes
        await asyncio.sleep(0.001)
        quiet = quiet + 1 if connection.writes == before else 0


@pytest.mark.parametrize("later", [False, True], ids=["at once", "when it is ready"])
@async_test
async def test_without_descriptors_an_answer_that_must_wait_closes_its_connection(monkeypatch, later):
    def answer(connection, frame):
        """Most answers are made later: then no request that has just come fails with them."""
        much = [framed(bytes(64 << 20))]
        if later:
            asyncio.get_running_loop().call_soon(connection.write, much)
        else:
            connection.write(much)

    sink = RecordingSink(answer)
    async with listening(sink, send_buffer=32 << 10) as (listener, host, port):
        _, writer = await asyncio.open_connection(host, port)

        def none_left(fd):
            raise OSError(errno.EMFILE, "Too many open files")

        monkeypatch.setattr(os, "dup", none_left)
        writer.write(framed(b"much, please"))
        await until(lambda: sink.lost)
        monkeypatch.undo()
        assert not listener.table.connections
        writer.close()


@async_test
async def test_an_answer_that_must_wait_takes_none_of_the_last_descriptors(monkeypatch):
    sink = RecordingSink(lambda connection, frame: connection.write([framed(bytes(64 << 20))]))
    async with listening(sink, send_buffer=32 << 10) as (listener, host, port):
        _, writer = await asyncio.open_connection(host, port)
        await until(lambda: listener.table.connections)
        before = len(os.listdir("/proc/self/fd"))
        monkeypatch.setattr("tidelog.net._socket_sending.is_scarce", lambda descriptor: True)
        writer.write(framed(b"much, please"))
        await until(lambda: sink.lost)
        assert not listener.table.connections
        await until(lambda: len(os.listdir("/proc/self/fd")) < before)
        writer.close()


@async_test
async def test_the_memory_of_a_huge_frame_goes_with_it():
    sink = RecordingSink(lambda connection, frame: connection.write([framed(b"ok")]))
    async with listening(sink) as (_, host, port):
        reader, writer = await asyncio.open_connection(host, port)
        tracemalloc.start()
        try:
            writer.write(framed(b"small"))
            assert await read_frame(reader) == b"ok"
            base = tracemalloc.get_traced_memory()[0]
            for _ in range(2):
                writer.write(framed(bytes(40 << 20)) + framed(b"half of the next")[:10])
                assert await read_frame(reader) == b"ok"
                sink.frames.clear()
                left = tracemalloc.get_traced_memory()[0] - base
                assert left < 8 << 20
                writer.write(framed(b"half of the next")[10:])
                assert await read_frame(reader) == b"ok"
        finally:
            tracemalloc.stop()
        writer.close()
