"""DescribeClientQuotas and AlterClientQuotas, versions 0 and 1 (KIP-546): who may use how much.

What entities and quotas there are, and which values they may have, is `broker.quotas`'; here requests are read and
answers written. Quotas are kept and shown; this version of the broker throttles nobody. They share nodes with SCRAM
credentials (a user's), so that a change of either must leave the other alone.

For a request the most specific quota holds that is set: of the user with the client id, of the user with any client id,
of the user, and so on through the defaults down to that of all client ids.
"""

from __future__ import annotations

from collections import Counter

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.security.services import SecurityServices
from tidelog.broker.quotas.entities import Entity, entity_path
from tidelog.broker.quotas.filters import Component, check_filter, matches
from tidelog.broker.quotas.stored import load_quotas
from tidelog.broker.quotas.values import check_changes, plan_quotas
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)


async def describe(
    services: SecurityServices, ctx: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    """The quotas that a filter matches. A filter that makes no sense fails the whole request, with null entries."""
    components = [Component(part.entity_type, part.match_type, part.match) for part in request.components]
    try:
        check_filter(components)
    except KafkaError as error:
        return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)
    entries = [
        DescribeClientQuotasResponse.EntryData(
            entity=[
                DescribeClientQuotasResponse.EntityData(entity_type=kind, entity_name=name)
                for kind, name in quota.entity.items()
            ],
            values=[DescribeClientQuotasResponse.ValueData(key=key, value=v) for key, v in quota.values.items()],
        )
        for quota in await load_quotas(services.store)
        if matches(quota.entity, components, strict=request.strict)
    ]
    return DescribeClientQuotasResponse(error_message="", entries=entries)


async def alter(
    services: SecurityServices, ctx: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    """Entity by entity: one that is refused does not hold back the others.

    An entity that is named twice is answered once, and refused: which of the two should win is nowhere said.
    """
    response = AlterClientQuotasResponse()
    entries = [({part.entity_type: part.entity_name for part in entry.entity}, entry) for entry in request.entries]
    counts = Counter(frozenset(entity.items()) for entity, _ in entries)
    answered: set[frozenset[tuple[str, str | None]]] = set()
    for entity, entry in entries:
        key = frozenset(entity.items())
        if key in answered:
            continue
        answered.add(key)
        names = [AlterClientQuotasResponse.EntityData(entity_type=kind, entity_name=n) for kind, n in entity.items()]
        result = AlterClientQuotasResponse.EntryData(entity=names, error_message=None)
        try:
            if counts[key] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate quota entity in request")
            await _alter(services, entity, entry, validate_only=request.validate_only)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        response.entries.append(result)
    return response


async def _alter(
    services: SecurityServices, entity: Entity, entry: AlterClientQuotasRequest.EntryData, *, validate_only: bool
) -> None:
    """One entity, in one step of the controller: all of its operations or none."""
    changes = {op.key: None if op.remove else op.value for op in entry.ops}
    if len(changes) < len(entry.ops):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate quota key in request")
    path = entity_path(entity)
    check_changes(entity, changes)
    await services.entity_configs.change(
        path, lambda stored: plan_quotas(stored, changes), lambda _: None, validate_only=validate_only
    )
