"""Brokers in the store: registered by themselves, read by the controller."""

from __future__ import annotations

import json

from support.loop import async_test
from tidelog.broker.config.endpoints import Endpoint
from tidelog.broker.metadata.images import BrokerImage
from tidelog.broker.metadata.registration import Registration, read_registrations
from tidelog.broker.store import paths
from tidelog.broker.store.api import ensure_path
from tidelog.broker.store.local import LocalStore
from tidelog.testing.clock import ManualClock

HERE = Endpoint("PLAINTEXT", "PLAINTEXT", "h1", 0)
OUTSIDE = Endpoint("OUTSIDE", "PLAINTEXT", "::1", 9094)


@async_test
async def test_everybody_who_registered_is_read_until_his_session_ends():
    store = LocalStore()
    one, two = store.session(), store.session()
    await ensure_path(one, paths.BROKER_IDS)
    await Registration(two, 10, "r2", ManualClock()).announce([HERE._replace(host="h2", port=2)])
    await Registration(one, 9, None, ManualClock()).announce([HERE, OUTSIDE])
    first, second = await read_registrations(one)
    assert first == BrokerImage(9, {"PLAINTEXT": ("h1", 0), "OUTSIDE": ("::1", 9094)}, None, first.epoch)
    assert second == BrokerImage(10, {"PLAINTEXT": ("h2", 2)}, "r2", second.epoch)
    assert first.epoch > second.epoch > 0
    await two.close()
    assert [image.node_id for image in await read_registrations(one)] == [9]
    await store.close()


@async_test
async def test_a_port_that_is_known_later_changes_the_node_and_not_the_epoch():
    store = LocalStore()
    session = store.session()
    await ensure_path(session, paths.BROKER_IDS)
    registration = Registration(session, 1, None, ManualClock())
    assert await registration.announce([HERE])
    assert not await registration.announce([HERE])
    (before,) = await read_registrations(session)
    assert await registration.announce([HERE._replace(port=9092)])
    assert await read_registrations(session) == [before._replace(endpoints={"PLAINTEXT": ("h1", 9092)})]
    await store.close()


@async_test
async def test_a_node_of_an_old_broker_is_read():
    store = LocalStore()
    session = store.session()
    await ensure_path(session, paths.BROKER_IDS)
    await session.create(paths.broker(3), json.dumps({"version": 1, "host": "old", "port": 9092}).encode())
    (image,) = await read_registrations(session)
    assert image.endpoints == {"PLAINTEXT": ("old", 9092)}
    await store.close()
