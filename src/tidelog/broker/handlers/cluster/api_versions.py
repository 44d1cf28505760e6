"""ApiVersions, versions 0 to 4: what this broker serves. The first request of nearly every connection.

It must be answerable to any client: a version that is not known is answered in version 0, with UNSUPPORTED_VERSION and
the versions of ApiVersions itself, from which the client picks one (KIP-511). For the same reason its answer has the
old header in every version, without tags: the client cannot know yet what we speak. The table advertises Produce from
version 0 on, which librdkafka insists on before it compresses (KAFKA-18659).

Since version 3 the client says its name and version, which the session keeps, and is told of features (KIP-584): what
the whole cluster does, beyond what each broker could.
"""

from __future__ import annotations

import re
from functools import cache

from tidelog.broker.handlers import HANDLERS
from tidelog.broker.handlers.cluster.services import ClusterServices
from tidelog.broker.handlers.context import RequestContext
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import ApiVersionsRequest, ApiVersionsResponse

#: Feature levels are fixed by the software: KIP-848 groups and both transaction protocols are always served.
FEATURES = {"group.version": 1, "transaction.version": 2}
SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(services: ClusterServices, ctx: RequestContext, request: ApiVersionsRequest | None) -> ApiVersionsResponse:
    """The table, with features from version 3 on. A name that is not made of letters, digits, dots and dashes is
    INVALID_REQUEST: it would end up in the names of metrics.
    """
    if request is None:
        known = [row for row in _served() if row.api_key == ApiKey.API_VERSIONS]
        return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=known)
    if ctx.header.api_version >= 3:
        name, version = request.client_software_name, request.client_software_version
        if not (SOFTWARE_NAME.fullmatch(name) and SOFTWARE_NAME.fullmatch(version)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=[])
        ctx.session.client_software_name, ctx.session.client_software_version = name, version
    response = ApiVersionsResponse(api_keys=list(_served()))
    if ctx.header.api_version >= 3:
        _add_features(response, ctx.header.api_version)
    return response


def _add_features(response: ApiVersionsResponse, version: int) -> None:
    """What clients look at: with transaction.version 2 Java producers use KIP-890's protocol.

    Before version 4 a supported feature must not begin at 0: clients refused such an answer (KAFKA-17011).
    """
    response.finalized_features_epoch = 0
    for name, level in FEATURES.items():
        response.finalized_features.append(
            ApiVersionsResponse.FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        )
        if version >= 4:
            response.supported_features.append(
                ApiVersionsResponse.SupportedFeatureKey(name=name, min_version=0, max_version=level)
            )


@cache
def _served() -> tuple[ApiVersionsResponse.ApiVersion, ...]:
    """The rows of the table that are advertised, in key order: made once, as every connection asks."""
    rows = sorted(HANDLERS, key=lambda row: row.key)
    return tuple(
        ApiVersionsResponse.ApiVersion(api_key=row.key, min_version=row.min_version, max_version=row.max_version)
        for row in rows
        if row.advertised
    )
