"""The consumer's keys, with today's defaults of Kafka, and what they decide together.

Which keys count depends on the protocol of the group: with `group.protocol=consumer` (KIP-848) the broker decides who
gets what and how often to report, so `session.timeout.ms`, `heartbeat.interval.ms` and `partition.assignment.strategy`
cannot be set; with `classic` the group's members do, and `group.remote.assignor` cannot.
"""

from __future__ import annotations

import re
from typing import Any

from tidelog.client.config import common, security
from tidelog.client.config.client_ids import ClientNames
from tidelog.client.config.parsing import ClientConfig, ClientKeys
from tidelog.common.config import ConfigError, Key, Validator, at_least, one_of
from tidelog.common.config import Type as T

KEYS = ClientKeys("Consumer", common.KEYS, security.KEYS)
_NAMES = ClientNames("consumer")

_RESET = re.compile(r"earliest|latest|none|by_duration:P(?=.)(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?")

KEY_DESERIALIZER: Key[Any] = KEYS.define(
    "key.deserializer", T.CLASS, "bytes", doc="What becomes of a record's key: a name, a class or an instance."
)
VALUE_DESERIALIZER: Key[Any] = KEYS.define("value.deserializer", T.CLASS, "bytes", doc="The same for its value.")
INTERCEPTOR_CLASSES: Key[list[Any]] = KEYS.define(
    "interceptor.classes",
    T.LIST,
    [],
    doc="Classes, instances or `module:Class` names that see records before `poll` returns them, and commits.",
)
GROUP_ID: Key[str | None] = KEYS.define(
    "group.id", T.STRING, None, doc="The group that we read with: its members share the partitions.", importance="high"
)
GROUP_INSTANCE_ID: Key[str | None] = KEYS.define(
    "group.instance.id",
    T.STRING,
    None,
    Validator(lambda text: bool(text.strip()), "Non-empty string"),
    doc="Makes us a static member: whoever comes back with it within session.timeout.ms keeps its partitions.",
)
GROUP_PROTOCOL = KEYS.define(
    "group.protocol",
    T.STRING,
    "classic",
    Validator(lambda text: text.lower() in ("classic", "consumer"), "String must be one of: classic, consumer"),
    doc="`classic`: members join and share out by themselves. `consumer`: the broker does (KIP-848).",
    importance="high",
)
GROUP_REMOTE_ASSIGNOR: Key[str | None] = KEYS.define(
    "group.remote.assignor",
    T.STRING,
    None,
    doc="With group.protocol=consumer: the broker's assignor, uniform or range; unset: its choice.",
)
PARTITION_ASSIGNMENT_STRATEGY: Key[list[Any]] = KEYS.define(
    "partition.assignment.strategy",
    T.LIST,
    ["range", "cooperative-sticky"],
    doc="Who shares out the partitions, in the order of preference: range, roundrobin, sticky, cooperative-sticky, "
    "classes or instances.",
)
SESSION_TIMEOUT_MS = KEYS.define(
    "session.timeout.ms", T.INT, 45_000, doc="A member that is not heard of for this long has left.", importance="high"
)
HEARTBEAT_INTERVAL_MS = KEYS.define(
    "heartbeat.interval.ms", T.INT, 3_000, doc="How often we are heard of.", importance="high"
)
MAX_POLL_INTERVAL_MS = KEYS.define(
    "max.poll.interval.ms",
    T.INT,
    300_000,
    at_least(1),
    doc="A consumer that does not poll for this long leaves its group: its handler hangs.",
)
MAX_POLL_RECORDS = KEYS.define(
    "max.poll.records", T.INT, 500, at_least(1), doc="A `poll` returns this many records at most."
)
ENABLE_AUTO_COMMIT = KEYS.define(
    "enable.auto.commit",
    T.BOOLEAN,
    True,
    doc="Commit what the last `poll` has returned, from time to time, before a rebalance and on close.",
)
AUTO_COMMIT_INTERVAL_MS = KEYS.define(
    "auto.commit.interval.ms", T.INT, 5_000, at_least(0), doc="How often that is done."
)
AUTO_OFFSET_RESET = KEYS.define(
    "auto.offset.reset",
    T.STRING,
    "latest",
    Validator(
        lambda text: bool(_RESET.fullmatch(text)), "must be earliest, latest, none or by_duration:<ISO 8601 duration>"
    ),
    doc="Where to begin without a committed offset, and when it is out of range: earliest, latest, none (raise), or "
    "by_duration:PT10M (so long ago).",
)
FETCH_MIN_BYTES = KEYS.define(
    "fetch.min.bytes", T.INT, 1, at_least(0), doc="A fetch waits for this much...", importance="high"
)
FETCH_MAX_WAIT_MS = KEYS.define("fetch.max.wait.ms", T.INT, 500, at_least(0), doc="... but not longer than this.")
FETCH_MAX_BYTES = KEYS.define(
    "fetch.max.bytes", T.INT, 52_428_800, at_least(0), doc="A fetch brings about this much at most."
)
MAX_PARTITION_FETCH_BYTES = KEYS.define(
    "max.partition.fetch.bytes",
    T.INT,
    1_048_576,
    at_least(0),
    doc="A fetch brings about this much of one partition at most.",
    importance="high",
)
CHECK_CRCS = KEYS.define("check.crcs", T.BOOLEAN, True, doc="Check the checksum of each record batch.")
ISOLATION_LEVEL = KEYS.define(
    "isolation.level",
    T.STRING,
    "read_uncommitted",
    one_of("read_uncommitted", "read_committed"),
    doc="read_committed: records of aborted transactions are left out, and nothing of an open one is seen.",
)
EXCLUDE_INTERNAL_TOPICS = KEYS.define(
    "exclude.internal.topics", T.BOOLEAN, True, doc="A pattern does not find the topics of groups and transactions."
)
ALLOW_AUTO_CREATE_TOPICS = KEYS.define(
    "allow.auto.create.topics",
    T.BOOLEAN,
    True,
    doc="A topic that we subscribe to by name may be made by the broker, if it does so (auto.create.topics.enable).",
)
CLIENT_RACK = KEYS.define(
    "client.rack", T.STRING, "", doc="Where we are: a replica in the same rack is read rather than the leader."
)


def settle_group(config: ClientConfig) -> dict[str, object]:
    """Without a group there is nothing to commit to; each protocol has keys that the other one knows nothing of."""
    protocol = config[GROUP_PROTOCOL].lower()
    values: dict[str, object] = {GROUP_PROTOCOL.name: protocol}
    if config[GROUP_ID] is None:
        if config.is_set(ENABLE_AUTO_COMMIT) and config[ENABLE_AUTO_COMMIT]:
            raise ConfigError(ENABLE_AUTO_COMMIT.name, True, "cannot be set to true without a group.id")
        values[ENABLE_AUTO_COMMIT.name] = False
    theirs: tuple[Key[Any], ...] = (GROUP_REMOTE_ASSIGNOR,)
    if protocol == "consumer":
        theirs = (PARTITION_ASSIGNMENT_STRATEGY, SESSION_TIMEOUT_MS, HEARTBEAT_INTERVAL_MS)
    for key in theirs:
        if config.is_set(key) and config[key] is not None:
            raise ConfigError(key.name, config[key], f"{key.name} cannot be set when group.protocol={protocol.upper()}")
    if protocol == "classic" and config[HEARTBEAT_INTERVAL_MS] >= config[SESSION_TIMEOUT_MS]:
        raise ConfigError(
            HEARTBEAT_INTERVAL_MS.name, config[HEARTBEAT_INTERVAL_MS], "must be lower than session.timeout.ms"
        )
    return values


def name_client(config: ClientConfig) -> dict[str, object]:
    """By group and number; a static member, of which there is one, by its instance id."""
    return _NAMES.settle(config, config[GROUP_ID], config[GROUP_INSTANCE_ID])


KEYS.rules += [common.require_bootstrap, common.constant_backoffs, settle_group, name_client]
