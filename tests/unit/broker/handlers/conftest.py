"""A broker for the module, and one function that asks it anything."""

from __future__ import annotations

import asyncio

import pytest

from tidelog.net.node_client import NodeClient
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    dirs = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    with Broker(dirs[0], config={"log.dirs": ",".join(map(str, dirs)), "num.partitions": "2"}) as broker:
        yield broker


@pytest.fixture(scope="module")
def ask(broker):
    """`ask(request, version=None) → response`, over a connection of its own."""

    async def exchange(request, version):
        node = await NodeClient.connect("127.0.0.1", broker.port)
        try:
            return await node.send(request, version)
        finally:
            await node.close()

    return lambda request, version=None: asyncio.run(exchange(request, version))
