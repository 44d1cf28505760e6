"""Quotas as they lie in the store: clients, addresses, users, and clients of users."""

from __future__ import annotations

from support.loop import async_test
from tidelog.broker.quotas.entities import CLIENT, IP, USER
from tidelog.broker.quotas.stored import StoredQuota, load_quotas
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import ensure_paths
from tidelog.broker.store.local import LocalStore


@async_test
async def test_every_entity_with_a_quota_and_no_other() -> None:
    store = LocalStore().session()
    await ensure_paths(store, paths.PERSISTENT)
    for path, values in {
        f"{paths.CLIENT_CONFIGS}/c": {"producer_byte_rate": "1024"},
        f"{paths.IP_CONFIGS}/10.0.0.1": {"connection_creation_rate": "5"},
        f"{paths.USER_CONFIGS}/{paths.DEFAULT_ENTITY}": {"request_percentage": "50"},
        f"{paths.USER_CONFIGS}/u": {"SCRAM-SHA-256": "salt=…"},
        f"{paths.USER_CONFIGS}/u/clients/c": {"consumer_byte_rate": "2048"},
    }.items():
        await store.create(path, znodes.encode_config(values), make_parents=True)
    found = await load_quotas(store)
    assert found == [
        StoredQuota({CLIENT: "c"}, {"producer_byte_rate": 1024.0}),
        StoredQuota({IP: "10.0.0.1"}, {"connection_creation_rate": 5.0}),
        StoredQuota({USER: None}, {"request_percentage": 50.0}),
        StoredQuota({USER: "u", CLIENT: "c"}, {"consumer_byte_rate": 2048.0}),
    ]
