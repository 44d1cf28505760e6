"""The bytes that consumers exchange through a classic group: ConsumerProtocol subscriptions and assignments.

Every member of a classic group says in JoinGroup what it wants to read (a subscription per assignor that it supports),
one of them, the leader, decides for all, and each gets its part from SyncGroup (an assignment). So both ends are
clients, and the format is theirs.

A classic coordinator treats them as opaque, with two exceptions: it wants to know which topics a group uses
(offsets of those are not deleted), and a classic member inside a consumer group needs both directions.
A version newer than ours is read as the newest that we know: fields are only ever added.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from tidelog.common.errors import ProtocolError
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription

CONSUMER_PROTOCOL_TYPE = "consumer"
_INT16 = struct.Struct(">h")
_HIGHEST = 3


class Protocol(NamedTuple):
    """An assignor that a classic member supports, with its metadata for it (a subscription, for consumers)."""

    name: str
    metadata: bytes


def decode_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Raises ProtocolError when it is none."""
    version = _version(data)
    return ConsumerProtocolSubscription.decode(data, version, 2)


def encode_subscription(subscription: ConsumerProtocolSubscription, version: int = _HIGHEST) -> bytes:
    """In the newest version unless told: readers ignore what they do not know."""
    return _INT16.pack(version) + subscription.encode(version)


def decode_assignment(data: bytes) -> ConsumerProtocolAssignment:
    version = _version(data)
    return ConsumerProtocolAssignment.decode(data, version, 2)


def encode_assignment(assignment: ConsumerProtocolAssignment, version: int) -> bytes:
    """In the version of the member's own subscription: it cannot be expected to read a newer one."""
    return _INT16.pack(version) + assignment.encode(version)


def subscription_version(data: bytes) -> int:
    """The version that a member's bytes are written in, or the newest that we know."""
    return _version(data)


def _version(data: bytes) -> int:
    if len(data) < 2:
        raise ProtocolError("a consumer protocol message starts with its version")
    version: int = _INT16.unpack_from(data)[0]
    if version < 0:
        raise ProtocolError(f"consumer protocol version {version}")
    return min(version, _HIGHEST)


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all subscriptions, or None when one of them is no subscription."""
    topics: set[str] = set()
    for data in metadata:
        try:
            topics.update(decode_subscription(data).topics)
        except ProtocolError:
            return None
    return frozenset(topics)
