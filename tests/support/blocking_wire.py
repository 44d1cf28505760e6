"""A blocking connection that asks one thing after the other: for brokers in processes of their own."""

from __future__ import annotations

import socket
import struct
import time
from types import TracebackType
from typing import Any

from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request
from tidelog.protocol.messages import CreateTopicsRequest


class BlockingWire:
    def __init__(self, address: str, *, deadline: float | None = None, timeout: float = 30) -> None:
        """With a deadline (`time.perf_counter`), try until then to be let in."""
        host, _, port = address.rpartition(":")
        while True:
            try:
                self._socket = socket.create_connection((host, int(port)), timeout)
                break
            except OSError:
                if deadline is None or time.perf_counter() > deadline:
                    raise
                time.sleep(0.002)
        self._file = self._socket.makefile("rb")

    def ask(self, key: ApiKey, version: int, request: Any) -> Any:
        self._socket.sendall(encode_request(key, version, 1, "wire", request))
        size = self._file.read(4)
        if len(size) < 4:
            raise ConnectionError("the broker closed the connection")
        frame = self._file.read(struct.unpack(">i", size)[0])
        return decode_response(key, version, frame)[1]

    def create_topic(self, name: str, partitions: int = 1) -> None:
        new = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        answer = self.ask(ApiKey.CREATE_TOPICS, 5, CreateTopicsRequest(topics=[new], timeout_ms=60_000))
        assert answer.topics[0].error_code == 0, answer

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def __enter__(self) -> BlockingWire:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
