"""One connection of a client: on a slow link the loop has its turns while a large answer comes."""

from __future__ import annotations

import socket

import pytest

from support.loop import async_test
from tidelog.net import client_connection
from tidelog.net.client_connection import ClientConnection


@async_test
async def test_a_large_answer_on_a_slow_link_does_not_hold_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """What trickles in is left to the loop when the turn is over; nothing that has come is lost."""
    monkeypatch.setattr(client_connection, "_TURN", 0.0)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = ClientConnection("slow", dedicated=True)
        large = memoryview(bytearray(1000))
        for turn in range(1, 11):
            theirs.sendall(b"%c" % turn * 100)
            connection._receive_rest(ours, large)
            assert connection._large_filled == 100 * turn
        assert large.tobytes() == b"".join(b"%c" % turn * 100 for turn in range(1, 11))


@async_test
async def test_a_large_answer_on_a_fast_link_takes_one_turn() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = ClientConnection("fast", dedicated=True)
        theirs.sendall(bytes(50_000))
        connection._receive_rest(ours, memoryview(bytearray(50_000)))
        assert connection._large_filled == 50_000
