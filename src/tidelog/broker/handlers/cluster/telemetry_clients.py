"""Clients that asked for subscriptions or pushed metrics (KIP-714): who may do so again, and when.

Kafka lets a client ask and push once per interval, and answers THROTTLING_QUOTA_EXCEEDED before: the state behind
that is kept per client instance id. Ids are the clients' own choice: only the last `MOST_CLIENTS` are remembered.
"""

from __future__ import annotations

from collections import OrderedDict

from tidelog.common.errors import ErrorCode
from tidelog.records.kernel.crc32c import crc32c

PUSH_INTERVAL_MS = 300_000
#: The most clients that are remembered.
MOST_CLIENTS = 16_384
NEVER = -(1 << 62)


class TelemetryClient:
    """A client that asked or pushed: when it did so, and with what outcome.

    Time is that of the monotonic clock: a clock that is set back must not lock a client out.
    """

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


class TelemetryClients:
    """The clients that were heard of last."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, TelemetryClient] = OrderedDict()

    def of(self, client_id: bytes) -> TelemetryClient:
        found = self._known.get(client_id)
        if found is None:
            found = self._known[client_id] = TelemetryClient(client_id)
            if len(self._known) > MOST_CLIENTS:
                self._known.popitem(last=False)
        self._known.move_to_end(client_id)
        return found


def subscription_id(client_id: bytes) -> int:
    """What identifies the metrics that a client shall push (none), their interval, and the client."""
    high, low = int.from_bytes(client_id[:8], "big"), int.from_bytes(client_id[8:], "big")
    mixed = high ^ low
    number = crc32c(f"[]{PUSH_INTERVAL_MS}".encode()) ^ (mixed >> 32) ^ (mixed & 0xFFFFFFFF)
    return number - (1 << 32) if number >> 31 else number
