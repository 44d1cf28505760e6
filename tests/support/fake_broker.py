"""A broker for the clients' unit tests: answers with what the test's function returns, on a free port."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tidelog.protocol.api import API, ApiKey, request_class
from tidelog.protocol.headers import RequestHeader, decode_request_header, encode_response
from tidelog.protocol.messages import ApiVersionsResponse

#: Gets a request; returns its response, None for no answer at all, or an exception class to hang up.
Answer = Callable[[RequestHeader, Any], Any]


class HangUp(Exception):
    """Raised by an answer: close the connection."""


class FakeBroker:
    """Serves ApiVersions by itself (all that the protocol package speaks, or `versions`)."""

    def __init__(self, answer: Answer, versions: dict[int, tuple[int, int]] | None = None) -> None:
        everything = {int(key): (spec.min_version, spec.latest_stable) for key, spec in API.items()}
        self.versions = versions or everything
        self.seen: list[tuple[RequestHeader, Any]] = []
        self.connections = 0
        self._answer = answer
        self._server: asyncio.Server | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def __aenter__(self) -> FakeBroker:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                frame = await reader.readexactly(size)
                header, position = decode_request_header(frame)
                request = request_class(header.api_key).decode(frame, header.api_version, position)
                response = self._respond(header, request)
                if response is not None:
                    key, version, correlation = header.api_key, header.api_version, header.correlation_id
                    writer.write(
                        response
                        if isinstance(response, bytes)
                        else encode_response(key, version, correlation, response)
                    )
        except (asyncio.IncompleteReadError, ConnectionError, HangUp):
            pass
        finally:
            writer.close()

    def _respond(self, header: RequestHeader, request: Any) -> Any:
        self.seen.append((header, request))
        if header.api_key == ApiKey.API_VERSIONS:
            ranges = [
                ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high)
                for key, (low, high) in self.versions.items()
            ]
            return ApiVersionsResponse(api_keys=ranges)
        return self._answer(header, request)
