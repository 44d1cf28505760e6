"""The quotas that there are, and the values that they may have.

Rates are per second; `request_percentage` is of one thread's time, and may be above 100. All are stored as text, in the
node of their entity; a user's node may hold SCRAM credentials as well, which are none of these.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping

from tidelog.broker.quotas.entities import IP, Entity
from tidelog.broker.security.scram import CREDENTIAL_KEYS
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import MAX_INT64

logger = logging.getLogger(__name__)

CLIENT_KEYS = frozenset(("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate"))
IP_KEYS = frozenset(("connection_creation_rate",))
#: Quotas that count things: no fractions.
WHOLE = frozenset(("producer_byte_rate", "consumer_byte_rate", "connection_creation_rate"))

Changes = Mapping[str, float | None]
"""Key → new value; None takes it away, so that the next more general quota holds."""


def check_changes(entity: Entity, changes: Changes) -> None:
    """Every key must be one for this kind of entity; every value above zero, and whole where it counts things."""
    allowed = IP_KEYS if IP in entity else CLIENT_KEYS
    for key, value in changes.items():
        if key not in allowed:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Invalid configuration key {key}")
        if value is not None:
            _check_value(key, value)


def _check_value(key: str, value: float) -> None:
    if not math.isfinite(value) or value <= 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Quota {key} must be greater than 0")
    if key in WHOLE and (value != int(value) or value > MAX_INT64):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key} must be a whole number that fits 64 bits")


def plan_quotas(stored: Mapping[str, str], changes: Changes) -> dict[str, str]:
    """What an entity's node shall hold: whatever is not named stays."""
    kept = {key: value for key, value in stored.items() if key not in changes}
    return kept | {key: str(value) for key, value in changes.items() if value is not None}


def numbers(path: str, values: Mapping[str, str]) -> dict[str, float]:
    """The quotas of a node. One that is no number is named in a warning and holds for nobody."""
    found = {}
    for key, value in values.items():
        if key not in CREDENTIAL_KEYS:
            try:
                found[key] = float(value)
            except ValueError:
                logger.warning("A stored quota at %s is ignored: %s=%s", path, key, value)
    return found
