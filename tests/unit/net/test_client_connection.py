"""One connection of a client: on a slow link the loop has its turns while a large answer comes."""

from __future__ import annotations

import socket
from typing import Any, cast

import pytest

from support.loop import async_test
from tidelog.net import client_connection
from tidelog.net.client_connection import ClientConnection


class Trickle:
    """A socket on which there is always a little more, a hundredth of a second later."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def setsockopt(self, *_: int) -> None:
        """How much must be there before it wakes us does not matter here."""

    def recv_into(self, buffer: memoryview) -> int:
        self.now += 0.01
        return min(10, len(buffer))


@async_test
async def test_a_large_answer_on_a_slow_link_does_not_hold_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    link = Trickle()
    monkeypatch.setattr(client_connection, "SYSTEM_CLOCK", link)
    connection = ClientConnection("slow", dedicated=True)
    large = memoryview(bytearray(100_000))
    turns = 0
    while connection._large_filled < len(large):
        before = link.now
        connection._receive_rest(cast("Any", link), large)
        assert link.now - before < 0.2
        turns += 1
    assert turns > 100


@async_test
async def test_a_large_answer_on_a_fast_link_takes_one_turn() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = ClientConnection("fast", dedicated=True)
        theirs.sendall(bytes(50_000))
        connection._receive_rest(ours, memoryview(bytearray(50_000)))
        assert connection._large_filled == 50_000
