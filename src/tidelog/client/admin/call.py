"""One call of the Admin: items are asked of the right brokers, again where that may help, until the time is up.

Kafka answers most requests about many items at once, but each item has its own broker and its own error. So a call is
always the same loop: find the broker of each open item, send one request per broker with all its items, take what was
answered, keep what may succeed later, wait a little, go on. What differs is said by three things: a route (whom to ask,
see `routes`), a function that makes the request for some items, and one that reads the answer.

    found = await call.each(groups, GROUP, lambda keys: DeleteGroupsRequest(groups_names=keys), read)

    items ──route──► brokers ──ask──► requests ──read──► outcome ──────────────► done
      ▲                │ not found        │ lost            │ "not me (any more)"
      └──── wait ◄─────┴──────────────────┴─────────────────┘    until the time is up, or `retries` are used

An item whose time is up gets the last thing that was said about it. A request about nothing in particular is a batch
of one item, `None`.

Three kinds of failure are kept apart. What went wrong on the way (no connection, no answer) is tried again if its code
says so: nobody knows whether the broker has done it, and every request of the Admin may be repeated; a topic that was
created by the lost request "exists already" then, as with Kafka's own Admin. What a broker refuses is tried again only
if the route knows that as a sign of having asked the wrong one. Everything else is the outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from tidelog.client.admin.hints import failure, with_next_step
from tidelog.client.admin.outcomes import Answers, Outcomes, PartialError
from tidelog.client.admin.routes import BROKER, Route
from tidelog.client.admin.shapes import items
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import MAX_INT32
from tidelog.net.node_client import NodeClient
from tidelog.net.pauses import pause
from tidelog.net.stages import ConnectError
from tidelog.protocol.api import spec_of

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")

#: Makes the request about some items, which one broker will answer.
Ask = Callable[[list[K]], Any]
#: Tells what the answer says of each item; an error that it raises holds for all of them.
Read = Callable[[Any, list[K]], Answers[K, V]]
#: An item, what was said of it, and whether that may be otherwise next time.
Said = tuple[K, V | KafkaError, bool]

#: Brokers hear of a new topic after the controller: for so long an unknown one may just be new.
_NEWS_SECONDS = 5.0
_MAY_BE_NEW = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


@dataclass
class CallCounters:
    """What an Admin has done so far."""

    calls: int = 0
    requests: int = 0
    retries: int = 0
    errors: int = 0


class _OutOfTime(KafkaError):
    """The call's time was up before anybody answered."""


class _Ways(NamedTuple, Generic[K, V]):
    """How the items of one call are asked for."""

    route: Route[K]
    ask: Ask[K]
    read: Read[K, V]
    alone: bool
    lowest: int
    highest: int | None


class Call:
    """A cluster, and a time by which everything is over."""

    def __init__(self, cluster: ClusterClient, timeout: float, retries: int, counters: CallCounters) -> None:
        self.cluster = cluster
        self.limit = timeout
        self._retries = retries
        self._counters = counters
        self._begun = cluster.clock.monotonic()
        counters.calls += 1

    @classmethod
    def over(cls, cluster: ClusterClient, timeout: float | None = None) -> Call:
        """A call of somebody who has a cluster client and no Admin."""
        limit = cluster.config[common.DEFAULT_API_TIMEOUT_MS] / 1000 if timeout is None else timeout
        return cls(cluster, limit, MAX_INT32, CallCounters())

    @property
    def age(self) -> float:
        return self.cluster.clock.monotonic() - self._begun

    @property
    def remaining(self) -> float:
        return max(0.0, self.limit - self.age)

    @property
    def timeout_ms(self) -> int:
        """What is left, for requests that tell the broker how long it may take."""
        return max(1, int(self.remaining * 1000))

    async def each(
        self,
        keys: Iterable[K],
        route: Route[K],
        ask: Ask[K],
        read: Read[K, V],
        *,
        alone: bool = False,
        lowest: int = 0,
        highest: int | None = None,
    ) -> Outcomes[K, V]:
        """The outcome of each item. `alone`: a request has room for one only.

        The request goes out in a version from `lowest` to `highest`: below, the broker would take it for something
        else; above, the answer has another shape.
        """
        ways = _Ways(route, ask, read, alone, lowest, highest)
        wanted = list(dict.fromkeys(items(keys)))
        done: dict[K, V | KafkaError] = {}
        said_last: dict[K, KafkaError] = {}
        rest = list(wanted)
        attempt = 0
        while rest:
            said = await self._round(rest, ways)
            wait = self.cluster.wait_before_retry(attempt)
            over = wait >= self.remaining or attempt >= self._retries
            rest = []
            for key, found, again in said:
                if isinstance(found, KafkaError) and not isinstance(found, _OutOfTime):
                    said_last[key] = found
                if again and not over and not self._is_old_news(found):
                    route.forget(self.cluster, key)
                    rest.append(key)
                elif again and over:
                    done[key] = self._given_up(said_last.get(key), found, attempt)
                else:
                    done[key] = found
            if rest:
                attempt += 1
                self._counters.retries += 1
                await pause(wait)
        self._counters.errors += sum(isinstance(found, KafkaError) for found in done.values())
        return Outcomes({key: done[key] for key in wanted})

    async def one(self, route: Route[None], request: Any, read: Callable[[Any], V], *, highest: int | None = None) -> V:
        """A request about nothing in particular: what `read` makes of its answer."""

        def read_all(response: Any, keys: list[None]) -> Answers[None, V]:
            return [(None, read(response))]

        return (await self.each([None], route, lambda _: request, read_all, highest=highest)).of(None)

    async def brokers(self) -> list[int]:
        """The ids of all brokers, freshly asked for: a broker that is missing here is missing in the result."""
        await self.cluster.retry(lambda: self._within(self.cluster.refresh([])), timeout=self.remaining)
        return sorted(self.cluster.metadata.nodes)

    async def every_broker(self, what: str, request: Any, read: Callable[[Any], list[V]]) -> list[V]:
        """What all brokers say, as one list. PartialError if some cannot be asked: it has what the others said.

        Where nobody has answered there is no part to tell of, and the first error is raised as it is: so it is with a
        filter that the cluster is too old for.
        """

        def read_all(response: Any, keys: list[int]) -> Answers[int, list[V]]:
            return [(key, read(response)) for key in keys]

        outcomes = await self.each(await self.brokers(), BROKER, lambda _: request, read_all)
        found = [value for values in outcomes.ok.values() for value in values]
        if outcomes.failed:
            raise PartialError(what, found, outcomes.failed) if outcomes.ok else next(iter(outcomes.failed.values()))
        return found

    # --- one round ----------------------------------------------------------------------------------------------------

    async def _round(self, keys: list[K], ways: _Ways[K, V]) -> list[Said[K, V]]:
        """Ask all brokers that it takes, side by side, once. There is an entry for each key.

        The slowest broker decides how long a round takes; what the others have answered is not lost by it, and is not
        asked for again.
        """
        route = ways.route
        try:
            await self._within(route.prepare(self.cluster, keys))
        except KafkaError as error:
            return [(key, error, error.retriable) for key in keys]
        said: list[Said[K, V]] = []
        parts: dict[tuple[NodeClient, K | None], list[K]] = {}
        asked = keys[:1] if route.shared else keys
        nodes = await _all(self._within(route.node(self.cluster, key)) for key in asked)
        for key, found in zip(keys, nodes * len(keys) if route.shared else nodes, strict=True):
            if isinstance(found, KafkaError):
                said.append((key, with_next_step(found), found.retriable or found.code in route.again))
            else:
                parts.setdefault((found, key if ways.alone else None), []).append(key)
        sends = (self._send(node, part, ways) for (node, _), part in parts.items())
        for part, answer in zip(parts.values(), await _all(sends), strict=True):
            if isinstance(answer, KafkaError):
                said += [(key, answer, answer.retriable) for key in part]
            else:
                said += answer
        return said

    async def _send(self, node: NodeClient, keys: list[K], ways: _Ways[K, V]) -> list[Said[K, V]]:
        """One request to one broker, and what its answer says. What is raised here has not been answered at all."""
        request = ways.ask(keys)
        self._counters.requests += 1
        response = await self._within(node.send(request, _version(node, request, ways.lowest, ways.highest)))
        found: dict[K, V | KafkaError]
        try:
            found = dict(ways.read(response, keys))
        except KafkaError as error:
            found = dict.fromkeys(keys, error)
        silence = failure(ErrorCode.UNKNOWN_SERVER_ERROR, f"the answer of {node.peer} does not mention it")
        answers = ((key, found.get(key, silence)) for key in keys)
        return [
            (key, answer, isinstance(answer, KafkaError) and answer.code in ways.route.again) for key, answer in answers
        ]

    async def _within(self, work: Awaitable[T]) -> T:
        """Do it in the time that is left. Nothing is closed because a caller was in a hurry."""
        try:
            async with asyncio.timeout(self.remaining):
                return await work
        except TimeoutError as error:
            text = f"no answer within {self.limit:g} s; timeout= or default.api.timeout.ms allows more"
            raise _OutOfTime(ErrorCode.REQUEST_TIMED_OUT, text) from error

    def _is_old_news(self, found: object) -> bool:
        """Whether a topic is still unknown after everybody must have heard of it."""
        return isinstance(found, KafkaError) and found.code in _MAY_BE_NEW and self.age >= _NEWS_SECONDS

    def _given_up(self, last: KafkaError | None, found: V | KafkaError, attempt: int) -> V | KafkaError:
        """The last thing that a broker, or the way to it, said of an item whose time is up; and how long we have tried.
        That there was no time left for another answer says less.
        """
        if last is None or not attempt:
            return last or found
        tries = f"given up after {attempt + 1} tries in {self.age:.1f} s"
        if isinstance(last, ConnectError):  # it says more than a code and a text
            reason = f"{last.reason} ({tries})"
            return ConnectError(
                last.stage, last.peer, reason, last.advice, code=last.code, retriable=last.retriable
            ).with_traceback(last.__traceback__)
        return KafkaError(last.code, f"{last.message} ({tries})")


def _version(node: NodeClient, request: Any, lowest: int, highest: int | None) -> int:
    """The newest version that both sides know, if it is new enough for what is asked."""
    api = spec_of(request)
    try:
        version = node.version_of(api.key, highest)
    except KafkaError as error:
        raise with_next_step(error) from error
    if version < lowest:
        text = f"{node.peer} serves {api.name} up to version {version}, and this takes version {lowest}"
        raise failure(ErrorCode.UNSUPPORTED_VERSION, text)
    return version


async def _all(work: Iterable[Awaitable[T]]) -> list[T | KafkaError]:
    """Everything side by side; a KafkaError is a result, anything else is raised when all have ended."""
    results: list[T | KafkaError] = []
    for found in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(found, BaseException) and not isinstance(found, KafkaError):
            raise found
        results.append(found)
    return results
