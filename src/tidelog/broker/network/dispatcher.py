"""From a frame to its handler and back, for every request that no taker takes.

A handler gets the services of its room, who asked (`RequestContext`), and the request. It may answer at once or await
something. What comes often (data, offsets, members, transactions) is stepped without a task of its own (`Stepper`);
other asynchronous handlers run as tasks. Either way the connection looks at its next request when this one is answered:
Kafka promises that the answers of a connection come in the order of its requests, and a producer's batches rely on it.

Errors: bytes that are no request close the connection, with a line in the log. A handler that fails in a way that it
did not foresee is logged, and answered with UNKNOWN_SERVER_ERROR wherever the response has room for a code.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Coroutine
from types import CoroutineType
from typing import Any

from tidelog.broker.handlers import Decoder, HandlerFunction, decoder_for, failed, handler_for, load
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.services import Services
from tidelog.broker.metrics import BrokerMetrics
from tidelog.broker.network.stepper import Done, Later, Stepper
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.common.named_tuple import NamedTuple
from tidelog.net._connection import ServerConnection
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader, decode_request_header, encode_response_parts
from tidelog.protocol.message import Message

logger = logging.getLogger("tidelog.requests")

UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION


class ApiRoute(NamedTuple):
    """How the requests of one API are served: found once, used for each."""

    name: str
    versions: range
    decode: Decoder
    handle: HandlerFunction
    services: Any
    stepped: bool
    negotiates: bool
    """ApiVersions: whoever asks in a version that we do not know is told which ones we do."""

    @classmethod
    def of(cls, key: int, services: Services) -> ApiRoute:
        """What the table says of an API, with its functions loaded and its room's services made. An API that is not in
        it closes the connection, as an unknown key does in Kafka: no answer would be understood.
        """
        row = handler_for(key)
        if row is None:
            raise ProtocolError(f"{ApiKey(key).name} requests are not served here")
        return cls(
            row.key.name,
            range(row.min_version, row.max_version + 1),
            decoder_for(row),
            load(row.target),
            services.of(row.room),
            row.stepped,
            row.key is ApiKey.API_VERSIONS,
        )


class Dispatcher:
    """One for all connections of a broker; at most one request of each is under way."""

    def __init__(self, services: Services, metrics: BrokerMetrics) -> None:
        self._services = services
        self._metrics = metrics
        self._routes: dict[int, ApiRoute] = {}
        self._running: dict[ServerConnection, Stepper | Later] = {}
        self.requests = 0

    def __len__(self) -> int:
        """Requests that are under way."""
        return len(self._running)

    # -- requests ----------------------------------------------------------------------------------------------------

    def on_request(self, connection: ServerConnection, frame: bytearray) -> None:
        """Serve one frame. ProtocolError closes the connection.

        A version that is not served closes it, too, but for ApiVersions: there the handler gets None for a request,
        since its bytes may be of a form that nobody here knows, and answers with what is served.
        """
        self.requests += 1
        try:
            header, position = decode_request_header(frame)
        except KafkaError as error:
            raise ProtocolError(str(error)) from None
        key = header.api_key
        self._metrics.requests[key] += 1
        route = self._routes.get(key)
        if route is None:
            route = self._routes[key] = ApiRoute.of(key, self._services)
        request = None
        if header.api_version in route.versions:
            request = route.decode(memoryview(frame), header.api_version, position)
        elif not route.negotiates:
            raise ProtocolError(f"{route.name} version {header.api_version} is not served here")
        context = RequestContext(header, connection, connection.session)
        try:
            result = route.handle(route.services, context, request)
        except ProtocolError:
            raise  # a request that makes no sense closes the connection, wherever that is noticed
        except Exception as error:  # noqa: BLE001  # whatever a handler did not foresee is one request's failure
            self._fail(connection, header, request, error)
            return
        if route.stepped and type(result) is CoroutineType:
            self._step(connection, header, request, result)
        elif isinstance(result, Message) or not inspect.isawaitable(result):
            self._answer(connection, header, result)
        else:
            connection.begin()
            self._running[connection] = Later(result, self._finisher(connection, header, request))

    def _step(
        self, connection: ServerConnection, header: RequestHeader, request: Any, coroutine: Coroutine[Any, Any, Any]
    ) -> None:
        """Run what a stepped handler returned; the connection is held only if that has to wait."""
        stepper = Stepper(coroutine, self._finisher(connection, header, request))
        if not stepper.step():
            connection.begin()
            self._running[connection] = stepper

    def _finisher(self, connection: ServerConnection, header: RequestHeader, request: Any) -> Done:
        """What answers a request whose handler had to wait. By then the client may have gone: then it was cancelled,
        and this is not called.
        """

        def done(result: Message | None, error: Exception | None) -> None:
            self._running.pop(connection, None)
            if error is not None:
                self._fail(connection, header, request, error)
            else:
                self._answer(connection, header, result)

        return done

    def on_lost(self, connection: ServerConnection) -> None:
        """The client is gone: give up what is under way for it. Changes of the cluster's state go on; they are nobody's
        request any more (`controller/changes.py`).
        """
        running = self._running.pop(connection, None)
        if running is not None:
            running.cancel()

    async def stop(self) -> None:
        """Give up everything that is under way."""
        tasks = [one.task for one in self._running.values() if isinstance(one, Later)]
        for running in list(self._running.values()):
            running.cancel()
        self._running.clear()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- answers -----------------------------------------------------------------------------------------------------

    def _answer(self, connection: ServerConnection, header: RequestHeader, response: Any) -> None:
        """Encode and send. An answer of ApiVersions to a version that we do not know goes out in version 0, which every
        client reads. What was read for a Fetch is given back if it cannot be sent.
        """
        parts = None
        if response is not None:
            version = header.api_version
            if header.api_key == ApiKey.API_VERSIONS and getattr(response, "error_code", 0) == UNSUPPORTED:
                version = 0
            try:
                parts = encode_response_parts(header.api_key, version, header.correlation_id, response)
            except Exception:  # whatever a handler put into an answer: it is one connection's failure
                logger.exception("the answer to %s could not be encoded", ApiKey(header.api_key).name)
                if header.api_key == ApiKey.FETCH:
                    response.release()
                connection.close()
                return
        if connection.busy:
            connection.finish(parts)
        elif parts is not None:
            connection.write(parts)

    def _fail(self, connection: ServerConnection, header: RequestHeader, request: Any, error: Exception) -> None:
        """Answer for a handler that raised. A KafkaError is its way to refuse a request as a whole; anything else is a
        bug.

        A producer with acks=0 reads no answer, so that a closed connection has to tell it.
        """
        self._metrics.failures[header.api_key] += 1
        name = ApiKey(header.api_key).name
        code = error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR
        if not isinstance(error, KafkaError):
            logger.error("%s version %d from %s failed", name, header.api_version, connection.peer, exc_info=error)
        if header.api_key == ApiKey.PRODUCE and not request.acks:
            connection.close(f"{name} failed and its client does not wait for an answer: {error}")
            return
        self._answer(connection, header, failed(ApiKey(header.api_key), header.api_version, request, code))
