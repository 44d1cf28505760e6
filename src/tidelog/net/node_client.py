"""A client's view of one broker: connect, agree on versions, send requests, many in flight.

    node = await NodeClient.connect("127.0.0.1", 9092, client_id="me")
    response = await node.send(MetadataRequest(topics=None))
    await node.close()

The first exchange is ApiVersions: its answer says which versions of each request this broker serves, and every later
request goes out in the newest version that both sides know. A request that is not answered in time closes the
connection: the answers come in order, so whatever follows would wait behind it.

Used by the clients and between brokers. Knows one connection; routing, retries and metadata are `client`'s.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError, UsageError
from tidelog.net.client_connection import Buffer, ClientConnection
from tidelog.net.dialing import DialOptions, dial
from tidelog.net.stages import api_versions_failed, sasl_failed
from tidelog.protocol.api import API, ApiKey, spec_of
from tidelog.protocol.headers import decode_response, encode_request_parts
from tidelog.protocol.messages import ApiVersionsRequest, ApiVersionsResponse

SOFTWARE_NAME = "tidelog"
SOFTWARE_VERSION = "0.1.0"

#: Proves who we are, right after the versions are agreed on (SASL); gets the client to send its own requests with, and
#: returns for how many milliseconds the broker believes it, 0 for ever.
Authenticator = Callable[["NodeClient"], Awaitable[int]]
#: We prove it again when so much of that time has passed (Java's client: between 0.85 and 0.95).
_RENEW_AT = 0.85


@dataclass(frozen=True)
class VersionRange:
    low: int
    high: int


class NodeClient:
    """One open connection to one broker. Safe to use from many tasks of one event loop."""

    def __init__(self, connection: ClientConnection, *, client_id: str | None, request_timeout: float) -> None:
        self.versions: dict[int, VersionRange] = {}
        #: The cluster's finalized features and their levels, as this broker told when it was connected to.
        self.features: dict[str, int] = {}
        self.request_timeout = request_timeout
        self._connection = connection
        self._client_id = client_id
        self._next_correlation_id = 0
        #: When we have to prove again who we are, by the loop's time; None: never.
        self._renew_at: float | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._authenticator: Authenticator | None = None
        #: Requests that were posted, with the time by which they must be answered; the oldest first.
        self._posted: deque[tuple[float, asyncio.Future[memoryview]]] = deque()
        self._watch: asyncio.TimerHandle | None = None
        #: The timers of requests whose callers have gone, by correlation id.
        self._given_up: dict[int, asyncio.TimerHandle] = {}

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        *,
        client_id: str | None = SOFTWARE_NAME,
        request_timeout: float = 30.0,
        connect_timeout: float = 10.0,
        tls: ssl.SSLContext | None = None,
        authenticate: Authenticator | None = None,
        send_buffer: int = -1,
        receive_buffer: int = -1,
        dedicated: bool = False,
    ) -> NodeClient:
        """Open the connection, agree on versions, authenticate. Raises `ConnectError`, which says what failed where.

        `dedicated`: nobody else uses this event loop, see `ClientConnection`; `connect_timeout` is for name, TCP and
        TLS, each request after that has its own.
        """
        options = DialOptions(connect_timeout, tls, send_buffer, receive_buffer, dedicated)
        connection = await dial(host, port, options)
        node = cls(connection, client_id=client_id, request_timeout=request_timeout)
        try:
            try:
                await node._negotiate()
            except (KafkaError, ProtocolError) as error:
                raise api_versions_failed(node.peer, error, tls=tls is not None) from error
            if authenticate is not None:
                await node._authenticate(authenticate)
        except BaseException:
            await node.close()
            raise
        return node

    @property
    def peer(self) -> str:
        return self._connection.peer

    @property
    def is_open(self) -> bool:
        return self._connection.is_open

    @property
    def in_flight(self) -> int:
        """How many requests wait for their answer: the measure by which the least loaded broker is found."""
        return self._connection.in_flight

    @property
    def requests(self) -> int:
        """How many requests were sent so far (it wraps); unchanged for long means that nobody uses the connection."""
        return self._next_correlation_id

    @property
    def buffer_sizes(self) -> tuple[int, int]:
        """What the system has given the socket: (SO_SNDBUF, SO_RCVBUF)."""
        return self._connection.buffer_sizes

    def version_of(self, key: ApiKey, highest: int | None = None) -> int:
        """The newest version of that request that both sides know (and the caller, if it names a highest)."""
        spec = API[key]
        served = self.versions.get(key)
        if served is None:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{self.peer} does not serve {spec.name}")
        version = min(spec.latest_stable, served.high, spec.latest_stable if highest is None else highest)
        if version < max(spec.min_version, served.low):
            ours = f"{spec.min_version} to {spec.max_version if highest is None else highest}"
            text = f"{self.peer} serves {spec.name} {served.low} to {served.high}, we speak {ours}"
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, text)
        return version

    async def send(
        self,
        request: Any,
        version: int | None = None,
        *,
        highest: int | None = None,
        timeout: float | None = None,
        answered: bool = True,
    ) -> Any:
        """Send a request and wait for its response (None at once if it is never answered).

        An answer that cannot be read is a KafkaError (NETWORK_EXCEPTION), and the end of the connection. A request that
        cannot be written is a UsageError: no broker has seen it, and another try would fail in the same way.
        """
        if self._renew_at is not None:
            await self._keep_authenticated()
        try:
            return await self._exchange(request, version, highest, timeout, answered)
        except ProtocolError as error:
            self._connection.close()
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"what {self.peer} sent cannot be read: {error}") from error

    async def _exchange(
        self, request: Any, version: int | None, highest: int | None, timeout: float | None, answered: bool
    ) -> Any:
        """What cannot be read is a ProtocolError here: who greets a stranger wants to know what the stranger said."""
        key = spec_of(request).key
        if version is None:
            version = self.version_of(key, highest)
        correlation_id = self._correlation_id()
        try:
            frame = encode_request_parts(key, version, correlation_id, self._client_id, request)
        except ProtocolError as error:
            raise UsageError(f"a value has the wrong type, or is out of range: {error}") from error
        if not answered:
            self._connection.send_one_way(frame)
            await self._connection.drain()
            return None
        return decode_response(key, version, await self._answer(key, correlation_id, frame, timeout))[1]

    # Posting: for whoever has thousands of requests a second to send (the producer). No task, no coroutine and no timer
    # is made for a request, the caller encodes and decodes, and several requests leave together.

    @property
    def must_renew(self) -> bool:
        """Whether we may have to prove again who we are before a request: then it cannot be posted, only sent."""
        return self._renew_at is not None

    def post(self, key: ApiKey, encode: Callable[[int, str | None], list[Buffer]]) -> asyncio.Future[memoryview]:
        """Queue a request: `encode(correlation id, client id)` makes its frame. The future has the answer's, from the
        correlation id on, or a KafkaError; it must not be cancelled. It leaves with `push`.
        """
        correlation_id = self._correlation_id()
        pending = self._connection.queue(correlation_id, encode(correlation_id, self._client_id))
        posted, loop = self._posted, asyncio.get_running_loop()
        while posted and posted[0][1].done():
            posted.popleft()
        posted.append((loop.time() + self.request_timeout, pending))
        if self._watch is None:
            self._watch = loop.call_later(self.request_timeout, self._look_at_posted, key)
        return pending

    def push(self) -> None:
        """Send what was posted."""
        self._connection.push()

    def read(self, key: ApiKey, version: int, frame: memoryview) -> Any:
        """Decode the answer to a posted request. KafkaError if it cannot be read: that is the end of the connection."""
        try:
            return decode_response(key, version, frame)[1]
        except ProtocolError as error:
            self._connection.close()
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"what {self.peer} sent cannot be read: {error}") from error

    def _look_at_posted(self, key: ApiKey) -> None:
        """One timer for all posted requests: they are answered in their order, so the oldest is late first."""
        self._watch = None
        posted, loop = self._posted, asyncio.get_running_loop()
        while posted and posted[0][1].done():
            posted.popleft()
        if not posted:
            return
        left = posted[0][0] - loop.time()
        if left <= 0:
            self._expire(key, self.request_timeout, posted[0][1])
        else:
            self._watch = loop.call_later(left, self._look_at_posted, key)

    async def _authenticate(self, authenticate: Authenticator) -> None:
        """Prove who we are, and note until when that holds."""
        try:
            lifetime_ms = await authenticate(self)
        except KafkaError as error:
            raise sasl_failed(self.peer, error) from error
        now = asyncio.get_running_loop().time()
        self._authenticator = authenticate
        self._renew_at = now + _RENEW_AT * lifetime_ms / 1000 if lifetime_ms else None

    async def _keep_authenticated(self) -> None:
        """Prove it again when it is time (KIP-368). A broker takes no other request meanwhile: they wait here, in their
        order, but for the exchange's own, which come from the task that makes it.
        """
        assert self._renew_at is not None
        if self._renewal is None:
            if asyncio.get_running_loop().time() < self._renew_at:
                return
            assert self._authenticator is not None
            self._renewal = asyncio.create_task(self._renew(self._authenticator))
            self._renewal.add_done_callback(_look_at)
        if asyncio.current_task() is not self._renewal:
            await asyncio.shield(self._renewal)

    async def _renew(self, authenticate: Authenticator) -> None:
        try:
            await self._authenticate(authenticate)
        except BaseException:
            self._connection.close()  # nobody would believe us here any more
            raise
        finally:
            self._renewal = None

    async def close(self) -> None:
        """Give up what is in flight, and wait until the loop has let go of the socket."""
        self.abort()
        await asyncio.shield(self._connection.closed)

    def abort(self) -> None:
        """Close at once, without waiting for it."""
        if self._watch is not None:
            self._watch.cancel()
        for timer in self._given_up.values():
            timer.cancel()
        self._given_up.clear()
        self._connection.close()

    async def _answer(self, key: ApiKey, correlation_id: int, frame: list[Buffer], timeout: float | None) -> memoryview:
        """Not `asyncio.timeout`: what is late ends the connection, as all later answers wait behind it.

        A caller who is in a hurry leaves before that, and the answer is still owed. If it never comes, the connection
        is no good for anybody: so the time goes on without the caller, or a broker that has fallen silent would never
        be found out by those who have less patience than `request.timeout.ms`.
        """
        seconds = self.request_timeout if timeout is None else timeout
        pending = self._connection.send(correlation_id, frame)
        loop = asyncio.get_running_loop()
        expiry = loop.call_later(seconds, self._expire, key, seconds, pending)
        try:
            return await pending
        finally:
            if pending.cancelled() and self.is_open:
                self._given_up[correlation_id] = loop.call_at(expiry.when(), self._expire_given_up, correlation_id)
            expiry.cancel()

    def _expire_given_up(self, correlation_id: int) -> None:
        """The time of a request is over whose caller has gone."""
        self._given_up.pop(correlation_id, None)
        if self._connection.owes(correlation_id):
            self._connection.close()

    def _expire(self, key: ApiKey, seconds: float, pending: asyncio.Future[memoryview]) -> None:
        """There was no answer in time."""
        if not pending.done():
            text = f"{self.peer} did not answer {API[key].name} within {seconds:g} s"
            pending.set_exception(KafkaError(ErrorCode.REQUEST_TIMED_OUT, text))
        self._connection.close()

    async def _negotiate(self) -> None:
        """Learn what the broker serves. One that is older than our ApiVersions says error 35, always in version 0."""
        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION)
        version = API[ApiKey.API_VERSIONS].latest_stable
        response: ApiVersionsResponse = await self._exchange(request, version, None, None, True)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            offered = {served.api_key: served.max_version for served in response.api_keys}
            older = min(version, offered.get(ApiKey.API_VERSIONS, 0))
            response = await self._exchange(request, older, None, None, True)
        if response.error_code:
            raise KafkaError(response.error_code, f"{self.peer} refused ApiVersions")
        self.versions = {r.api_key: VersionRange(r.min_version, r.max_version) for r in response.api_keys}
        self.features = {feature.name: feature.max_version_level for feature in response.finalized_features or ()}

    def _correlation_id(self) -> int:
        """An int32 on the wire: it wraps before it would become negative."""
        self._next_correlation_id = (self._next_correlation_id + 1) & 0x7FFFFFFF
        return self._next_correlation_id


def _look_at(task: asyncio.Task[None]) -> None:
    """Whoever waits for it gets its error; when nobody is left, that is no news: the connection is closed."""
    if not task.cancelled():
        task.exception()
