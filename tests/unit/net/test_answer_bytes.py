"""The rest of a large answer, received without the GIL."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from tidelog.net._answer_bytes import receive_rest

Pair = tuple[socket.socket, socket.socket]
LONG = 60_000.0


@pytest.fixture
def pair() -> Iterator[Pair]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
    with ours, theirs:
        yield ours, theirs


@pytest.mark.parametrize("gulp", [1, 1000, 1 << 19])
def test_an_answer_that_comes_in_pieces_is_received_whole(pair: Pair, gulp: int) -> None:
    ours, theirs = pair
    sent = bytes(range(256)) * 20_000
    buffer = bytearray(len(sent))
    buffer[:100] = sent[:100]
    sender = threading.Thread(target=theirs.sendall, args=(sent[100:],))
    sender.start()
    assert receive_rest(ours.fileno(), buffer, 100, gulp=gulp, patience=int(LONG), turn=LONG) == len(sent)
    sender.join()
    assert buffer == sent


def test_nothing_is_taken_of_what_follows(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(b"answer" + b"next")
    buffer = bytearray(6)
    assert receive_rest(ours.fileno(), buffer, 0, gulp=1, patience=int(LONG), turn=LONG) == 6
    assert buffer == b"answer"
    assert ours.recv(100) == b"next"


@pytest.mark.parametrize("gulp", [1, 50])
def test_what_does_not_come_is_left_to_the_loop(pair: Pair, gulp: int) -> None:
    ours, theirs = pair
    theirs.sendall(b"begin")
    assert receive_rest(ours.fileno(), bytearray(100), 0, gulp=1, patience=1, turn=LONG) == 5
    assert receive_rest(ours.fileno(), bytearray(100), 5, gulp=gulp, patience=1, turn=LONG) == 5


def test_a_broker_that_never_pauses_does_not_keep_the_loop_for_ever(pair: Pair) -> None:
    ours, theirs = pair
    done = threading.Event()

    def trickle() -> None:
        while not done.is_set():
            theirs.send(b"x")

    sender = threading.Thread(target=trickle)
    sender.start()
    buffer = bytearray(1 << 24)
    filled = receive_rest(ours.fileno(), buffer, 0, gulp=1, patience=int(LONG), turn=0.01)
    done.set()
    sender.join()
    assert 0 < filled < len(buffer)


def test_after_a_gulp_one_byte_is_enough_to_be_woken_again(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(bytes(100))
    assert receive_rest(ours.fileno(), bytearray(100), 0, gulp=64, patience=int(LONG), turn=LONG) == 100
    assert ours.getsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT) == 1


@pytest.mark.parametrize("gulp", [1, 64])
def test_the_end_of_the_connection_is_left_to_the_loop(pair: Pair, gulp: int) -> None:
    ours, theirs = pair
    theirs.sendall(b"begin")
    theirs.close()
    assert receive_rest(ours.fileno(), bytearray(100), 0, gulp=gulp, patience=int(LONG), turn=LONG) == 5


def test_a_buffer_that_is_full_is_not_touched(pair: Pair) -> None:
    assert receive_rest(pair[0].fileno(), bytearray(5), 5, gulp=1, patience=1, turn=LONG) == 5
    with pytest.raises(ValueError, match="6 of 5"):
        receive_rest(pair[0].fileno(), bytearray(5), 6, gulp=1, patience=1, turn=LONG)
