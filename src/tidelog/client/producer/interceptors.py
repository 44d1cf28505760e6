"""Producer interceptors: code of the user's that sees every record on its way out, and its outcome.

    class Audit(ProducerInterceptor):
        def on_send(self, record):
            return record._replace(headers=[*(record.headers or ()), ("source", b"billing")])

    Producer(bootstrap_servers=..., interceptor_classes=[Audit])

The chain: `on_send` of each in the order of `interceptor.classes`, before the serializers and the partitioner, each
with what the one before has returned; `on_acknowledgement` of each in the same order when the outcome is known, also
when the record failed, even if it never left. One that raises is logged and skipped: neither the record nor the others
suffer.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.client.producer.record import ProducerRecord, RecordMetadata
from tidelog.common.errors import UsageError

logger = logging.getLogger("tidelog.client.producer")


class ProducerInterceptor:
    """Inherit, and override what is needed."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Gets all of the producer's settings, those that the producer does not know included."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        """Sees a record in the thread that sends it, and returns it, or another in its place."""
        return record

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        """Hears of the outcome, on the producer's loop: be quick. `error` is None for a record that was written;
        `metadata` is None for one that had no partition yet.
        """

    def close(self) -> None:
        """The producer is closed."""


class InterceptorChain:
    """The interceptors of one producer, in their order."""

    def __init__(self, wanted: Sequence[object], configs: Mapping[str, Any]) -> None:
        self._chain: list[Any] = [_made(one) for one in wanted]
        for interceptor in self._chain:
            interceptor.configure(configs)

    def __bool__(self) -> bool:
        return bool(self._chain)

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        for interceptor in self._chain:
            try:
                record = interceptor.on_send(record)
            except Exception:
                logger.exception("%s.on_send failed, and is skipped", type(interceptor).__name__)
        return record

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        for interceptor in self._chain:
            try:
                interceptor.on_acknowledgement(metadata, error)
            except Exception:
                logger.exception("%s.on_acknowledgement failed", type(interceptor).__name__)

    def close(self) -> None:
        for interceptor in self._chain:
            try:
                interceptor.close()
            except Exception:
                logger.exception("%s.close failed", type(interceptor).__name__)


def _made(wanted: Any) -> Any:
    """An instance of what a setting names: a class, an instance, `module:Class` or `module.Class`."""
    if isinstance(wanted, str):
        wanted = imported(wanted, "interceptor")
    return wanted() if isinstance(wanted, type) else wanted


def imported(path: str, what: str) -> Any:
    """What an import path names."""
    from importlib import import_module

    module, _, attribute = path.replace(":", ".").rpartition(".")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"the {what} {path} cannot be imported: {error}") from error
