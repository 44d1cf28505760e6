"""Consumer interceptors: code that sees records before `poll` returns them, and offsets after they were committed.

`interceptor.classes` names classes, instances or `module:Class`; they run in that order, in the user's turn. One that
throws is logged and skipped: a fault in an observer must not stop what it observes. The next one then gets what the
one before it was given, as in Java.

`on_consume` runs for each poll, not for each record: an interceptor that only counts costs nothing per record, and one
that looks at values makes them decoded, which the user would have done anyway.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.client.consumer.records import ConsumerRecords
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition

logger = logging.getLogger("tidelog.client.consumer")


class ConsumerInterceptor:
    """To inherit from; every method may be left out."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Gets all of the consumer's settings, those that it does not know included."""

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        """Before `poll` returns: may return other records than it was given."""
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """After the broker has taken a commit."""

    def close(self) -> None:
        """The consumer is closed."""


class Interceptors:
    """The chain of one consumer."""

    def __init__(self, wanted: Iterable[Any], configs: Mapping[str, Any]) -> None:
        self._chain = [_made(entry) for entry in wanted]
        for interceptor in self._chain:
            if hasattr(interceptor, "configure"):
                interceptor.configure(configs)

    def __bool__(self) -> bool:
        return bool(self._chain)

    def on_consume(self, records: ConsumerRecords) -> ConsumerRecords:
        for interceptor in self._chain:
            if not hasattr(interceptor, "on_consume"):
                continue
            try:
                changed = interceptor.on_consume(records)
                if not isinstance(changed, ConsumerRecords):
                    changed = ConsumerRecords(list(changed), next_offsets=records.next_offsets)
                records = changed
            except Exception:
                logger.exception("the interceptor %r failed in on_consume and is skipped", interceptor)
        return records

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for interceptor in self._chain:
            if not hasattr(interceptor, "on_commit"):
                continue
            try:
                interceptor.on_commit(offsets)
            except Exception:
                logger.exception("the interceptor %r failed in on_commit and is skipped", interceptor)

    def close(self) -> None:
        for interceptor in self._chain:
            try:
                if hasattr(interceptor, "close"):
                    interceptor.close()
            except Exception:
                logger.exception("the interceptor %r failed in close", interceptor)


def _made(entry: Any) -> Any:
    """An instance of what was named: `module:Class` or `module.Class`, a class, or an instance already."""
    if isinstance(entry, str):
        from importlib import import_module

        module, _, name = entry.replace(":", ".").rpartition(".")
        try:
            entry = getattr(import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(f"interceptor.classes: {entry!r} cannot be imported: {error}") from error
    return entry() if isinstance(entry, type) else entry
