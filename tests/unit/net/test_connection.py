"""The server connection: framing, order, back-pressure, files, and bytes that are no frames."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
import struct
from pathlib import Path

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from support.loop import until

from .harness import FileSlice, RecordingSink, framed, listening, read_frame


def run(coroutine):
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(asyncio.wait_for(coroutine, 120))


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def connect(host, port):
    return await asyncio.open_connection(host, port, limit=64 << 20)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 300_000), min_size=1, max_size=8),
    cuts=st.lists(st.integers(1, 200_000), min_size=1, max_size=20),
)
def test_frames_arrive_whole_and_in_order_however_they_are_cut(sizes, cuts):
    bodies = [bytes([index + 1]) * size for index, size in enumerate(sizes)]
    stream = b"".join(map(framed, bodies))

    async def main():
        sink = RecordingSink()
        async with listening(sink) as (_, host, port):
            reader, writer = await connect(host, port)
            position = 0
            turn = 0
            while position < len(stream):
                cut = cuts[turn % len(cuts)]
                writer.write(stream[position : position + cut])
                await writer.drain()
                await asyncio.sleep(0)
                position += cut
                turn += 1
            assert [await read_frame(reader) for _ in bodies] == bodies
            assert sink.frames == bodies
            writer.close()

    run(main())


def test_answers_of_one_read_event_leave_in_one_write():
    async def main():
        sink = RecordingSink()
        async with listening(sink) as (_, host, port):
            with socket.create_connection((host, port)) as client:
                client.setblocking(False)
                loop = asyncio.get_running_loop()
                await loop.sock_sendall(client, b"".join(framed(b"%d" % n) for n in range(100)))
                received = await loop.sock_recv(client, 1 << 20)
                assert received == b"".join(framed(b"%d" % n) for n in range(100))

    run(main())


def test_a_request_in_work_holds_back_the_later_ones_of_its_connection_only():
    async def main():
        waiting = []

        def answer(connection, frame):
            if frame == b"slow":
                connection.begin()
                waiting.append(connection)
            else:
                connection.write([framed(frame)])

        sink = RecordingSink(answer)
        async with listening(sink) as (_, host, port):
            reader, writer = await connect(host, port)
            other_reader, other_writer = await connect(host, port)
            writer.write(framed(b"slow") + framed(b"fast"))
            await writer.drain()
            await until(lambda: waiting)
            other_writer.write(framed(b"other"))
            assert await read_frame(other_reader) == b"other"
            writer.write(framed(b"later"))
            other_writer.write(framed(b"behind it"))  # when this is answered, the loop has looked at what came before
            assert await read_frame(other_reader) == b"behind it"
            assert b"fast" not in sink.frames
            waiting[0].finish([framed(b"slow done")])
            assert [await read_frame(reader) for _ in range(3)] == [b"slow done", b"fast", b"later"]
            writer.close()
            other_writer.close()

    run(main())


def test_a_client_that_does_not_read_stops_being_read():
    async def main():
        sink = RecordingSink(lambda connection, frame: connection.write([framed(bytes(100_000))]))
        async with listening(sink, send_buffer=65536) as (_, host, port):
            client = socket.create_connection((host, port))
            client.setblocking(False)
            request = framed(bytes(1000)) * 50
            sent = 0
            idle = 0
            while idle < 20 and sent < 400 << 20:
                try:
                    sent += client.send(request)
                    idle = 0
                except BlockingIOError:
                    idle += 1
                await asyncio.sleep(0.002)  # twenty such looks in a row: the broker tells nobody that it does not read
            assert sent < 100 << 20  # the kernel's buffers filled up; the broker took no more
            answered = len(sink.frames)
            assert answered * 100_000 < 32 << 20
            client.close()

    run(main())


@pytest.mark.parametrize("size", [-1, -2_000_000_000, 2_000_001, 0x47455420])
def test_a_broken_length_closes_that_connection_alone_and_says_who(size, caplog):
    async def main():
        sink = RecordingSink()
        async with listening(sink, max_frame=2_000_000) as (_, host, port):
            good_reader, good_writer = await connect(host, port)
            reader, writer = await connect(host, port)
            writer.write(struct.pack(">i", size) + b"x" * 64)
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await reader.readexactly(1)
            good_writer.write(framed(b"still here"))
            assert await read_frame(good_reader) == b"still here"
            writer.close()
            good_writer.close()

    with caplog.at_level(logging.WARNING, "tidelog.net"):
        run(main())
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 1
    assert "127.0.0.1:" in lines[0]
    assert "socket.request.max.bytes" in lines[0]


def test_a_length_alone_allocates_nothing_like_it():
    async def main():
        sink = RecordingSink()
        before = resident_bytes()
        async with listening(sink) as (listener, host, port):
            pairs = [await connect(host, port) for _ in range(50)]
            for _, writer in pairs:
                writer.write(struct.pack(">i", 100_000_000) + b"x")
            await until(lambda: sum(connection.reads for connection in listener.table.connections) >= 50)
            assert resident_bytes() - before < 100 << 20  # of five gigabytes that were announced
            for _, writer in pairs:
                writer.close()

    run(main())


@pytest.mark.parametrize("send_buffer", [-1, 102400])
def test_file_slices_and_bytes_leave_in_order_and_are_released_once(tmp_path, send_buffer):
    path = tmp_path / "segment"
    path.write_bytes(random.Random(1).randbytes(8 << 20))
    content = path.read_bytes()
    slices = []

    async def main():
        def answer(connection, frame):
            position, size = struct.unpack(">qq", frame)
            one = FileSlice(path, position, size)
            slices.append(one)
            connection.write([struct.pack(">i", size + 4) + b"head", one])

        sink = RecordingSink(answer)
        async with listening(sink, send_buffer=send_buffer) as (_, host, port):
            reader, writer = await connect(host, port)
            wanted = [(0, 8 << 20), (17, 1), (5, 3 << 20), (4096, 0), (1 << 20, 1 << 20)]
            for position, size in wanted:
                writer.write(framed(struct.pack(">qq", position, size)))
            for position, size in wanted:
                assert await read_frame(reader) == b"head" + content[position : position + size]
            writer.close()

    run(main())
    assert [one.references for one in slices] == [0] * 5


def test_a_cold_file_is_brought_in_on_a_thread(tmp_path):
    path = tmp_path / "segment"
    path.write_bytes(random.Random(2).randbytes(4 << 20))
    content = path.read_bytes()
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    slices = []

    async def main():
        def answer(connection, frame):
            slices.append(FileSlice(path, 0, len(content)))
            connection.write([struct.pack(">i", len(content)), slices[-1]])

        async with listening(RecordingSink(answer)) as (_, host, port):
            reader, writer = await connect(host, port)
            writer.write(framed(b"read"))
            assert await read_frame(reader) == content
            await until(lambda: not slices[-1].references)
            writer.close()

    run(main())


def test_slices_of_a_lost_connection_are_released(tmp_path):
    path = tmp_path / "segment"
    path.write_bytes(bytes(8 << 20))
    slices = []

    async def main():
        def answer(connection, frame):
            slices.append(FileSlice(path, 0, 8 << 20))
            connection.write([b"head", slices[-1]])

        sink = RecordingSink(answer)
        async with listening(sink, send_buffer=32768) as (listener, host, port):
            client = socket.create_connection((host, port))
            client.sendall(framed(b"read"))
            await until(lambda: slices)
            client.close()
            await until(lambda: not listener.table.connections)
            assert slices[0].references == 0
            assert len(sink.lost) == 1

    run(main())


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=5000))
def test_random_bytes_never_hurt_the_others(noise):
    async def main():
        sink = RecordingSink()
        async with listening(sink, max_frame=1 << 20) as (_, host, port):
            good_reader, good_writer = await connect(host, port)
            _, writer = await connect(host, port)
            writer.write(noise)
            writer.close()
            good_writer.write(framed(b"ping"))
            assert await read_frame(good_reader) == b"ping"
            good_writer.close()

    logging.disable(logging.WARNING)
    try:
        run(main())
    finally:
        logging.disable(logging.NOTSET)
