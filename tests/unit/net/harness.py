"""A listener in the test's own loop, with a sink written in Python, and plain client sockets."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.loop import until
from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.net._connection import FrameSink, ServerConnection
from tidelog.net._receive import ReceiveBuffers
from tidelog.net._sendfile_threads import SendfileThreads
from tidelog.net.connection_table import ConnectionTable, NetworkLimits
from tidelog.net.listener import Listener


class RecordingSink(FrameSink):
    """Keeps every frame and answers it with `answer(connection, frame)` (by default: the frame itself)."""

    def __init__(self, answer: Callable[[ServerConnection, bytes], None] | None = None) -> None:
        self.frames: list[bytes] = []
        self.lost: list[ServerConnection] = []
        self.connections: list[ServerConnection] = []
        self._answer = answer or (lambda connection, frame: connection.write([framed(frame)]))

    def on_frame(self, connection: ServerConnection, frame: bytes) -> None:
        self.frames.append(frame)
        if connection not in self.connections:
            self.connections.append(connection)
        self._answer(connection, frame)

    def on_lost(self, connection: ServerConnection) -> None:
        self.lost.append(connection)


class FileSlice:
    """A counted file slice, as the log hands it out."""

    def __init__(self, path: Path, position: int, size: int) -> None:
        self._file = path.open("rb")
        self.position = position
        self.size = size
        self.references = 1

    def fileno(self) -> int:
        return self._file.fileno()

    def retain(self) -> FileSlice:
        self.references += 1
        return self

    def release(self) -> None:
        self.references -= 1
        if self.references == 0:
            self._file.close()

    def read(self) -> bytes:
        self._file.seek(self.position)
        return self._file.read(self.size)


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


@asynccontextmanager
async def listening(sink: FrameSink, **limits: Any):
    async with many_listening(sink, ["TEST"], **limits) as ([listener], [(host, port)]):
        yield listener, host, port


@asynccontextmanager
async def many_listening(sink: FrameSink, names: list[str], clock: Clock = SYSTEM_CLOCK, **limits: Any):
    """Several listeners of one broker; yields them and their addresses."""
    table = ConnectionTable(NetworkLimits(**limits), clock)
    with ThreadPoolExecutor(1) as executor:
        threads = SendfileThreads(asyncio.get_running_loop(), 1)
        listeners = [Listener(name, table, sink, ReceiveBuffers(), threads, lambda: executor) for name in names]
        addresses = [await listener.start("127.0.0.1", 0) for listener in listeners]
        try:
            yield listeners, addresses
        finally:
            for listener in listeners:
                await listener.stop()
            for connection in list(table.connections):
                connection.close()
            await until(lambda: not table.connections)
            threads.stop()


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    size = struct.unpack(">i", await reader.readexactly(4))[0]
    return await reader.readexactly(size)
