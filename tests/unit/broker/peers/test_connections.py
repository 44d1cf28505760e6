"""Connections between brokers: one each, opened once however many ask, and followed to another address."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from support.loop import async_test
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.metadata.control_messages import UpdateMetadata
from tidelog.broker.metadata.images import BrokerImage
from tidelog.broker.peers.connections import PeerConnections
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.net.node_client import NodeClient
from tidelog.protocol.messages import MetadataRequest


def broker(path: Path, node_id: int) -> Broker:
    return Broker({"listeners": "PLAINTEXT://127.0.0.1:0", "node.id": str(node_id), "log.dirs": str(path)})


def at(metadata: MetadataCache, *addresses: tuple[int, str]) -> None:
    images = []
    for node_id, address in addresses:
        host, port = address.split(":")
        images.append(BrokerImage(node_id, {"PLAINTEXT": (host, int(port))}))
    metadata.update(UpdateMetadata(1, 1, images))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[NodeClient]:
    """Every connection that is opened."""
    connect, nodes = NodeClient.connect, []

    async def counted(*args, **options):
        nodes.append(await connect(*args, **options))
        return nodes[-1]

    monkeypatch.setattr(NodeClient, "connect", counted)
    return nodes


@async_test
async def test_all_who_ask_at_once_share_one_connection(tmp_path, opened):
    async with broker(tmp_path, 2) as other:
        metadata = MetadataCache()
        at(metadata, (2, other.address))
        peers = PeerConnections(metadata, "PLAINTEXT", "test")
        answers = await asyncio.gather(*(peers.send(2, MetadataRequest(topics=[])) for _ in range(20)))
        assert {answer.controller_id for answer in answers} == {2}
        assert (len(opened), len(peers)) == (1, 1)
        await peers.stop()
        assert not opened[0].is_open
        assert len(peers) == 0


@async_test
async def test_a_broker_that_comes_back_elsewhere_is_followed(tmp_path, opened):
    metadata = MetadataCache()
    peers = PeerConnections(metadata, "PLAINTEXT", "test")
    async with AsyncExitStack() as stack:
        for node_id in (1, 2):
            other = await stack.enter_async_context(broker(tmp_path / str(node_id), node_id))
            at(metadata, (7, other.address))
            assert (await peers.send(7, MetadataRequest(topics=[]))).controller_id == node_id
        assert [node.is_open for node in opened] == [False, True]
        await peers.stop()


@async_test
async def test_a_lost_connection_is_opened_anew(tmp_path, opened):
    async with broker(tmp_path, 2) as other:
        metadata = MetadataCache()
        at(metadata, (2, other.address))
        peers = PeerConnections(metadata, "PLAINTEXT", "test")
        await peers.send(2, MetadataRequest(topics=[]))
        await opened[0].close()
        assert (await peers.send(2, MetadataRequest(topics=[]))).controller_id == 2
        assert len(opened) == 2
        await peers.stop()


@async_test
async def test_one_that_is_not_registered_or_not_there(opened):
    metadata = MetadataCache()
    peers = PeerConnections(metadata, "PLAINTEXT", "test")
    at(metadata, (2, "127.0.0.1:1"))
    for node_id, code in ((2, ErrorCode.NETWORK_EXCEPTION), (3, ErrorCode.BROKER_NOT_AVAILABLE)):
        with pytest.raises(KafkaError) as caught:
            await peers.send(node_id, MetadataRequest(topics=[]))
        assert caught.value.code is code
    assert len(peers) == 0


@async_test
async def test_one_that_cannot_be_talked_to(monkeypatch):
    """Whoever sends markers goes on after a KafkaError, and after nothing else: opening, too, must raise no other."""

    async def strange(*_args, **_options):
        raise ProtocolError("this is no ApiVersions answer")

    monkeypatch.setattr(NodeClient, "connect", strange)
    metadata = MetadataCache()
    at(metadata, (2, "127.0.0.1:1"))
    peers = PeerConnections(metadata, "PLAINTEXT", "test")
    with pytest.raises(KafkaError) as refused:
        await peers.send(2, MetadataRequest(topics=[]))
    assert refused.value.code is ErrorCode.NETWORK_EXCEPTION
    assert len(peers) == 0
