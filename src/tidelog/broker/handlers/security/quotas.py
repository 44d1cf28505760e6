"""DescribeClientQuotas and AlterClientQuotas: quotas of users, client ids and addresses, kept in the store.

An entity is a set of (type, name) pairs; a null name is the default of its type. Each has one node:

    /config/users/<user>                    /config/users/<user>/clients/<client>
    /config/clients/<client>                /config/ips/<address>
"""

from __future__ import annotations

import ipaddress
import logging
import math
from collections import Counter
from collections.abc import Iterable, Mapping

from tidelog.broker.controller.loading import load_configs
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.security.scram import MECHANISMS
from tidelog.broker.handlers.security.services import SecurityServices
from tidelog.broker.store import paths
from tidelog.broker.store.api import Store
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol.messages import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

logger = logging.getLogger(__name__)

USER, CLIENT, IP = "user", "client-id", "ip"
EXACT, DEFAULT, ANY = 0, 1, 2
CLIENT_KEYS = frozenset(("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"))
IP_KEYS = frozenset(("connection_creation_rate",))
#: Quotas that count things: no fractions.
WHOLE = frozenset(("producer_byte_rate", "consumer_byte_rate", "connection_creation_rate"))
_SCRAM = frozenset(mechanism.name for mechanism in MECHANISMS.values())

Entity = dict[str, str | None]


class Quota(NamedTuple):
    entity: Entity
    values: dict[str, float]


# -- reading ---------------------------------------------------------------------------------------------------------


async def load_quotas(store: Store) -> list[Quota]:
    """Every entity that has a quota."""
    quotas: list[Quota] = []
    for root, kind in ((paths.CLIENT_CONFIGS, CLIENT), (paths.IP_CONFIGS, IP), (paths.USER_CONFIGS, USER)):
        for part, values in (await load_configs(store, root)).items():
            quotas.append(Quota({kind: _name(part)}, _numbers(f"{root}/{part}", values)))
            clients = f"{root}/{part}/clients"
            if kind == USER and await store.exists(clients) is not None:
                for client, both in (await load_configs(store, clients)).items():
                    quotas.append(
                        Quota({USER: _name(part), CLIENT: _name(client)}, _numbers(f"{clients}/{client}", both))
                    )
    return [quota for quota in quotas if quota.values]


async def describe(
    services: SecurityServices, ctx: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    try:
        _check_filter(request.components)
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
        if _matches(quota.entity, request.components, request.strict)
    ]
    return DescribeClientQuotasResponse(error_message="", entries=entries)


def _check_filter(components: Iterable[DescribeClientQuotasRequest.ComponentData]) -> None:
    seen: set[str] = set()
    for component in components:
        kind = component.entity_type
        if kind not in (USER, CLIENT, IP):
            code = ErrorCode.UNSUPPORTED_VERSION if kind else ErrorCode.INVALID_REQUEST
            raise KafkaError(code, f"Custom entity type '{kind}' not supported" if kind else "Unexpected empty type")
        if kind in seen:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Duplicate filter component entity type {kind}")
        seen.add(kind)
        if component.match_type == EXACT and component.match is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Request specified MATCH_TYPE_EXACT, but set match to null.")
        if component.match_type in (DEFAULT, ANY) and component.match is not None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A match is given for a type of match that takes none.")
        if component.match_type not in (EXACT, DEFAULT, ANY):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unexpected match type {component.match_type}")
    if IP in seen and len(seen) > 1:
        text = "Invalid entity filter component combination, IP filter component should not be used with others."
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)


def _matches(entity: Entity, components: list[DescribeClientQuotasRequest.ComponentData], strict: bool) -> bool:
    for component in components:
        if component.entity_type not in entity:
            return False
        name = entity[component.entity_type]
        if component.match_type == EXACT and name != component.match:
            return False
        if component.match_type == DEFAULT and name is not None:
            return False
    return not strict or len(entity) == len(components)


# -- changing --------------------------------------------------------------------------------------------------------


async def alter(
    services: SecurityServices, ctx: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
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
    if len({op.key for op in entry.ops}) < len(entry.ops):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate quota key in request")
    path = entity_path(entity)
    allowed = IP_KEYS if IP in entity else CLIENT_KEYS
    for op in entry.ops:
        if op.key not in allowed:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Invalid configuration key {op.key}")
        if not op.remove:
            _check_value(op.key, op.value)

    def decide(stored: dict[str, str]) -> dict[str, str]:
        kept = {key: value for key, value in stored.items() if key not in {op.key for op in entry.ops}}
        return kept | {op.key: str(op.value) for op in entry.ops if not op.remove}

    await services.controller.entity_configs.change(path, decide, lambda _: None, validate_only=validate_only)


def _check_value(key: str, value: float) -> None:
    if not math.isfinite(value) or value <= 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Quota {key} must be greater than 0")
    if key in WHOLE and (value != int(value) or value > 2**63 - 1):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key} must be a whole number that fits 64 bits")


def entity_path(entity: Mapping[str, str | None]) -> str:
    """The entity's node."""
    if any(name == "" for name in entity.values()):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Empty entity names are not supported")
    parts = {kind: _part(name) for kind, name in entity.items()}
    if set(parts) == {USER}:
        relative = f"users/{parts[USER]}"
    elif set(parts) == {CLIENT}:
        relative = f"clients/{parts[CLIENT]}"
    elif set(parts) == {USER, CLIENT}:
        relative = f"users/{parts[USER]}/clients/{parts[CLIENT]}"
    elif set(parts) == {IP}:
        _check_address(entity[IP])
        relative = f"ips/{parts[IP]}"
    elif not parts:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Invalid empty client quota entity")
    elif IP in parts:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Cannot combine an ip with another entity type")
    else:
        kind = next(kind for kind in parts if kind not in (USER, CLIENT, IP))
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unhandled client quota entity type: {kind}")
    return f"/config/{relative}"


def _check_address(name: str | None) -> None:
    if name is None:
        return
    try:
        ipaddress.ip_address(name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is not a valid IP or resolvable host.") from None


def _part(name: str | None) -> str:
    return paths.DEFAULT_ENTITY if name is None else paths.sanitize(name)


def _name(part: str) -> str | None:
    return None if part == paths.DEFAULT_ENTITY else paths.unsanitize(part)


def _numbers(path: str, values: Mapping[str, str]) -> dict[str, float]:
    numbers = {}
    for key, value in values.items():
        if key not in _SCRAM:
            try:
                numbers[key] = float(value)
            except ValueError:
                logger.warning("A stored quota at %s is ignored: %s=%s", path, key, value)
    return numbers
