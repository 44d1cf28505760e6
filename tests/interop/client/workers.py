"""Clients at work in threads of their own, blocking or on a loop, while something happens to their brokers.

Each does one thing over and over until it is told to end, writes down what it does (`faults.client.ledger`,
`faults.client.reading`), and fails its test if it fails.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from faults.client.ledger import Ledger
from faults.client.reading import Reading
from tidelog import Consumer, KafkaError, Producer, aio
from tidelog.client.consumer.commits import CommitFailedError

PATIENCE = 120


class Worker:
    """`work(stop)` in a thread. Leaving the context tells it to end, waits for it, and raises what it has raised."""

    def __init__(self, work: Callable[[threading.Event], None]) -> None:
        self._stop = threading.Event()
        self._work = work
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._work(self._stop)
        except BaseException as error:
            self._error = error

    def check(self) -> bool:
        if self._error is not None:
            raise self._error
        return True

    def __enter__(self) -> Worker:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        if kind is None:
            assert not self._thread.is_alive(), "it does not end"
            self.check()


def producing(face: str, book: Ledger, settings: dict[str, Any]) -> Worker:
    """Ten records at a time, until it is told to end; then all are acknowledged."""

    def blocking(stop: threading.Event) -> None:
        with Producer(settings) as producer:
            while not stop.wait(0.01):
                book.send(producer, 10)
            producer.flush(PATIENCE)

    async def on_a_loop(stop: threading.Event) -> None:
        async with aio.Producer(settings) as producer:
            while not stop.is_set():
                book.send(producer, 10)
                await asyncio.sleep(0.01)
            await producer.flush()

    return Worker(blocking if face == "blocking" else lambda stop: asyncio.run(on_a_loop(stop)))


def consuming(face: str, reading: Reading, topic: str, settings: dict[str, Any]) -> Worker:
    """Read and commit; told to end, up to where the reading says that the log ends."""

    def is_done(stop: threading.Event) -> bool:
        assert not reading.wrong, reading.wrong
        return stop.is_set() and bool(reading.ends) and reading.is_complete and reading.is_committed

    def blocking(stop: threading.Event) -> None:
        with Consumer(settings) as consumer:
            consumer.subscribe([topic], reading)
            while not is_done(stop):
                try:
                    reading.read(consumer.poll(0.1))
                    consumer.commit()
                    reading.committed(consumer.committed(consumer.assignment()))
                except KafkaError as error:
                    _may_pass(error)

    async def on_a_loop(stop: threading.Event) -> None:
        async with aio.Consumer(settings) as consumer:
            await consumer.subscribe([topic], reading)
            while not is_done(stop):
                try:
                    reading.read(await consumer.poll(0.1))
                    await consumer.commit()
                    reading.committed(await consumer.committed(consumer.assignment()))
                except KafkaError as error:
                    _may_pass(error)

    return Worker(blocking if face == "blocking" else lambda stop: asyncio.run(on_a_loop(stop)))


def _may_pass(error: KafkaError) -> None:
    """A commit may fail while its coordinator moves, or the group is shared out anew: the next one takes its place."""
    if not error.retriable and not isinstance(error, CommitFailedError):
        raise error
