"""Who a broker is: what is given twice must agree, and what is not given is found or made."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.loop import async_test
from tidelog.broker.identity import FIRST_NODE_ID, NodeIdentity, settle_identity
from tidelog.broker.store.local import LocalStore
from tidelog.common.errors import TidelogError
from tidelog.common.rng import seeded_rng
from tidelog.log.manager.manager import LogManager


async def settled(path: Path, store: LocalStore, configured: int = -1) -> NodeIdentity:
    manager = LogManager([path])
    manager.open()
    try:
        return await settle_identity(store.session(), manager, configured, seeded_rng(1))
    finally:
        manager.shutdown()


@async_test
async def test_a_new_broker_alone_is_the_first_and_stays_who_it_is(tmp_path: Path) -> None:
    store = LocalStore()
    first = await settled(tmp_path, store)
    assert first.node_id == FIRST_NODE_ID
    assert await settled(tmp_path, store) == first
    assert await settled(tmp_path, LocalStore()) == first


@async_test
async def test_brokers_of_one_store_are_of_one_cluster(tmp_path: Path) -> None:
    store = LocalStore()
    one, two = await settled(tmp_path / "a", store, 5), await settled(tmp_path / "b", store, 6)
    assert (one.node_id, two.node_id, one.cluster_id) == (5, 6, two.cluster_id)


@async_test
async def test_a_directory_of_another_is_refused(tmp_path: Path) -> None:
    await settled(tmp_path, LocalStore(), 5)
    with pytest.raises(TidelogError, match="5"):
        await settled(tmp_path, LocalStore(), 6)
