"""A proxy between client and broker that knows where each request and each answer begins and ends, and can spoil any.

    with WireProxy(broker.address) as proxy:
        proxy.on(ApiKey.PRODUCE, cut(), at=At.ANSWER, nth=3)    # the broker has the third one; nobody hears of it
        client = AnyKafkaClient(proxy.address)

A fault is an act at a place of one request's way:

    client ── REQUEST ──► proxy ── MID_REQUEST ──► broker
           ◄── MID_ANSWER ──    ◄── ANSWER ──

At REQUEST the broker has not seen it; at MID_REQUEST it got the first half; at ANSWER it has done what it was asked for
and answered, but the client got no byte; at MID_ANSWER the client got the first half. Acts are `cut` (both ends see the
connection close), `hole` (nothing passes on this connection any more, and nobody is told), `delay`, `split` (byte by
byte), `garble` (what no broker would send) and `refuse` (an error of the broker's, made here).

Brokers tell clients their addresses (Metadata, FindCoordinator, DescribeCluster, and beside a Produce or Fetch that
came to a former leader). Those answers are decoded and every address becomes one of the proxy's, which listens once for
each broker: a client that bootstraps here never gets around it. Everything else passes as it came.

The proxy has a loop and a thread of its own, so that tests may block, and so that a client's loop that stands still
does not stop it.
"""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, TypeVar

from support.refusals import refusal
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey, request_class
from tidelog.protocol.headers import RequestHeader, decode_request_header, decode_response, encode_response
from tidelog.protocol.message import Structure

T = TypeVar("T")

#: Answers that name brokers. Produce and Fetch name them only in small answers (KIP-951: "ask that one instead").
NAMING = frozenset({ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CLUSTER})
SOMETIMES_NAMING = frozenset({ApiKey.PRODUCE, ApiKey.FETCH})
SMALL = 4096
#: Produce with acks=0 is the only request without an answer.
ACKS_NONE = 0


class At(Enum):
    REQUEST = "before the broker has it"
    MID_REQUEST = "half of it at the broker"
    ANSWER = "done and answered, nothing of it at the client"
    MID_ANSWER = "half of the answer at the client"


EVERYWHERE = tuple(At)
AFTER = (At.ANSWER, At.MID_ANSWER)


class Link:
    """One client's connection and its twin to the broker."""

    def __init__(self, client: asyncio.StreamWriter, broker: asyncio.StreamWriter) -> None:
        self.client, self.broker = client, broker
        self.waiting: deque[tuple[RequestHeader, Rule | None]] = deque()
        self.idle = asyncio.Event()
        self.is_hole = False

    def close(self) -> None:
        for writer in (self.client, self.broker):
            if writer.transport is not None:
                writer.transport.abort()


@dataclass
class Passing:
    """A frame on its way, as an act sees it: `frame` has its length in front; `send` passes bytes on to where it goes,
    `back` to where a request came from."""

    link: Link
    header: RequestHeader
    frame: bytes
    at: At
    rng: random.Random

    async def send(self, data: bytes) -> None:
        to_broker = self.at in (At.REQUEST, At.MID_REQUEST)
        await _write(self.link.broker if to_broker else self.link.client, data)

    async def back(self, data: bytes) -> None:
        await _write(self.link.client, data)


Act = Callable[[Passing], Awaitable[None]]


@dataclass
class Rule:
    """`act` at the n-th request of an API (of any, with None) that is counted from when the rule was made; `times`
    after each other."""

    api: ApiKey | None
    act: Act
    at: At
    nth: int = 1
    times: int = 1
    met: int = 0
    fired: int = 0
    done: threading.Event = field(default_factory=threading.Event)

    def takes(self, header: RequestHeader) -> bool:
        if self.api is not None and header.api_key != self.api:
            return False
        self.met += 1
        if not self.nth <= self.met < self.nth + self.times:
            return False
        self.fired += 1
        return True


class WireProxy:
    """Listens on a free port of its own for each broker of the cluster that `target` belongs to."""

    def __init__(self, target: str, *, seed: int = 1) -> None:
        host, _, port = target.rpartition(":")
        self.target = (host, int(port))
        self.rng = random.Random(seed)
        self.seen: Counter[ApiKey] = Counter()
        self.rules: list[Rule] = []
        #: Asked for each request that no rule takes: a fault, or None. For storms.
        self.chance: Callable[[RequestHeader, random.Random], tuple[Act, At] | None] | None = None
        self.storms = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="wire-proxy", daemon=True)
        self._servers: dict[tuple[str, int], socket.socket] = {}
        self._ports: dict[tuple[str, int], int] = {}
        self._links: set[Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    # --- what tests say -----------------------------------------------------------------------------------------------

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._ports[self.target]}"

    @property
    def connections(self) -> int:
        """Connections of clients that are open at this moment."""
        return len(self._links)

    def on(self, api: ApiKey | None, act: Act, *, at: At = At.REQUEST, nth: int = 1, times: int = 1) -> Rule:
        """Do this once (or `times` after each other) from the n-th request of this API on, counted from now."""
        rule = Rule(api, act, at, nth, times)
        self.rules.append(rule)
        return rule

    def cut_all(self) -> None:
        """Every connection closes now."""
        self._call(self._cut_all())

    def down(self) -> None:
        """Connections close, new ones are refused, until `up`."""
        self._call(self._down())

    def up(self) -> None:
        self._call(self._up())

    def heal(self) -> None:
        """No faults from now on. Holes become cuts, as a client would wait for them until its time-out."""
        self.rules, self.chance = [], None
        self._call(self._cut_holes())

    # --- life ---------------------------------------------------------------------------------------------------------

    def __enter__(self) -> WireProxy:
        self._thread.start()
        self._call(self._listen(self.target))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _listen(self, target: tuple[str, int]) -> int:
        """The port that stands for this broker."""
        if target not in self._servers:
            listener = socket.create_server(("127.0.0.1", self._ports.get(target, 0)))
            listener.setblocking(False)
            self._loop.add_reader(listener, self._accept, target, listener)
            self._servers[target] = listener
            self._ports[target] = int(listener.getsockname()[1])
        return self._ports[target]

    async def _cut_all(self) -> None:
        for link in list(self._links):
            link.close()

    async def _cut_holes(self) -> None:
        for link in list(self._links):
            if link.is_hole:
                link.close()

    async def _down(self) -> None:
        servers, self._servers = self._servers, {}
        for listener in servers.values():
            self._loop.remove_reader(listener)
            listener.close()
        await self._cut_all()

    async def _up(self) -> None:
        for target in list(self._ports):
            await self._listen(target)

    async def _end(self) -> None:
        await self._down()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- connections --------------------------------------------------------------------------------------------------

    def _accept(self, target: tuple[str, int], listener: socket.socket) -> None:
        """In one step: asyncio's own server, closed while it lets somebody in, forgets that connection, open."""
        try:
            accepted, _ = listener.accept()
        except OSError:
            return  # who came has gone again
        task = self._loop.create_task(self._serve(target, accepted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, target: tuple[str, int], accepted: socket.socket) -> None:
        """Both directions until either end closes, or a fault closes both."""
        accepted.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=accepted, limit=1 << 24)
        try:
            back, forth = await asyncio.open_connection(*target, limit=1 << 24)
        except OSError:
            writer.transport.abort()
            return
        link = Link(writer, forth)
        if target not in self._servers:  # we went down while it was being let in
            link.close()
            return
        self._links.add(link)
        pumps = [asyncio.ensure_future(self._requests(link, reader)), asyncio.ensure_future(self._answers(link, back))]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            link.close()
            await asyncio.gather(*pumps, return_exceptions=True)
            self._links.discard(link)

    async def _requests(self, link: Link, reader: asyncio.StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                frame = await _read_frame(reader)
                if link.is_hole:
                    continue
                header, body = decode_request_header(frame, 4)
                self.seen[ApiKey(header.api_key)] += 1
                rule = self._rule(header)
                if rule is not None and rule.at in AFTER and not _is_answered(header, frame, body):
                    rule = None
                if rule is not None and rule.at not in AFTER:
                    await self._do(rule, Passing(link, header, frame, rule.at, self.rng))
                    continue
                if _is_answered(header, frame, body):
                    link.waiting.append((header, rule))
                await _write(link.broker, frame)

    def _rule(self, header: RequestHeader) -> Rule | None:
        taken = [rule for rule in self.rules if rule.takes(header)]
        if taken:
            return taken[0]
        found = self.chance(header, self.rng) if self.chance is not None else None
        if found is None:
            return None
        self.storms += 1
        return Rule(None, *found)

    async def _answers(self, link: Link, reader: asyncio.StreamReader) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                frame = await _read_frame(reader)
                if link.is_hole:
                    continue
                header, rule = link.waiting.popleft()
                if not link.waiting:
                    link.idle.set()
                frame = await self._readdressed(header, frame)
                if rule is None:
                    await _write(link.client, frame)
                else:
                    await self._do(rule, Passing(link, header, frame, rule.at, self.rng))

    async def _do(self, rule: Rule, passing: Passing) -> None:
        if rule.at in (At.MID_REQUEST, At.MID_ANSWER):
            await passing.send(passing.frame[: len(passing.frame) // 2])
            passing.frame = passing.frame[len(passing.frame) // 2 :]
        if rule.at not in AFTER:
            await self._answered(passing.link)
            if getattr(rule.act, "passes", False):
                passing.link.waiting.append((passing.header, None))
        await rule.act(passing)
        rule.done.set()

    async def _answered(self, link: Link) -> None:
        """What was asked before on this connection is answered: answers come in the order of requests, ours too, and
        what a fault does to one request says nothing about others."""
        link.idle.clear()
        if link.waiting:
            await link.idle.wait()

    async def _readdressed(self, header: RequestHeader, frame: bytes) -> bytes:
        """The answer with our ports in it."""
        key = header.api_key
        if key not in NAMING and not (key in SOMETIMES_NAMING and len(frame) < SMALL):
            return frame
        correlation, message = decode_response(key, header.api_version, frame[4:])
        changed = False
        for named in _addresses(message):
            if named.port > 0:
                named.host, named.port = "127.0.0.1", await self._listen((named.host, named.port))
                changed = True
        return encode_response(key, header.api_version, correlation, message) if changed else frame


def _addresses(value: Any) -> list[Any]:
    """Every structure within a message that has a host and a port."""
    if isinstance(value, list):
        return [found for one in value for found in _addresses(one)]
    if not isinstance(value, Structure):
        return []
    names = [one.name for one in value._schema_.fields]
    inner = [found for name in names for found in _addresses(getattr(value, name))]
    return [value, *inner] if "host" in names and "port" in names else inner


def _is_answered(header: RequestHeader, frame: bytes, body: int) -> bool:
    if header.api_key != ApiKey.PRODUCE:
        return True
    request: Any = request_class(header.api_key).decode(frame, header.api_version, body)
    return bool(request.acks != ACKS_NONE)


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    size = await reader.readexactly(4)
    return size + await reader.readexactly(int.from_bytes(size, "big"))


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


# --- acts -------------------------------------------------------------------------------------------------------------


def _passes(act: Act) -> Act:
    act.passes = True  # type: ignore[attr-defined]  # a mark on a function
    return act


def cut() -> Act:
    """The connection closes for both, with a reset."""

    async def act(passing: Passing) -> None:
        passing.link.close()
        raise ConnectionAbortedError

    return act


def hole() -> Act:
    """From here on nothing passes on this connection, and nobody is told."""

    async def act(passing: Passing) -> None:
        passing.link.is_hole = True

    return act


def delay(seconds: float) -> Act:
    """It comes later, and so does what follows on this connection."""

    async def act(passing: Passing) -> None:
        await asyncio.sleep(seconds)
        await passing.send(passing.frame)

    return _passes(act)


def split(bytes_alone: int = 64, rest: int = 997) -> Act:
    """The first bytes come one by one, the others in odd pieces."""

    async def act(passing: Passing) -> None:
        frame = passing.frame
        for index in range(min(bytes_alone, len(frame))):
            await passing.send(frame[index : index + 1])
            await asyncio.sleep(0)
        for start in range(bytes_alone, len(frame), rest):
            await passing.send(frame[start : start + rest])
            await asyncio.sleep(0)

    return _passes(act)


GARBLES = ("length", "correlation", "short", "noise")


def garble(kind: str = "noise") -> Act:
    """What no peer would send: a length that is none, an answer to what was not asked, one that ends too early, or
    noise where its body should be. Then the connection closes: whoever garbles one frame is not trusted with another.
    """

    async def act(passing: Passing) -> None:
        frame = passing.frame
        if kind == "length":
            frame = b"\xff\xff\xff\xf0" + frame[4:]
        elif kind == "correlation":
            frame = frame[:4] + (int.from_bytes(frame[4:8], "big") ^ 0x5A5A5A).to_bytes(4, "big") + frame[8:]
        elif kind == "short":
            body = frame[4 : 8 + (len(frame) - 8) // 2]
            frame = len(body).to_bytes(4, "big") + body
        else:
            frame = frame[:8] + b"\xff" * (len(frame) - 8)
        await passing.send(frame)
        await asyncio.sleep(0.05)  # for it to be read before the end is: whether it was, nobody tells
        passing.link.close()
        raise ConnectionAbortedError

    return act


def refuse(code: ErrorCode) -> Act:
    """The broker's own error. At REQUEST the broker never sees the request; at ANSWER it has done what it was asked
    for, and says the contrary.
    """

    async def act(passing: Passing) -> None:
        header = passing.header
        if passing.at is At.REQUEST:
            _, body = decode_request_header(passing.frame, 4)
            request = request_class(header.api_key).decode(passing.frame, header.api_version, body)
            answer = refusal(header.api_key, request, code)
        else:
            _, answer = decode_response(header.api_key, header.api_version, passing.frame[4:])
            _set_errors(answer, code)
        await passing.back(encode_response(header.api_key, header.api_version, header.correlation_id, answer))

    return act


def _set_errors(value: Any, code: ErrorCode) -> None:
    if isinstance(value, list):
        for one in value:
            _set_errors(one, code)
    elif isinstance(value, Structure):
        for one in value._schema_.fields:
            if one.name == "error_code":
                value.error_code = code  # type: ignore[attr-defined]  # it has the field
            else:
                _set_errors(getattr(value, one.name), code)
