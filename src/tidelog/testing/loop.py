"""An event loop whose time is virtual: it jumps to the next timer when nothing else is to be done.

    loop = VirtualLoop()
    loop.run_until_complete(main())         # a week of retention, expiry and time-outs passes in a second

Everything of a broker below its sockets runs on it as on any asyncio loop: logs, store, controller, replicas,
purgatories, coordinators (`tidelog.broker.node.BrokerCore`), and the handlers of requests
(`BrokerCore.handler_services`). Three things differ.

- **Time** is a number. It stands still while anything is ready to run, and then becomes the time of the next timer:
  what a program does takes no time, what it waits for takes exactly as long as it says. Give parts that ask for the
  time a `LoopClock` of this loop (`tidelog.testing.clock`): timers and clock then agree to the microsecond.
- **There is one thread.** `run_in_executor` does the work at once, where it is called, and its outcome is there in the
  loop's next turn, as a thread's would be. The embedded store writes that way, too, and the handlers' long work with
  `Workers(…, make_executor=InPlace)`. So a run does the same things in the same order each time: with the same seed and
  the same disk, two runs are equal, event by event. What that leaves out is what only threads do: an append while its
  segment is being synced. For those there are tests on uvloop. (Logs that must be recovered are read by several threads
  unless `num.recovery.threads.per.data.dir` is 1.)
- **There are no sockets.** A loop that waits for the outside would wait for ever, as its time does not pass by itself.
  When nothing is ready, no timer is set and the main coroutine has not ended, it never will: that is an error here
  (`Stuck`), where asyncio would hang.

Timers that are due at the same time run in the order in which they were set. asyncio promises no order there, and its
heap gives none.
"""

from __future__ import annotations

import asyncio
import heapq
from asyncio import base_events, events
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextvars import Context
from itertools import count
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class InPlace(Executor):
    """Does the work where it is submitted, for whoever has an executor of his own (`tidelog.broker.workers`): as if by
    any number of threads that take no time."""

    def __init__(self, threads: int = 0) -> None:
        """Made as executors with threads are."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        done: Future[T] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # whatever it is, it is the outcome
            done.set_exception(error)
        return done


class Stuck(Exception):
    """Everybody waits, and nothing will ever happen."""


class _Timer(events.TimerHandle):
    """A timer that knows its place among those of the same moment."""

    __slots__ = ("_number",)

    def __init__(self, number: int, when: float, callback: Any, args: Any, loop: Any, context: Context | None) -> None:
        super().__init__(when, callback, args, loop, context)
        self._number = number

    def __lt__(self, other: Any) -> bool:
        return (self._when, self._number) < (other._when, other._number)  # type: ignore[attr-defined]  # asyncio's own, for subclasses


class _NoSelector:
    """Stands where the sockets would be waited for: lets the time pass instead."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        """`timeout` is asyncio's: 0 when something is ready, else the seconds to the next timer, None without one."""
        if timeout is None:
            raise Stuck("nothing is ready, no timer is set, and the loop has not been told to stop")
        if timeout > 0:
            self._loop.jump()
        return []

    def close(self) -> None:
        """There is nothing to close."""


class VirtualLoop(base_events.BaseEventLoop):
    """`BaseEventLoop` has everything but waiting: a subclass brings a selector, and a way to wake it up."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        self._timers = count()
        self._selector = _NoSelector(self)
        # A timer is due when its time is before now and this, a clock's tick, which must not vanish in a large number.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        """Seconds since the loop was made."""
        return self._now

    def jump(self) -> None:
        """It is the time of the next timer: exactly that, as a sum of differences would not be."""
        self._now = max(self._now, self._scheduled[0].when())  # type: ignore[attr-defined]  # asyncio's own, for subclasses

    def advance(self, seconds: float) -> None:
        """Let time pass: work that was meant for a thread sleeps (`LoopClock.sleep`)."""
        self._now += max(0.0, seconds)

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self._check_closed()  # type: ignore[attr-defined]  # asyncio's own, for subclasses
        timer = _Timer(next(self._timers), when, callback, args, self, context)
        heapq.heappush(self._scheduled, timer)  # type: ignore[attr-defined]  # asyncio's own, for subclasses
        timer._scheduled = True  # type: ignore[attr-defined]  # asyncio's own, for subclasses
        return timer

    def run_in_executor(self, executor: Any, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Do the work now, whatever the executor; its outcome comes in the next turn, as if a thread had been at it."""
        outcome: asyncio.Future[T] = self.create_future()
        try:
            result = func(*args)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is the outcome
            self.call_soon(self._fail, outcome, error)
        else:
            self.call_soon(self._succeed, outcome, result)
        return outcome

    @staticmethod
    def _succeed(outcome: asyncio.Future[T], result: T) -> None:
        if not outcome.done():
            outcome.set_result(result)

    @staticmethod
    def _fail(outcome: asyncio.Future[Any], error: Exception) -> None:
        if not outcome.done():
            outcome.set_exception(error)

    # -- what BaseEventLoop asks of its subclasses -------------------------------------------------------------------

    def _process_events(self, event_list: list[Any]) -> None:
        """There are none."""

    def _write_to_self(self) -> None:
        """`call_soon_threadsafe` would wake up the selector by this. It never sleeps: the next turn sees what came."""
