"""GetTelemetrySubscriptions, PushTelemetry, version 0 (KIP-714): answered, not advertised.

A broker asks its clients for metrics only if somebody is there to take them: in Apache Kafka a plug-in that is a client
telemetry receiver. Without one it leaves both APIs out of ApiVersions, so that no client sends them; if one does, it is
told that nothing is wanted, and what it pushes is checked and dropped. That is what this broker does; subscriptions
(`client-metrics` configs) are stored and listed, and ask for nothing.

What is pushed is unpacked on a thread, with a limit: a few bytes may stand for very many, and anybody can send them.
"""

from __future__ import annotations

from tidelog.broker import config as keys
from tidelog.broker.handlers.cluster.services import ClusterServices
from tidelog.broker.handlers.cluster.telemetry_clients import PUSH_INTERVAL_MS, TelemetryClient
from tidelog.broker.handlers.context import RequestContext
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.uuids import ZERO_UUID, random_uuid
from tidelog.protocol.messages import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
    PushTelemetryResponse,
)
from tidelog.records.codec.compression import decompress
from tidelog.records.format.attributes import Codec

#: As in Kafka, the best first.
ACCEPTED = [Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY]
CODECS = frozenset(map(int, Codec))
#: Ids that name something else: none, and the metadata topic.
RESERVED = frozenset({ZERO_UUID, (1).to_bytes(16, "big")})


def subscriptions(
    services: ClusterServices, ctx: RequestContext, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    """GetTelemetrySubscriptions. A client without an id is given one, and keeps it for its life.

    The subscription id is a checksum of what is asked for: a client that pushes with an old one asks again.
    """
    client_id = request.client_instance_id
    if client_id == ZERO_UUID:
        client_id = random_uuid(services.rng)
    client = services.telemetry_clients.of(client_id)
    if not client.may_ask(_now_ms(services.clock)):
        return GetTelemetrySubscriptionsResponse(error_code=ErrorCode.THROTTLING_QUOTA_EXCEEDED)
    client.error = ErrorCode.NONE
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=client_id,
        subscription_id=client.subscription_id,
        accepted_compression_types=[int(codec) for codec in ACCEPTED],
        push_interval_ms=PUSH_INTERVAL_MS,
        telemetry_max_bytes=services.config[keys.TELEMETRY_MAX_BYTES],
        delta_temporality=True,
        requested_metrics=[],
    )


async def push(services: ClusterServices, ctx: RequestContext, request: PushTelemetryRequest) -> PushTelemetryResponse:
    """PushTelemetry: checked as if somebody wanted it, and dropped. The last push of a client that terminates may come
    early; after it the client is done, and whatever else it pushes is INVALID_REQUEST.
    """
    if request.client_instance_id in RESERVED:
        return PushTelemetryResponse(error_code=ErrorCode.INVALID_REQUEST)
    client = services.telemetry_clients.of(request.client_instance_id)
    max_bytes = services.config[keys.TELEMETRY_MAX_BYTES]
    error = _check(client, request, _now_ms(services.clock), max_bytes)
    client.terminating = request.terminating
    if not error:
        codec, metrics = Codec(request.compression_type), request.metrics
        error = await services.workers.run(lambda: _unpack(codec, metrics, max_bytes))
    client.error = error
    return PushTelemetryResponse(error_code=error)


def _check(client: TelemetryClient, request: PushTelemetryRequest, now_ms: int, max_bytes: int) -> ErrorCode:
    """Everything but the metrics themselves, in Kafka's order: a client that has ended, one that comes too soon, one
    with an old subscription, a codec that nobody knows, too many bytes.
    """
    if client.terminating:
        return ErrorCode.INVALID_REQUEST
    if not client.may_push(now_ms) and not request.terminating:
        return ErrorCode.THROTTLING_QUOTA_EXCEEDED
    if request.subscription_id != client.subscription_id:
        return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    if request.compression_type not in CODECS:
        return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    if len(request.metrics) > max_bytes:
        return ErrorCode.TELEMETRY_TOO_LARGE
    return ErrorCode.NONE


def _unpack(codec: Codec, metrics: bytes, max_bytes: int) -> ErrorCode:
    """Whether the metrics can be unpacked, to no more than may be pushed. On a thread."""
    try:
        decompress(codec, metrics, limit=max_bytes)
    except KafkaError:
        return ErrorCode.INVALID_RECORD
    return ErrorCode.NONE


def _now_ms(clock: Clock) -> int:
    return int(clock.monotonic() * 1000)
