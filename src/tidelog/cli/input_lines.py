"""Standard input as lines, as they come: what has been typed or piped is there at once, and nothing waits for more.

A thread of its own reads, so that the loop goes on sending while nobody types. It is a daemon, and reads the descriptor
rather than Python's file: a thread that waits inside that file's lock keeps the process from ending.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import cast

BLOCK = 1 << 16
#: Blocks that may wait to be taken before reading stops.
AHEAD = 16

#: What was read, b"" at the end, or why nothing can be read.
Block = bytes | OSError


async def input_lines() -> AsyncIterator[str]:
    """The lines of standard input without their ends; bytes that are no UTF-8 stay what they are."""
    blocks: asyncio.Queue[Block] = asyncio.Queue()
    room = threading.Semaphore(AHEAD)
    loop = asyncio.get_running_loop()
    arguments = (_reader(), room, lambda block: loop.call_soon_threadsafe(blocks.put_nowait, block))
    threading.Thread(target=_read_all, args=arguments, name="input", daemon=True).start()
    rest = b""
    while block := await blocks.get():
        room.release()
        if isinstance(block, OSError):
            raise block
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield _text(line)
    if rest:
        yield _text(rest)


def _text(line: bytes) -> str:
    """A line's end may be Windows'; what is no UTF-8 is kept, to be written as it came."""
    return line.rstrip(b"\r").decode("utf-8", "surrogateescape")


def _reader() -> Callable[[], bytes]:
    """Reads what is there, waiting only while there is nothing; b"" at the end.

    `os.read` gives what a pipe holds at this moment; a buffered read would wait until its buffer is full, and a slow
    pipe's lines would come in clumps.
    """
    stream = cast("io.BufferedReader", sys.stdin.buffer)
    try:
        number = stream.fileno()
    except io.UnsupportedOperation:  # not a file: a stand-in
        return lambda: stream.read1(BLOCK)
    return lambda: os.read(number, BLOCK)


def _read_all(
    read: Callable[[], bytes], room: threading.Semaphore, hand_over: Callable[[bytes | OSError], None]
) -> None:
    """Read blocks until the end, an error, or nobody wants more. The semaphore is the back-pressure: at most so many
    blocks wait for the loop.
    """
    with suppress(RuntimeError, ValueError):  # the loop has ended or the file is closed: nobody wants the rest
        block: bytes | OSError = b"..."
        while block and not isinstance(block, OSError):
            room.acquire()
            try:
                block = read()
            except OSError as error:
                block = error
            hand_over(block)
