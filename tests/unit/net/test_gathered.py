"""Gathered writes into a socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from tidelog.net._gathered import write_parts

Buffer = bytes | bytearray | memoryview
Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def received(theirs: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        data += theirs.recv(1 << 20)
    return bytes(data)


def test_parts_of_all_kinds_in_their_order(pair: Pair) -> None:
    ours, theirs = pair
    parts: list[Buffer] = [b"one", bytearray(b"two"), b"", memoryview(b"three")]
    assert write_parts(ours.fileno(), parts) == []
    assert theirs.recv(100) == b"onetwothree"


def test_more_parts_than_one_call_takes(pair: Pair) -> None:
    ours, theirs = pair
    parts: list[Buffer] = [b"%04d" % number for number in range(1000)]
    assert write_parts(ours.fileno(), parts) == []
    assert received(theirs, 4000) == b"".join(parts)


@pytest.mark.parametrize("patience", [0, 1])
def test_what_the_socket_does_not_take_is_left(pair: Pair, patience: int) -> None:
    ours, theirs = pair
    parts: list[Buffer] = [bytes([number]) * 300_000 for number in range(20)]
    left = write_parts(ours.fileno(), parts, patience)
    whole, rest = b"".join(parts), b"".join(left)
    assert 0 < len(rest) < len(whole)
    assert received(theirs, len(whole) - len(rest)) + rest == whole


def test_an_error_leaves_everything(pair: Pair) -> None:
    ours, theirs = pair
    theirs.close()
    assert write_parts(ours.fileno(), [b"a", b"b"], 1) == [b"a", b"b"]


def test_nothing_to_write(pair: Pair) -> None:
    assert write_parts(pair[0].fileno(), []) == []
