"""All quotas that are set: read from the store's tree, entity by entity."""

from __future__ import annotations

from tidelog.broker.controller.loading import load_configs
from tidelog.broker.quotas.entities import CLIENT, IP, USER, Entity
from tidelog.broker.quotas.values import numbers
from tidelog.broker.store import paths
from tidelog.broker.store.api import Store
from tidelog.common.named_tuple import NamedTuple


class StoredQuota(NamedTuple):
    entity: Entity
    values: dict[str, float]


async def load_quotas(store: Store) -> list[StoredQuota]:
    """Every entity that has a quota. A user's node may be there for its credentials, or for its clients, alone."""
    quotas: list[StoredQuota] = []
    for root, kind in ((paths.CLIENT_CONFIGS, CLIENT), (paths.IP_CONFIGS, IP), (paths.USER_CONFIGS, USER)):
        for part, values in (await load_configs(store, root)).items():
            name = paths.entity_name(part)
            quotas.append(StoredQuota({kind: name}, numbers(f"{root}/{part}", values)))
            clients = f"{root}/{part}/clients"
            if kind == USER and await store.exists(clients) is not None:
                for client, both in (await load_configs(store, clients)).items():
                    entity = {USER: name, CLIENT: paths.entity_name(client)}
                    quotas.append(StoredQuota(entity, numbers(f"{clients}/{client}", both)))
    return [quota for quota in quotas if quota.values]
