"""GetTelemetrySubscriptions, PushTelemetry (KIP-714): answered, not advertised.

A broker asks its clients for metrics only if somebody is there to take them: in Apache Kafka a plug-in that is a client
telemetry receiver. Without one it leaves both APIs out of ApiVersions, so that no client sends them; if one does, it is
told that nothing is wanted, and what it pushes is checked and dropped. That is what this broker does; subscriptions
(`client-metrics` configs) are stored and listed, and ask for nothing.
"""

from __future__ import annotations

from collections import OrderedDict

from tidelog.broker import config as keys
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
from tidelog.records.kernel.crc32c import crc32c

PUSH_INTERVAL_MS = 300_000
#: As in Kafka, the best first.
ACCEPTED = [Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY]
CODECS = frozenset(map(int, Codec))
#: Ids that name something else: none, and the metadata topic.
RESERVED = frozenset({ZERO_UUID, (1).to_bytes(16, "big")})
#: The most clients that are remembered.
MOST_INSTANCES = 16_384
NEVER = -(1 << 62)


class Instance:
    """A client that asked or pushed: when it did so, and with what outcome."""

    __slots__ = ("asked_ms", "error", "pushed_ms", "subscription_id", "terminating")

    def __init__(self, client_id: bytes) -> None:
        self.subscription_id = subscription_id(client_id)
        self.asked_ms = self.pushed_ms = NEVER
        self.error = ErrorCode.NONE
        self.terminating = False

    def may_ask(self, now_ms: int) -> bool:
        """Once per interval, unless the last push was refused for what only a new answer can mend."""
        if now_ms - max(self.asked_ms, self.pushed_ms) >= PUSH_INTERVAL_MS:
            self.asked_ms = now_ms
            return True
        return self.error in (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)

    def may_push(self, now_ms: int) -> bool:
        """Once after each question, or once per interval."""
        if self.asked_ms > self.pushed_ms or now_ms - self.pushed_ms >= PUSH_INTERVAL_MS:
            self.pushed_ms = now_ms
            return True
        return False


class Instances:
    """The clients that were heard of last."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Instance] = OrderedDict()

    def of(self, client_id: bytes) -> Instance:
        found = self._known.get(client_id)
        if found is None:
            found = self._known[client_id] = Instance(client_id)
            if len(self._known) > MOST_INSTANCES:
                self._known.popitem(last=False)
        self._known.move_to_end(client_id)
        return found


def subscription_id(client_id: bytes) -> int:
    """What identifies the metrics that a client shall push (none), their interval, and the client."""
    high, low = int.from_bytes(client_id[:8], "big"), int.from_bytes(client_id[8:], "big")
    mixed = high ^ low
    number = crc32c(f"[]{PUSH_INTERVAL_MS}".encode()) ^ (mixed >> 32) ^ (mixed & 0xFFFFFFFF)
    return number - (1 << 32) if number >> 31 else number


def subscriptions(ctx: RequestContext, request: GetTelemetrySubscriptionsRequest) -> GetTelemetrySubscriptionsResponse:
    client_id = request.client_instance_id
    if client_id == ZERO_UUID:
        client_id = random_uuid(ctx.broker.rng)
    instance = ctx.broker.handler_state(Instances).of(client_id)
    if not instance.may_ask(_now_ms(ctx.broker.clock)):
        return GetTelemetrySubscriptionsResponse(error_code=ErrorCode.THROTTLING_QUOTA_EXCEEDED)
    instance.error = ErrorCode.NONE
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=client_id,
        subscription_id=instance.subscription_id,
        accepted_compression_types=[int(codec) for codec in ACCEPTED],
        push_interval_ms=PUSH_INTERVAL_MS,
        telemetry_max_bytes=ctx.broker.config[keys.TELEMETRY_MAX_BYTES],
        delta_temporality=True,
        requested_metrics=[],
    )


async def push(ctx: RequestContext, request: PushTelemetryRequest) -> PushTelemetryResponse:
    if request.client_instance_id in RESERVED:
        return PushTelemetryResponse(error_code=ErrorCode.INVALID_REQUEST)
    instance = ctx.broker.handler_state(Instances).of(request.client_instance_id)
    max_bytes = ctx.broker.config[keys.TELEMETRY_MAX_BYTES]
    error = _check(instance, request, _now_ms(ctx.broker.clock), max_bytes)
    instance.terminating = request.terminating
    if not error:
        codec, metrics = Codec(request.compression_type), request.metrics
        error = await ctx.broker.network.workers.run(lambda: _unpack(codec, metrics, max_bytes))
    instance.error = error
    return PushTelemetryResponse(error_code=error)


def _check(instance: Instance, request: PushTelemetryRequest, now_ms: int, max_bytes: int) -> ErrorCode:
    """Everything but the metrics themselves."""
    if instance.terminating:
        return ErrorCode.INVALID_REQUEST
    if not instance.may_push(now_ms) and not request.terminating:
        return ErrorCode.THROTTLING_QUOTA_EXCEEDED
    if request.subscription_id != instance.subscription_id:
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
