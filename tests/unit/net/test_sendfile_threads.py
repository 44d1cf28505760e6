"""Large sends of several connections at once: what a thread sends arrives as if the loop had sent it."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import random
import socket
import struct
from pathlib import Path

import pytest
import uvloop

from support.loop import until

from .harness import FileSlice, RecordingSink, framed, listening

SIZE = 6 << 20
HEAD = struct.Struct(">i4s")


def run(coroutine):
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(asyncio.wait_for(coroutine, 120))


@pytest.fixture
def segment(tmp_path):
    path = tmp_path / "segment"
    path.write_bytes(random.Random(7).randbytes(SIZE + 100))
    return path


class Slices:
    """Answers each frame (a position) with `SIZE` bytes of the file from there, and remembers the slices."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.made: list[FileSlice] = []

    def __call__(self, connection, frame):
        self.made.append(FileSlice(self.path, struct.unpack(">i", frame)[0], SIZE))
        connection.write([HEAD.pack(SIZE + 4, b"head"), self.made[-1], b""])

    def all_released(self) -> bool:
        return all(one.references == 0 for one in self.made)


def read_answers(address, positions, digests):
    """Blocking, on a thread of its own: ask for everything at once, digest each answer."""
    with socket.create_connection(address) as client:
        client.sendall(b"".join(framed(struct.pack(">i", position)) for position in positions))
        stream = client.makefile("rb", buffering=1 << 20)
        for position in positions:
            assert HEAD.unpack(stream.read(HEAD.size)) == (SIZE + 4, b"head")
            digests.append((position, hashlib.md5(stream.read(SIZE)).digest()))


def test_a_lone_reader_is_served_by_the_loop_alone(segment):
    async def main():
        slices = Slices(segment)
        async with listening(RecordingSink(slices)) as (listener, host, port):
            await asyncio.to_thread(read_answers, (host, port), [0, 1, 2], [])
            await until(slices.all_released)
            assert not listener.sendfile_threads.threads

    run(main())


@pytest.mark.parametrize("send_buffer", [-1, 64 << 10])
def test_readers_at_the_same_time_get_their_own_bytes_in_order(segment, send_buffer):
    content = segment.read_bytes()
    positions = [[reader * 10 + answer for answer in range(8)] for reader in range(4)]

    async def main():
        slices = Slices(segment)
        digests: list[list] = [[] for _ in positions]
        async with listening(RecordingSink(slices), send_buffer=send_buffer) as (listener, host, port):
            await asyncio.gather(
                *(asyncio.to_thread(read_answers, (host, port), *one) for one in zip(positions, digests, strict=True))
            )
            await until(slices.all_released)
            assert listener.sendfile_threads.waiting == 0
            if send_buffer < 0:  # a small buffer is full before a turn is over: then nobody waits for one
                assert len(listener.sendfile_threads.threads) == 1
        assert digests == [[(at, hashlib.md5(content[at : at + SIZE]).digest()) for at in one] for one in positions]

    run(main())


class NoneLeft:
    """The module `os` of a process without descriptors, for whoever asks for another of a socket."""

    def __init__(self) -> None:
        self.asked = 0

    def __getattr__(self, name):
        return getattr(os, name)

    def dup(self, fd):
        self.asked += 1
        raise OSError(errno.EMFILE, "Too many open files")


def test_without_a_descriptor_for_a_thread_the_loop_sends(segment, monkeypatch):
    content = segment.read_bytes()
    none_left = NoneLeft()
    monkeypatch.setattr("tidelog.net._sendfile_threads.os", none_left)

    async def main():
        digests: list[list] = [[] for _ in range(4)]
        async with listening(RecordingSink(Slices(segment))) as (_, host, port):
            await asyncio.gather(*(asyncio.to_thread(read_answers, (host, port), range(8), one) for one in digests))
        assert digests == [[(at, hashlib.md5(content[at : at + SIZE]).digest()) for at in range(8)]] * 4

    run(main())
    assert none_left.asked, "no thread was wanted"


def test_connections_lost_in_the_middle_of_a_send_leave_nothing_open(segment):
    """Half of the readers go away early: the files and sockets of their sends are closed, the others lose no byte."""
    content = segment.read_bytes()

    def leave_early(address, after):
        with socket.create_connection(address) as client:
            client.sendall(framed(struct.pack(">i", 0)) * 3)
            left = after
            while left > 0:
                left -= len(client.recv(min(left, 1 << 16)))

    async def main():
        slices = Slices(segment)
        digests: list[tuple[int, bytes]] = []
        async with listening(RecordingSink(slices)) as (listener, host, port):
            await asyncio.to_thread(read_answers, (host, port), [0], [])
            before = len(os.listdir("/proc/self/fd"))
            await asyncio.gather(
                asyncio.to_thread(read_answers, (host, port), [5] * 12, digests),
                *(asyncio.to_thread(leave_early, (host, port), 1 + number * 300_000) for number in range(12)),
            )
            await until(lambda: not listener.table.connections)
            await until(slices.all_released)
            assert listener.sendfile_threads.waiting == 0
            assert len(listener.sendfile_threads.threads) == 1
            assert len(os.listdir("/proc/self/fd")) - before == 2, "the pipe of the threads, and nothing else"
        assert digests == [(5, hashlib.md5(content[5 : 5 + SIZE]).digest())] * 12

    run(main())


def test_stopping_in_the_middle_of_sends_releases_them(segment):
    async def main():
        slices = Slices(segment)
        clients = []
        async with listening(RecordingSink(slices)) as (listener, host, port):
            for _ in range(6):
                client = socket.create_connection((host, port))
                client.sendall(framed(struct.pack(">i", 0)))
                clients.append(client)
            await until(lambda: len(slices.made) == 6)
        assert slices.all_released()
        assert not listener.sendfile_threads.threads
        for client in clients:
            client.close()

    run(main())
