"""Who may connect: limits of the broker, of a listener, of an address, and of the rate; who is closed when silent."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import resource
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import uvloop

from support.loop import until
from tidelog.net.connection_table import ConnectionTable, ListenerLimits, NetworkLimits
from tidelog.net.descriptors import LEAST_RESERVE
from tidelog.testing.clock import ManualClock

from .harness import RecordingSink, framed, listening, many_listening, read_frame


def run(coroutine):
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(asyncio.wait_for(coroutine, 120))


class Client:
    """A connection that says hello at once, whether or not anybody has accepted it."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        writer.write(framed(b"hello"))

    @classmethod
    async def knock(cls, address):
        return cls(*await asyncio.open_connection(*address))

    async def is_served(self):
        return await read_frame(self.reader) == b"hello"

    async def is_closed(self):
        try:
            return await self.reader.read() == b""
        except ConnectionResetError:
            return True
        finally:
            self.leave()

    def leave(self):
        self.writer.close()


async def turns():
    """As much time as a broker needs to accept somebody, and more."""
    for _ in range(50):
        await asyncio.sleep(0.001)


def test_a_full_house_makes_newcomers_wait():
    async def main():
        sink = RecordingSink()
        async with listening(sink, max_connections=2) as (listener, host, port):
            first, second = await Client.knock((host, port)), await Client.knock((host, port))
            assert await first.is_served()
            assert await second.is_served()
            third = await Client.knock((host, port))
            await turns()
            assert len(listener.table) == 2
            assert len(sink.frames) == 2
            first.leave()
            assert await third.is_served()
            assert len(listener.table) == 2
            second.leave()
            third.leave()

    run(main())


def test_a_higher_limit_lets_those_who_wait_in():
    async def main():
        async with listening(RecordingSink(), max_connections=0) as (listener, host, port):
            client = await Client.knock((host, port))
            await turns()
            assert not listener.table.connections
            listener.table.change(NetworkLimits(max_connections=1))
            assert await client.is_served()
            client.leave()

    run(main())


def test_one_listener_has_a_limit_of_its_own():
    async def main():
        limits = {"A": ListenerLimits(max_connections=1)}
        async with many_listening(RecordingSink(), ["A", "B"], listeners=limits) as ((one, _), (a, b)):
            first = await Client.knock(a)
            assert await first.is_served()
            waiting = await Client.knock(a)
            others = [await Client.knock(b) for _ in range(3)]
            for other in others:
                assert await other.is_served()
            await turns()
            assert len(one.table) == 4
            first.leave()
            assert await waiting.is_served()
            for client in [waiting, *others]:
                client.leave()

    run(main())


def test_brokers_come_in_and_the_most_silent_client_goes():
    async def main():
        clock = ManualClock()
        limits = {"max_connections": 2, "protected": "BROKERS"}
        async with many_listening(RecordingSink(), ["CLIENTS", "BROKERS"], clock, **limits) as (listeners, addresses):
            clients, brokers = addresses
            table = listeners[0].table
            lively, silent = await Client.knock(clients), await Client.knock(clients)
            assert await lively.is_served()
            assert await silent.is_served()
            table.close_idle()
            clock.advance(5)
            lively.writer.write(framed(b"hello"))
            assert await lively.is_served()
            broker = await Client.knock(brokers)
            assert await broker.is_served()
            assert await silent.is_closed()
            second = await Client.knock(brokers)
            assert await second.is_served()
            assert await lively.is_closed()
            third = await Client.knock(brokers)  # there is nobody left to make room, and brokers have no limit here
            assert await third.is_served()
            newcomer = await Client.knock(clients)
            await turns()
            assert len(table) == 3
            for one in (broker, second, third, newcomer):
                one.leave()

    run(main())


def test_a_lower_limit_closes_the_most_silent():
    async def main():
        async with listening(RecordingSink()) as (listener, host, port):
            clients = [await Client.knock((host, port)) for _ in range(3)]
            for client in clients:
                assert await client.is_served()
            listener.table.change(NetworkLimits(max_connections=1))
            assert await clients[0].is_closed()
            assert await clients[1].is_closed()
            assert len(listener.table) == 1
            clients[2].leave()

    run(main())


def test_one_address_too_often_is_turned_away(caplog):
    async def main():
        limits = {"max_connections": 3, "max_connections_per_ip": 5, "per_ip_overrides": {"127.0.0.1": 2}}
        async with listening(RecordingSink(), **limits) as (listener, host, port):
            clients = [await Client.knock((host, port)) for _ in range(2)]
            for client in clients:
                assert await client.is_served()
            third = await Client.knock((host, port))
            assert await third.is_closed()
            assert len(listener.table) == 2
            clients[0].leave()
            await until(lambda: len(listener.table) == 1)
            fourth = await Client.knock((host, port))
            assert await fourth.is_served()
            for client in [*clients, fourth]:
                client.leave()

    with caplog.at_level(logging.WARNING, "tidelog.net"):
        run(main())
    assert "2 connections from 127.0.0.1 are open (max.connections.per.ip)" in caplog.text


def test_too_many_a_second_wait():
    async def main():
        clock = ManualClock()
        async with many_listening(RecordingSink(), ["TEST"], clock, creation_rate=5) as ([listener], [address]):
            clients = [await Client.knock(address) for _ in range(51)]  # ten seconds' worth may come at once
            for client in clients:
                assert await client.is_served()
            late = await Client.knock(address)
            await turns()
            assert len(listener.table) == 51
            clock.advance(0.2)
            assert await late.is_served()
            for client in [*clients, late]:
                client.leave()

    run(main())


def test_the_pace_of_one_listener_is_not_that_of_another():
    limits = NetworkLimits(creation_rate=1, listeners={"A": ListenerLimits(creation_rate=1000)}, protected="B")
    clock = ManualClock()
    table = ConnectionTable(limits, clock)
    for _ in range(11):
        assert table.wait("A") == 0
        table.enter(Mock(listener=SimpleNamespace(name="A"), reads=0, writes=0), "host")
    assert table.wait("A") == pytest.approx(1)
    assert table.wait("B") == 0, "brokers are not bound by the broker-wide pace"
    clock.advance(1)
    assert table.wait("A") == 0


def test_out_of_descriptors_is_a_pause_and_not_the_end(caplog, monkeypatch):
    monkeypatch.setattr("tidelog.net.listener.PAUSE_SECONDS", 0.01)

    async def main():
        async with listening(RecordingSink()) as (listener, host, port):
            real, failures = listener._socket, [errno.EMFILE, errno.ENFILE]

            class Starved:
                def accept(self):
                    if failures:
                        code = failures.pop()
                        raise OSError(code, os.strerror(code))
                    return real.accept()

                fileno, close = real.fileno, real.close

            listener._socket = Starved()
            client = await Client.knock((host, port))
            assert await client.is_served()
            assert not failures
            client.leave()

    run(main())
    assert "Too many open files" in caplog.text


def test_the_last_descriptors_are_not_for_connections(caplog, monkeypatch):
    """Anybody may open connections until there are no more: the logs need some for themselves."""
    monkeypatch.setattr("tidelog.net.listener.PAUSE_SECONDS", 0.01)

    async def main():
        async with listening(RecordingSink()) as (listener, host, port):
            first = await Client.knock((host, port))
            assert await first.is_served()
            soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            limits = resource.getrlimit
            lowest = os.dup(0)
            os.close(lowest)
            monkeypatch.setattr(resource, "getrlimit", lambda which: (lowest + LEAST_RESERVE, soft))
            crowd = [await Client.knock((host, port)) for _ in range(5)]
            assert await crowd[-1].is_closed()
            assert len(listener.table) == 1
            monkeypatch.setattr(resource, "getrlimit", limits)
            for client in crowd:
                client.leave()
            late = await Client.knock((host, port))
            assert await late.is_served()
            first.leave()
            late.leave()

    run(main())
    assert "few descriptors are left" in caplog.text


def test_silent_connections_are_closed_and_waiting_ones_are_not():
    async def main():
        clock = ManualClock()
        sink = RecordingSink(lambda connection, frame: connection.begin() if frame == b"long poll" else None)
        async with many_listening(sink, ["TEST"], clock, max_idle_ms=1000) as ([listener], [address]):
            silent, waiting = await Client.knock(address), await Client.knock(address)
            waiting.writer.write(framed(b"long poll"))
            await until(lambda: b"long poll" in sink.frames and len(sink.frames) == 3)
            assert listener.table.close_idle() == 0
            clock.advance(0.5)
            assert listener.table.close_idle() == 0
            clock.advance(1)
            assert listener.table.close_idle() == 1
            await until(lambda: len(listener.table) == 1)
            silent.leave()
            waiting.leave()

    run(main())
