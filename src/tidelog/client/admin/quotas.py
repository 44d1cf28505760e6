"""Quotas: how much a user, a client id or an address may use, in bytes or requests per second.

A quota belongs to an entity: a user, a client id, a user's client id, or an ip address. Where a part is `DEFAULT`, it
holds for whoever has no quota of their own; a part that is None does not matter.

The most special entity that fits a connection decides: a user's client id before the user, a user before a client id,
a name before DEFAULT. Keys are `producer_byte_rate`, `consumer_byte_rate`, `request_percentage` (of a broker's
threads), `controller_mutation_rate` (topics and partitions per second), `connection_creation_rate` (of an address). A
client that exceeds one is not refused: its answers are delayed.

    alice = QuotaEntity(user="alice")
    admin.alter_client_quotas({alice: {"producer_byte_rate": 1_000_000, "request_percentage": None}})
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.hints import check, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import ANYBODY, CONTROLLER
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol import messages


class Quota(Enum):
    """Whom a part of an entity means, if nobody by name."""

    DEFAULT = 1
    ANY = 2


#: Whoever has no quota of their own.
DEFAULT = Quota.DEFAULT
#: For questions: every entity that has this part, by name or as default.
ANY = Quota.ANY

#: A name, DEFAULT (or ANY in questions), or None: the part does not matter.
Part = str | Quota | None

_TYPES = {"user": "user", "client_id": "client-id", "ip": "ip"}
_EXACT = 0


class QuotaEntity(NamedTuple):
    """Whom a quota is for."""

    user: Part = None
    client_id: Part = None
    ip: Part = None


class QuotaAdmin(AdminBase):
    """The part of the Admin that is about quotas."""

    async def describe_client_quotas(
        self,
        *,
        user: Part = None,
        client_id: Part = None,
        ip: Part = None,
        strict: bool = False,
        timeout: float | None = None,
    ) -> dict[QuotaEntity, dict[str, float]]:
        """The quotas of all entities that match, by entity and key; without a part, of all entities.

        `strict`: of entities that have the named parts and no others.
        """
        asked = QuotaEntity(user, client_id, ip)
        components = [
            messages.DescribeClientQuotasRequest.ComponentData(
                entity_type=_TYPES[name],
                match_type=part.value if isinstance(part, Quota) else _EXACT,
                match=None if isinstance(part, Quota) else part,
            )
            for name, part in asked._asdict().items()
            if part is not None
        ]

        def read(response: Any) -> dict[QuotaEntity, dict[str, float]]:
            check(response.error_code, response.error_message, "describing quotas")
            found = response.entries or []
            return {_entity(each.entity): {value.key: value.value for value in each.values} for each in found}

        request = messages.DescribeClientQuotasRequest(components=components, strict=strict)
        return await self._call(timeout).one(ANYBODY, request, read)

    async def alter_client_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Outcomes[QuotaEntity, None]:
        """Set quotas of entities; None removes one. All keys of an entity succeed or fail together.

        Brokers take it over within moments, also for connections that are open.
        """
        Op = messages.AlterClientQuotasRequest.OpData

        def ask(keys: list[QuotaEntity]) -> messages.AlterClientQuotasRequest:
            asked = [
                messages.AlterClientQuotasRequest.EntryData(
                    entity=[
                        messages.AlterClientQuotasRequest.EntityData(
                            entity_type=_TYPES[name], entity_name=None if isinstance(part, Quota) else part
                        )
                        for name, part in key._asdict().items()
                        if part is not None
                    ],
                    ops=[
                        Op(key=name, value=value or 0.0, remove=value is None) for name, value in changes[key].items()
                    ],
                )
                for key in keys
            ]
            return messages.AlterClientQuotasRequest(entries=asked, validate_only=validate_only)

        def read(response: Any, keys: list[QuotaEntity]) -> Answers[QuotaEntity, None]:
            for each in response.entries:
                entity = _entity(each.entity)
                yield entity, outcome(None, each.error_code, each.error_message, entity)

        return await self._call(timeout).each(changes, CONTROLLER, ask, read)


def _entity(parts: Any) -> QuotaEntity:
    """From an answer, where no name means the default."""
    names = {each.entity_type: DEFAULT if each.entity_name is None else each.entity_name for each in parts}
    return QuotaEntity(names.get("user"), names.get("client-id"), names.get("ip"))
