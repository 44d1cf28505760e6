"""From an error code to an exception that says what to do next.

The broker knows what is wrong; it does not know which call of ours mends it. Where that can be said, one sentence is
added to the broker's own. The table is for people: programs look at `code`.

Both parts are kept apart in the exception (`reason`, `next_step`): the command line, whose users type options and not
methods, has hints of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from tidelog.common.errors import ErrorCode, KafkaError

V = TypeVar("V")

_E = ErrorCode
_PERMISSION = "ask an administrator for an ACL (create_acls), or connect as somebody else"
#: What may be done about it, as the end of a sentence.
_NEXT: Mapping[ErrorCode, str] = MappingProxyType(
    {
        _E.TOPIC_ALREADY_EXISTS: "describe_topic shows it; create_topic(..., exists_ok=True) takes it as it is",
        _E.UNKNOWN_TOPIC_OR_PARTITION: "topics() lists what there is",
        _E.UNKNOWN_TOPIC_ID: "list_topics() tells the ids",
        _E.INVALID_REPLICATION_FACTOR: "describe_cluster() tells how many brokers there are",
        _E.INVALID_PARTITIONS: "a topic has one at least; they can be added, never taken away",
        _E.INVALID_CONFIG: "describe_configs lists the keys and their types",
        _E.TOPIC_DELETION_DISABLED: "set delete.topic.enable=true on the brokers",
        _E.POLICY_VIOLATION: "the cluster's own rules (create.topic.policy.class.name, alter.config.…) forbid it",
        _E.GROUP_ID_NOT_FOUND: "list_groups() lists what there is",
        _E.NON_EMPTY_GROUP: "stop its members first, or remove_members_from_consumer_group",
        _E.GROUP_SUBSCRIBED_TO_TOPIC: "stop the members that read it first",
        _E.UNKNOWN_MEMBER_ID: "members are at work: stop them, their own commits would win",
        _E.REBALANCE_IN_PROGRESS: "the group is being shared out anew: try again in a moment",
        _E.TRANSACTIONAL_ID_NOT_FOUND: "list_transactions() lists what the coordinators remember",
        _E.REASSIGNMENT_IN_PROGRESS: "list_partition_reassignments() shows it; None in its place cancels it",
        _E.NO_REASSIGNMENT_IN_PROGRESS: "there is nothing to cancel",
        _E.ELECTION_NOT_NEEDED: "the leader is the wanted one already",
        _E.PREFERRED_LEADER_NOT_AVAILABLE: "the first replica is down or not in sync: describe_topic shows which it is",
        _E.LOG_DIR_NOT_FOUND: "describe_log_dirs lists the broker's directories",
        _E.SECURITY_DISABLED: "Tidelog's brokers have none yet; Apache Kafka's have one with authorizer.class.name",
        _E.DELEGATION_TOKEN_AUTH_DISABLED: "Tidelog's brokers have no tokens yet; Apache Kafka's have them with "
        "delegation.token.secret.key",
        _E.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "tokens are given over SASL or TLS with a client certificate, and not "
        "to whoever came with a token",
        _E.DELEGATION_TOKEN_NOT_FOUND: "describe_delegation_token lists what there is",
        _E.TOPIC_AUTHORIZATION_FAILED: _PERMISSION,
        _E.GROUP_AUTHORIZATION_FAILED: _PERMISSION,
        _E.CLUSTER_AUTHORIZATION_FAILED: _PERMISSION,
        _E.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: _PERMISSION,
        _E.DELEGATION_TOKEN_AUTHORIZATION_FAILED: _PERMISSION,
        _E.UNSUPPORTED_VERSION: "this cluster is too old for it, or does not offer it",
        _E.BROKER_NOT_AVAILABLE: "describe_cluster() lists the brokers",
        _E.UNACCEPTABLE_CREDENTIAL: "SCRAM wants 4096 to 16384 iterations and a password that is not empty",
        _E.RESOURCE_NOT_FOUND: "check its name",
    }
)


class AdminError(KafkaError):
    """What the broker says is wrong (`reason`), and what may be done about it (`next_step`, or None)."""

    def __init__(self, code: ErrorCode, reason: str, next_step: str | None) -> None:
        self.reason, self.next_step = reason, next_step
        end = "" if (next_step or "").endswith("?") else "."
        super().__init__(code, f"{reason}; {next_step}{end}" if next_step else f"{reason}.")


def failure(code: int, message: str | None = None, about: object = "") -> AdminError:
    """The error of that code about something, with a next step if there is one.

    Codes that are newer than our table are unknown errors, with their number in the text.
    """
    known = ErrorCode(code)
    text = (message or known.text).rstrip(". ")
    if known != code:
        text = f"{message or 'the broker refused it'} (error {code}, which this client does not know)"
    subject = f"{about}: " if about and not _is_named(str(about), text) else ""
    return AdminError(known, f"{subject}{text}", _NEXT.get(known))


def with_next_step(error: KafkaError) -> KafkaError:
    """An error that came from elsewhere, with a next step. Those with more to tell than a code are left as they are."""
    return failure(error.code, error.message) if type(error) is KafkaError and error.code in _NEXT else error


def _is_named(about: str, text: str) -> bool:
    """Whether the broker's own text says what it is about."""
    return re.search(rf"(?<![\w.-]){re.escape(about.split()[-1])}(?![\w-])", text) is not None


def check(code: int, message: str | None = None, about: object = "") -> None:
    """Raise what the code says, unless it says nothing."""
    if code:
        raise failure(code, message, about)


def outcome(value: V, code: int, message: str | None = None, about: object = "") -> V | KafkaError:
    """The value, or what the code says instead."""
    return failure(code, message, about) if code else value
