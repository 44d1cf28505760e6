"""Which quotas a question is about: one component per type of entity (KIP-546).

    exact      entities of that name
    default    the default of that type
    any        every entity that has the type, by name or as default

All components must hold. A strict question wants entities of just these types; others may have more: `user=alice` finds
alice's quota and those of alice with each client id.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidelog.broker.quotas.entities import CLIENT, IP, USER, Entity
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple

EXACT, DEFAULT, ANY = 0, 1, 2


class Component(NamedTuple):
    kind: str
    match_type: int
    match: str | None


def check_filter(components: Iterable[Component]) -> None:
    """Each type once and one that exists; a name where it is asked for one, and only there."""
    seen: set[str] = set()
    for kind, match_type, match in components:
        if kind not in (USER, CLIENT, IP):
            code = ErrorCode.UNSUPPORTED_VERSION if kind else ErrorCode.INVALID_REQUEST
            raise KafkaError(code, f"Custom entity type '{kind}' not supported" if kind else "Unexpected empty type")
        if kind in seen:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Duplicate filter component entity type {kind}")
        seen.add(kind)
        if match_type == EXACT and match is None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Request specified MATCH_TYPE_EXACT, but set match to null.")
        if match_type in (DEFAULT, ANY) and match is not None:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "A match is given for a type of match that takes none.")
        if match_type not in (EXACT, DEFAULT, ANY):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unexpected match type {match_type}")
    if IP in seen and len(seen) > 1:
        text = "Invalid entity filter component combination, IP filter component should not be used with others."
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)


def matches(entity: Entity, components: Collection[Component], *, strict: bool) -> bool:
    """Whether a checked question is about this entity."""
    for kind, match_type, match in components:
        if kind not in entity:
            return False
        name = entity[kind]
        if (match_type == EXACT and name != match) or (match_type == DEFAULT and name is not None):
            return False
    return not strict or len(entity) == len(components)
