"""Producer ids: in the store before they are given out, never twice, never below what an adopted log has seen."""

from __future__ import annotations

import asyncio

from support.loop import async_test
from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.producer_ids import ProducerIds, allocate_block
from tidelog.broker.store import paths
from tidelog.broker.store.api import Store, ensure_paths
from tidelog.broker.store.local import LocalStore
from tidelog.broker.store.znodes import PRODUCER_ID_BLOCK_SIZE, decode_producer_id_block


async def new_store() -> Store:
    store = LocalStore().session()
    await ensure_paths(store, paths.PERSISTENT)
    return store


@async_test
async def test_two_brokers_never_give_the_same() -> None:
    store = await new_store()
    brokers = [ProducerIds(Changes(_broken), store, node) for node in (1, 2)]
    ids = await asyncio.gather(*(broker.next() for broker in brokers for _ in range(PRODUCER_ID_BLOCK_SIZE + 1)))
    assert len(set(ids)) == len(ids)
    last = decode_producer_id_block("", (await store.get(paths.PRODUCER_ID_BLOCK))[0])
    assert last is not None
    assert max(ids) < last.first + last.size


@async_test
async def test_who_waits_for_a_block_shares_it() -> None:
    store = await new_store()
    broker = ProducerIds(Changes(_broken), store, 1)
    assert sorted(await asyncio.gather(*(broker.next() for _ in range(50)))) == list(range(50))


@async_test
async def test_nothing_below_the_floor() -> None:
    store = await new_store()
    broker = ProducerIds(Changes(_broken), store, 1)
    broker.floor = 5000
    assert await broker.next() == 5000
    assert (await allocate_block(store, 2)).first == 5000 + PRODUCER_ID_BLOCK_SIZE


def _broken(error: BaseException) -> None:
    raise AssertionError from error
