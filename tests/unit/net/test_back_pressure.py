"""The table of a connection's states: walked as a whole, and seen to be followed by a real connection."""

from __future__ import annotations

import asyncio
import socket
from itertools import chain, combinations

import pytest

from support.loop import async_test, until
from tidelog.net._back_pressure import BackPressure, transitions
from tidelog.net._receive import ReceiveBuffers

from .harness import RecordingSink, framed, listening, read_frame

TABLE = {row.event: row for row in transitions()}
OWN = frozenset({"busy", "corked", "stalled", "paused", "closing"})
IN_THE_WAY = frozenset({"busy", "stalled", "held", "closing"})


def reached():
    """Every state that events lead to from the first one, with the events that lead there."""
    paths = {frozenset(): ()}
    waiting = [frozenset()]
    while waiting:
        state = waiting.pop()
        for event in TABLE:
            flow = at(paths[state])
            if flow.step(event) and flow.conditions not in paths:
                paths[flow.conditions] = (*paths[state], event)
                waiting.append(flow.conditions)
    return paths


def at(events):
    flow = BackPressure(ReceiveBuffers(1 << 12))
    for event in events:
        assert flow.step(event)
    return flow


def allowed(event, state):
    """What the words of `_flow.h` and of the modules say, apart from the table."""
    match event:
        case "begin":  # one request at a time
            return not state & {"busy", "closing"}
        case "finish":
            return "busy" in state
        case "cork":  # frames are handed on by one at a time
            return not state & {"corked", "closing"}
        case "uncork":
            return "corked" in state
        case "stall":  # what is waited for goes on with the queue: nothing else is waited for beside it
            return not state & {"stalled", "closing"}
        case "close" | "pause":
            return "closing" not in state and (event != "pause" or "paused" not in state)
        case "flow":
            return True
        case "read":
            return "paused" in state and not state & IN_THE_WAY
        case "look":
            return not state & IN_THE_WAY
        case "resume":  # not within a read event: its own loop goes on
            return not state & IN_THE_WAY and "corked" not in state
        case "send":  # answers of one read event leave together, and behind those that wait
            return not state & {"corked", "stalled", "closing"}
    raise AssertionError(event)


CHANGES = {
    "begin": ({"busy"}, ()),
    "finish": ((), {"busy"}),
    "cork": ({"corked"}, ()),
    "uncork": ((), {"corked"}),
    "stall": ({"stalled"}, ()),
    "flow": ((), {"stalled"}),
    "pause": ({"paused"}, ()),
    "read": ((), {"paused"}),
    "look": ((), ()),
    "resume": ((), ()),
    "send": ((), ()),
    "close": ({"closing"}, ()),
}


def test_every_state_is_reached():
    subsets = chain.from_iterable(combinations(sorted(OWN), size) for size in range(len(OWN) + 1))
    assert set(reached()) == {frozenset(subset) for subset in subsets}


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("event", sorted(TABLE))
def test_the_table_says_what_the_words_say(event, held):
    for path in reached().values():
        flow = BackPressure(buffers := ReceiveBuffers(1 << 12))
        for step in path:
            assert flow.step(step)
        buffers.held = held
        before = flow.conditions
        assert ("held" in before) is held
        moved = flow.step(event)
        assert moved == allowed(event, before), before
        sets, clears = CHANGES[event]
        assert flow.conditions == ((before | set(sets)) - set(clears) if moved else before)


def test_nothing_leads_out_of_closing():
    assert all("closing" not in row.clears for row in TABLE.values())
    assert all(row.sets <= OWN and row.clears <= OWN for row in TABLE.values()), "held is nobody's own"


def test_an_event_that_there_is_not():
    with pytest.raises(KeyError):
        BackPressure(ReceiveBuffers(1 << 12)).step("sleep")


@async_test
async def test_a_connection_goes_through_the_states():
    seen = {}

    def answer(connection, frame):
        seen[frame] = connection.conditions
        if frame == b"later":
            connection.begin()
            with pytest.raises(RuntimeError, match="in work already"):
                connection.begin()
        else:
            connection.write([framed(frame)])

    sink = RecordingSink(answer)
    async with listening(sink) as (listener, host, port):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(framed(b"now"))
        assert await read_frame(reader) == b"now"
        assert seen[b"now"] == {"corked"}
        (connection,) = listener.table.connections
        assert connection.conditions == set()
        with pytest.raises(RuntimeError, match="no request"):
            connection.finish()
        writer.write(framed(b"later") + framed(b"behind"))
        await until(lambda: b"later" in seen)
        assert connection.conditions == {"busy", "paused"}, "something came that could not be looked at"
        connection.finish([framed(b"done")])
        assert [await read_frame(reader), await read_frame(reader)] == [b"done", b"behind"]
        assert connection.conditions == set()
        listener._buffers.held = True
        writer.write(framed(b"held back"))
        await until(lambda: "paused" in connection.conditions)
        assert b"held back" not in seen
        listener._buffers.held = False
        connection.resume()
        assert await read_frame(reader) == b"held back"
        connection.close()
        assert connection.conditions == {"closing"}
        connection.begin()
        connection.finish()
        assert connection.conditions == {"closing"}
        writer.close()


@async_test
async def test_who_does_not_read_is_stalled_until_he_does():
    sink = RecordingSink(lambda connection, frame: connection.write([framed(bytes(8 << 20))]))
    async with listening(sink, send_buffer=32 << 10) as (listener, host, port):
        loop = asyncio.get_running_loop()
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 << 10)
            client.setblocking(False)
            await loop.sock_connect(client, (host, port))
            await loop.sock_sendall(client, framed(b"much"))
            await until(lambda: sink.frames)
            (connection,) = listener.table.connections
            assert connection.conditions == {"stalled"}
            await loop.sock_sendall(client, framed(b"more"))
            await until(lambda: connection.conditions == {"stalled", "paused"})
            assert sink.frames == [b"much"], "the second is not looked at before the first is taken"
            left = 2 * (4 + (8 << 20))
            while left:
                left -= len(await loop.sock_recv(client, 1 << 20))
            await until(lambda: connection.conditions == set())
            assert sink.frames == [b"much", b"more"]
