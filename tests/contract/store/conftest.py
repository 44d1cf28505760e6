"""Which stores the contract is held against. A ZooKeeper joins as one more entry of `KINDS`: an object that makes
sessions (`await session()`), ends them from outside (`await expire(session)`) and can be closed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import pytest

from tidelog.broker.store.api import Store
from tidelog.broker.store.local import FILE_NAME, LocalSession, LocalStore


class Server(Protocol):
    async def session(self) -> Store: ...
    async def expire(self, session: Store) -> None: ...
    async def close(self) -> None: ...


class LocalServer:
    def __init__(self, path: Path | None) -> None:
        self.store = LocalStore(path)

    async def session(self) -> LocalSession:
        return self.store.session()

    async def expire(self, session: Store) -> None:
        ended = self.store.expire(session.session_id)
        if ended is not None:
            await ended

    async def close(self) -> None:
        await self.store.close()


async def _memory(tmp_path: Path) -> Server:
    return LocalServer(None)


async def _file(tmp_path: Path) -> Server:
    return LocalServer(tmp_path / FILE_NAME)


KINDS: dict[str, Callable[[Path], Awaitable[Server]]] = {"memory": _memory, "sqlite": _file}


@pytest.fixture(params=KINDS)
def start_server(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Awaitable[Server]]:
    return lambda: KINDS[request.param](tmp_path)
