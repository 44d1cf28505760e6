"""A real broker inside the test's process, on a free port.

    with Broker() as broker:
        producer = AnyKafkaClient(broker.address)

It runs on an event loop and a thread of its own, so that the test may block. Its directory is a temporary one unless
one is given; with one, `restart` (and a new `Broker` on the same directory) finds everything again.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.fs import LOCAL_FS, FileSystem

if TYPE_CHECKING:
    from tidelog.broker.server import Broker as Server

T = TypeVar("T")

#: What a test wants unless it says otherwise: no waiting, and internal topics that are quick to make.
TEST_DEFAULTS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
}


class Broker:
    """Start with `with`, or with `start` and `stop`. `config` are broker keys, as in `server.properties`."""

    def __init__(
        self,
        data_dir: Path | str | None = None,
        *,
        config: Mapping[str, str] | None = None,
        clock: Clock = SYSTEM_CLOCK,
        fs: FileSystem = LOCAL_FS,
    ) -> None:
        self._given = Path(data_dir) if data_dir is not None else None
        self._temporary: Path | None = None
        self._config = dict(config or {})
        self._clock = clock
        self._fs = fs
        self._port = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._server: Server | None = None

    @property
    def data_dir(self) -> Path:
        if self._given is not None:
            return self._given
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix="tidelog-"))
        return self._temporary

    @property
    def address(self) -> str:
        """`host:port`: what clients call bootstrap servers."""
        return self.server.address

    bootstrap_servers = address

    @property
    def port(self) -> int:
        return self.server.endpoints[0].port

    @property
    def server(self) -> Server:
        """The broker itself. It belongs to its own event loop: touch it by `call`."""
        if self._server is None:
            raise RuntimeError("the broker is not running")
        return self._server

    def start(self) -> Broker:
        """Start, and return when clients can connect. A restart takes the port of the first time, so that clients that
        know the address find the broker again."""
        import uvloop

        from tidelog.broker.server import Broker as Server

        values = {
            "listeners": f"PLAINTEXT://127.0.0.1:{self._port}",
            "log.dirs": str(self.data_dir),
            **TEST_DEFAULTS,
            **self._config,
        }
        self._loop = uvloop.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tidelog-broker", daemon=True)
        self._thread.start()

        async def start() -> Server:
            server = Server(values, clock=self._clock, fs=self._fs)
            await server.start()
            return server

        try:
            self._server = self.call(start())
        except BaseException:
            self._end_loop()
            raise
        self._port = self.port
        return self

    def stop(self) -> None:
        """Stop cleanly. The directory stays until `close`."""
        if self._server is not None:
            server, self._server = self._server, None
            try:
                self.call(server.stop())
            finally:
                self._end_loop()

    def restart(self) -> Broker:
        """Stop and start again, on the same port and directory."""
        self.stop()
        return self.start()

    def close(self) -> None:
        """Stop, and remove the temporary directory."""
        self.stop()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def call(self, coroutine: Coroutine[Any, Any, T], timeout: float = 60) -> T:
        """Run a coroutine on the broker's loop and wait for its result: parts of a broker belong to that loop's thread,
        and are not safe to touch from the test's."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout)

    def create_topic(self, name: str, partitions: int = 1, *, config: Mapping[str, str] | None = None) -> None:
        """Make a topic, without a client."""
        from tidelog.broker.controller.topic_plans import NewTopic
        from tidelog.common.errors import KafkaError

        outcome = self.call(
            self.server.controller.create_topics([NewTopic(name, partitions, 1, configs=dict(config or {}))])
        )[0]
        if isinstance(outcome, KafkaError):
            raise outcome

    def _end_loop(self) -> None:
        """Threads first: one that is still at work would report to a loop that is closed."""
        assert self._loop is not None
        assert self._thread is not None
        self.call(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def __enter__(self) -> Broker:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.close()
