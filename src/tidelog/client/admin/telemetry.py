"""What the Admin tells of itself: counts of what it did, and the id under which a cluster knows it (KIP-714).

Java's clients push their metrics to brokers that want them; ours are read from here. The id is given by the broker, so
that what it logs about a client can be found again.

Totals only ever rise: take the difference of two readings. A retry is one round in which something had to be asked
again, whatever the number of items; an error is an item that failed for good.
"""

from __future__ import annotations

from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.hints import check
from tidelog.client.admin.routes import ANYBODY
from tidelog.client.admin.shapes import id_text
from tidelog.common.uuids import ZERO_UUID
from tidelog.protocol import messages


class TelemetryAdmin(AdminBase):
    """The part of the Admin that is about the Admin itself."""

    _instance_id: str | None = None

    async def client_instance_id(self, *, timeout: float | None = None) -> str:
        """The id that the cluster has given us, the same for the life of this client. Brokers that collect no client
        metrics give none: UNSUPPORTED_VERSION.
        """
        if self._instance_id is None:

            def read(response: Any) -> str:
                check(response.error_code, about="asking for an instance id")
                return id_text(response.client_instance_id)

            request = messages.GetTelemetrySubscriptionsRequest(client_instance_id=ZERO_UUID)
            self._instance_id = await self._call(timeout).one(ANYBODY, request, read)
        return self._instance_id

    async def metrics(self) -> dict[str, float]:
        """What this client has done so far: calls, requests, retries, and items that failed."""
        counters = self._counters
        return {
            "call-total": counters.calls,
            "request-total": counters.requests,
            "retry-total": counters.retries,
            "error-total": counters.errors,
        }
