"""Features: versions of what all brokers must agree on, as `metadata.version` or `transaction.version` (KIP-584).

Each broker supports a range of each feature; the cluster has finalized one level of it, which everybody then uses. A
level is raised when all brokers are upgraded, and can be lowered where the feature allows that.

    metadata.version       what the controllers write to their log; follows Kafka's releases
    transaction.version    2: a producer's epoch rises with each transaction (KIP-890)
    group.version          1: consumer groups of KIP-848
    share.version          1: share groups (KIP-932)
    streams.version        1: streams groups (KIP-1071)
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.hints import check, outcome
from tidelog.client.admin.outcomes import Outcomes
from tidelog.client.admin.routes import ANYBODY, BROKER, CONTROLLER, At, Route
from tidelog.client.admin.shapes import or_none
from tidelog.common.errors import KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.net.node_client import SOFTWARE_NAME, SOFTWARE_VERSION
from tidelog.protocol import messages


class Levels(NamedTuple):
    """The lowest and the highest level of a feature."""

    low: int
    high: int


class Features(NamedTuple):
    """What the cluster uses, and what the broker that was asked could use. `epoch` rises with every change."""

    finalized: Mapping[str, Levels]
    supported: Mapping[str, Levels]
    epoch: int | None


class UpgradeType(IntEnum):
    """Which way a level may go. An unsafe downgrade may lose what the old level cannot express."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """The level that a feature is to have; 0 does without it."""

    level: int
    type: UpgradeType = UpgradeType.UPGRADE


class FeatureAdmin(AdminBase):
    """The part of the Admin that is about features."""

    async def describe_features(self, *, broker: int | None = None, timeout: float | None = None) -> Features:
        """The features, as a certain broker has them or whoever is connected."""
        request = messages.ApiVersionsRequest(
            client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION
        )

        def read(response: Any) -> Features:
            check(response.error_code, about="describing features")
            finalized = response.finalized_features
            return Features(
                {each.name: Levels(each.min_version_level, each.max_version_level) for each in finalized},
                {each.name: Levels(each.min_version, each.max_version) for each in response.supported_features},
                or_none(response.finalized_features_epoch, -1),
            )

        route: Route[None] = ANYBODY if broker is None else At(BROKER, broker)
        return await self._call(timeout).one(route, request, read)

    async def update_features(
        self,
        updates: Mapping[str, FeatureUpdate | int],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Outcomes[str, None]:
        """Change levels: feature → new level. Newer controllers change all or none, and have one error for all, which
        is raised.

        A cluster that was raised cannot go back to a release that does not know the level: try `validate_only` first.
        """
        call = self._call(timeout)
        wanted = {name: FeatureUpdate(new) if isinstance(new, int) else new for name, new in updates.items()}
        request = messages.UpdateFeaturesRequest(
            timeout_ms=call.timeout_ms,
            feature_updates=[
                messages.UpdateFeaturesRequest.FeatureUpdateKey(
                    feature=name, max_version_level=new.level, upgrade_type=int(new.type)
                )
                for name, new in wanted.items()
            ],
            validate_only=validate_only,
        )

        def read(response: Any) -> Outcomes[str, None]:
            check(response.error_code, response.error_message, "updating features")
            found: dict[str, KafkaError | None] = dict.fromkeys(wanted)
            for each in response.results:
                found[each.feature] = outcome(None, each.error_code, each.error_message, f"feature {each.feature}")
            return Outcomes(found)

        return await call.one(CONTROLLER, request, read)
