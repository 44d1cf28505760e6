"""Every open connection of a broker, over all its listeners, and who may still come.

The rules are Apache Kafka's:

- **A full house makes newcomers wait**: at `max.connections`, of the broker or of one listener, nobody is accepted
  until somebody leaves. They stay in the kernel's backlog and cost the broker nothing.
- **Brokers come in nevertheless**: where the inter-broker listener is one of several, only its own limit counts for it,
  and the connection of another listener that was silent longest is closed instead.
- **One address too often is turned away**: above `max.connections.per.ip` the newcomer is closed, with a log line.
- **Too many a second wait**: `max.connection.creation.rate`, of the broker or of one listener, over ten seconds.
"""

from __future__ import annotations

import fcntl
import math
import struct
import termios
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from types import MappingProxyType

from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT32
from tidelog.net._connection import ServerConnection

#: No time will do: somebody has to leave first.
FOREVER = math.inf
#: What a quiet while leaves unused may come at once, up to this many seconds' worth (Kafka: ten windows of a second).
BURST_SECONDS = 10.0
#: What TIOCOUTQ counts in: a C int.
_COUNT = struct.Struct("i")


class ListenerLimits(NamedTuple):
    max_connections: int = MAX_INT32
    creation_rate: int = MAX_INT32


class NetworkLimits(NamedTuple):
    """The limits that all listeners of a broker share; when one is changed, all are given anew (`change`)."""

    max_frame: int = 104_857_600
    max_connections: int = MAX_INT32
    max_connections_per_ip: int = MAX_INT32
    per_ip_overrides: Mapping[str, int] = MappingProxyType({})
    creation_rate: int = MAX_INT32
    max_idle_ms: int = 600_000
    send_buffer: int = -1
    receive_buffer: int = -1
    backlog: int = 50
    listeners: Mapping[str, ListenerLimits] = MappingProxyType({})
    #: The inter-broker listener, if there are others: the broker-wide limits do not hold for it.
    protected: str | None = None

    def of(self, listener: str) -> ListenerLimits:
        return self.listeners.get(listener, ListenerLimits())


class Pace:
    """So many a second on average: when is the next one due?"""

    __slots__ = ("_booked_until",)

    def __init__(self) -> None:
        self._booked_until = -math.inf

    def wait(self, now: float) -> float:
        """Seconds until another may come."""
        return max(0.0, self._booked_until - BURST_SECONDS - now)

    def take(self, rate: int, now: float) -> None:
        self._booked_until = max(self._booked_until, now) + (1 / rate if rate else BURST_SECONDS)


class _Guest(NamedTuple):
    """Where a connection comes from, when something was last found to have moved on it, how often by then, and how much
    of what waited lay in the kernel."""

    host: str
    moves: int
    since: float
    unsent: int = 0


class ConnectionTable:
    def __init__(self, limits: NetworkLimits, clock: Clock = SYSTEM_CLOCK) -> None:
        self.limits = limits
        self.clock = clock
        #: In the order of their arrival; with those that were accepted but are not set up yet.
        self.connections: dict[ServerConnection, _Guest] = {}
        self._per_ip: Counter[str] = Counter()
        self._per_listener: Counter[str] = Counter()
        self._pace = Pace()
        self._paces: defaultdict[str, Pace] = defaultdict(Pace)
        self._waiting: list[Callable[[], None]] = []

    def __len__(self) -> int:
        return len(self.connections)

    # -- who may come ------------------------------------------------------------------------------------------------

    def wait(self, listener: str) -> float:
        """Seconds until this listener may accept a connection: 0 for now, FOREVER until `when_room` calls."""
        limits, protected = self.limits, listener == self.limits.protected
        if self._per_listener[listener] >= limits.of(listener).max_connections:
            return FOREVER
        if len(self.connections) >= limits.max_connections and not protected:
            return FOREVER
        now = self.clock.monotonic()
        waits = []
        if limits.of(listener).creation_rate < MAX_INT32:
            waits.append(self._paces[listener].wait(now))
        if limits.creation_rate < MAX_INT32 and not protected:
            waits.append(self._pace.wait(now))
        return max(waits, default=0.0)

    def when_room(self, wake: Callable[[], None]) -> None:
        """Call `wake` once, when somebody left or the limits changed."""
        self._waiting.append(wake)

    def refusal(self, host: str) -> str | None:
        """Why a new connection from `host` must be turned away, if it must."""
        limit = self.limits.per_ip_overrides.get(host, self.limits.max_connections_per_ip)
        if self._per_ip[host] >= limit:
            return f"{limit} connections from {host} are open (max.connections.per.ip)"
        return None

    def enter(self, connection: ServerConnection, host: str) -> None:
        """A connection was accepted: it counts from now on. Where it is one too many, another one goes for it."""
        limits, listener, now = self.limits, connection.listener.name, self.clock.monotonic()
        self.connections[connection] = _Guest(host, _moves(connection), now)
        self._per_ip[host] += 1
        self._per_listener[listener] += 1
        if (rate := limits.of(listener).creation_rate) < MAX_INT32:
            self._paces[listener].take(rate, now)
        if limits.creation_rate < MAX_INT32 and listener != limits.protected:
            self._pace.take(limits.creation_rate, now)
        self._close_excess()

    def leave(self, connection: ServerConnection) -> None:
        guest = self.connections.pop(connection, None)
        if guest is None:
            return
        self._per_listener[connection.listener.name] -= 1
        self._per_ip[guest.host] -= 1
        if not self._per_ip[guest.host]:
            del self._per_ip[guest.host]
        self._wake()

    def change(self, limits: NetworkLimits) -> None:
        """Other limits hold from now on."""
        self.limits = limits
        self._close_excess()
        self._wake()

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()

    def _close_excess(self) -> None:
        """Above `max.connections`, close those that were silent longest, but for the brokers' own."""
        if len(self.connections) <= self.limits.max_connections:
            return
        self._look()
        going = sum(connection.closing for connection in self.connections)
        excess = len(self.connections) - going - self.limits.max_connections
        candidates = [one for one in self.connections if not one.closing and one.listener.name != self.limits.protected]
        candidates.sort(key=lambda one: (one.busy, self.connections[one].since))
        for connection in candidates[: max(0, excess)]:
            connection.close(f"more than {self.limits.max_connections} connections are open (max.connections)")

    # -- who is there ------------------------------------------------------------------------------------------------

    def close_idle(self) -> int:
        """Close who has for connections.max.idle.ms sent nothing, taken nothing and waited for no answer; how many."""
        if self.limits.max_idle_ms < 0:
            return 0
        now = self._look()
        silent = [
            one for one, guest in self.connections.items() if (now - guest.since) * 1000 >= self.limits.max_idle_ms
        ]
        for connection in silent:
            connection.close()
        return len(silent)

    def _look(self) -> float:
        """Note who has sent or taken something since the last look; returns the time of this one."""
        now = self.clock.monotonic()
        for connection, guest in self.connections.items():
            moves = _moves(connection)
            unsent = _unsent(connection) if connection.stalled and not connection.closing else 0
            if connection.busy or moves != guest.moves or unsent != guest.unsent:
                self.connections[connection] = guest._replace(moves=moves, since=now, unsent=unsent)
        return now


def _moves(connection: ServerConnection) -> int:
    """How often bytes came from the other side, or room for more of what it has to take."""
    return connection.reads + connection.writes


def _unsent(connection: ServerConnection) -> int:
    """What the other side has not taken yet of what the kernel holds for it, some megabytes: a slow reader takes of
    that for minutes before there is room to write again. 0 of a socket that was just closed: its end is on its way."""
    number = connection.transport.get_extra_info("socket").fileno()
    if number < 0:
        return 0
    try:
        (unsent,) = _COUNT.unpack(fcntl.ioctl(number, termios.TIOCOUTQ, _COUNT.pack(0)))
    except OSError:
        return 0
    return int(unsent)
