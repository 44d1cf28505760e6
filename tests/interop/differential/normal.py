"""What must be equal in two answers, and what may not be.

Two brokers give the same answer when these agree after the names that each broker chooses for itself were replaced:
its address, its cluster id, its directories, the ids of topics, producers, members and fetch sessions, and the time of
day. The text of an error message is each broker's own (that there is one is not). A broker may list things in any
order.
"""

from __future__ import annotations

import re
import time
from typing import Any

from tidelog.records.format.batch import iter_batches

DAY_MS = 86_400_000
ZERO = bytes(16)
UUID_TEXT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
SHORT_UUID_TEXT = re.compile(r"[A-Za-z0-9_-]{22}")
DROPPED = frozenset({"throttle_time_ms"})
TEXTS = frozenset({"error_message", "batch_index_error_message"})
#: Field → family of names; what a broker shows first in its m-th answer as n-th new name becomes `family#m.n`.
FAMILIES = {"producer_id": "producer", "session_id": "session", "transactional_producer_id": "producer"}
MEMBERS = frozenset({"member_id", "leader"})


class Names:
    """The names that one broker chose, and what they are called in a transcript."""

    def __init__(self, host: str, port: int, own_ids: frozenset[bytes] = frozenset()) -> None:
        self.host, self.port = host, port
        self.cluster_id: str | None = None
        self.ids: dict[bytes, str] = {}
        self.sent_ids = set(own_ids)
        self._aliases: dict[tuple[str, object], str] = {}
        self._answers = 0
        self._new = 0

    def alias(self, family: str, value: object) -> str:
        key = (family, value)
        if key not in self._aliases:
            self._new += 1
            self._aliases[key] = f"{family}#{self._answers}.{self._new}"
        return self._aliases[key]

    def learn(self, tree: Any) -> None:
        """Take note of which topic has which id."""
        if isinstance(tree, list):
            for item in tree:
                self.learn(item)
        elif isinstance(tree, dict):
            name = tree.get("name") or tree.get("topic_name") or tree.get("topic")
            if isinstance(tree.get("topic_id"), bytes) and tree["topic_id"] != ZERO and isinstance(name, str):
                self.ids.setdefault(tree["topic_id"], name)
            for value in tree.values():
                self.learn(value)

    def sent(self, tree: Any) -> None:
        """Take note of the ids in a request: those that are no topic's are the script's own."""
        if isinstance(tree, list):
            for item in tree:
                self.sent(item)
        elif isinstance(tree, dict):
            for value in tree.values():
                self.sent(value)
        elif isinstance(tree, bytes) and len(tree) == 16:
            self.sent_ids.add(tree)

    def normal(self, tree: Any) -> Any:
        """The tree of an answer with this broker's own names replaced."""
        self._answers += 1
        self._new = 0
        self.learn(tree)
        return self._value("", tree)

    def _value(self, field: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._value(name, inner) for name, inner in value.items() if name not in DROPPED}
        if isinstance(value, list):
            return sorted((self._value(field, inner) for inner in value), key=repr)
        if isinstance(value, bool) or value is None:
            return value
        if isinstance(value, int):
            return self._number(field, value)
        if field == "records" and value is not None:
            return self._records(bytes(value))
        if isinstance(value, (bytes, memoryview)):
            return self._bytes(bytes(value))
        return self._text(field, value) if isinstance(value, str) else value

    def _number(self, field: str, value: int) -> object:
        if field in FAMILIES and value >= (field != "producer_id"):
            return self.alias(FAMILIES[field], value)
        if field == "port" and value == self.port:
            return "PORT"
        if field in ("total_bytes", "usable_bytes") and value > 0:
            return "BYTES"
        if abs(value - time.time() * 1000) < DAY_MS:
            return "NOW"
        return value

    def _bytes(self, value: bytes) -> object:
        if len(value) != 16 or value == ZERO:
            return value
        known = self.ids.get(value)
        return known or (value if value in self.sent_ids else self.alias("uuid", value))

    def _records(self, data: bytes) -> object:
        """Batches as they lie there; where a producer id is in them, with its alias and without the checksum."""
        out: list[object] = []
        for found in iter_batches(data):
            raw = bytes(found.raw)
            if found.producer_id >= 0:
                fields = (
                    found.magic,
                    found.base_offset,
                    found.last_offset,
                    found.leader_epoch,
                    found.header.attributes,
                )
                producer = (self.alias("producer", found.producer_id), found.producer_epoch, found.base_sequence)
                records = [(record.offset, record.key, record.value, record.headers) for record in found.records()]
                out.append(repr((*fields, *producer, records)))
            else:
                out.append(raw)
        return out

    def _text(self, field: str, value: str) -> object:
        if field in TEXTS:
            return "TEXT" if value else value
        if field == "host" and value == self.host:
            return "HOST"
        if field == "cluster_id" and value == self.cluster_id:
            return "CLUSTER"
        if field == "log_dir":
            return "DIR"
        if field in MEMBERS and SHORT_UUID_TEXT.fullmatch(value):
            return self.alias("member", value)
        return UUID_TEXT.sub(lambda match: self.alias("uuid-text", match[0]), value)
