"""Where Tidelog answers otherwise than Apache Kafka on purpose, each with its reason.

A row names requests (API and version), cases (their label) and fields (path in the answer) by patterns. The first row
that matches a difference excuses it. A row that excuses nothing any more makes the test fail.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from interop.differential.session import Entry, api_name

#: APIs that Kafka serves and Tidelog does not, or not in all of Kafka's versions.
NOT_SERVED: dict[str, str] = dict.fromkeys(
    (
        "ShareGroupHeartbeat",
        "ShareGroupDescribe",
        "ShareFetch",
        "ShareAcknowledge",
        "InitializeShareGroupState",
        "ReadShareGroupState",
        "WriteShareGroupState",
        "DeleteShareGroupState",
        "ReadShareGroupStateSummary",
        "DescribeShareGroupOffsets",
        "AlterShareGroupOffsets",
        "DeleteShareGroupOffsets",
    ),
    "share groups (KIP-932) are not served",
) | {
    "AddRaftVoter": "Tidelog has no KRaft quorum whose voters could change",
    "RemoveRaftVoter": "Tidelog has no KRaft quorum whose voters could change",
    "StreamsGroupHeartbeat": "streams groups (KIP-1071) are not served: Kafka Streams uses the classic protocol",
    "StreamsGroupDescribe": "streams groups (KIP-1071) are not served: Kafka Streams uses the classic protocol",
}


class Excuse(NamedTuple):
    api: str
    label: str
    path: str
    reason: str
    oracle: str = ""
    """Only against this version of Apache Kafka."""
    certain: bool = True
    """Whether every run meets it: not so where random messages do."""


CRASH = (
    "Apache Kafka fails with an exception of its own and answers UNKNOWN_SERVER_ERROR; Tidelog answers what the "
    "request means or says what is wrong with it"
)
TIMED_OUT = (
    "Tidelog has made or deleted the topic by the time it answers, so that there is nothing to time out; Apache "
    "Kafka's brokers ask a controller and give up at once when the time-out is not positive"
)
AUTO_CREATED = (
    "Tidelog's Metadata creates a topic before it answers; Apache Kafka answers an error and the client asks again"
)
ELR = (
    "Apache Kafka 4.x keeps min.insync.replicas as a cluster-wide dynamic config for the sake of eligible leader "
    "replicas (KIP-966), which live in KRaft's metadata; Tidelog has the same value from the defaults"
)
FORMAT = "Tidelog serves clients of all eras and knows message.format.version, which Kafka 4 forgot"
TRIMMED = "Tidelog keeps config values without the blanks around them"
TWICE = (
    "a partition that is named twice in a Produce request: Apache Kafka drops all but the last without a word; Tidelog "
    "appends and answers each"
)
STRICT = (
    "Apache Kafka stores an uncompressed batch whose records have wrong offset deltas, and readers then see wrong "
    "offsets; Tidelog refuses it, as Kafka does when it is compressed"
)
DOCS = "the documentation of a config key is each project's own"
GROUP_KEYS = (
    "Tidelog lists the group configs that have an effect in it; those of streams groups, and whether assignments are "
    "computed in the background, have none"
)
FEATURES = (
    "ApiVersions: Tidelog also serves what Kafka 4 dropped, does not serve share and streams groups, and has no "
    "metadata.version, kraft.version or ELR feature, as it keeps its metadata in ZooKeeper's tree"
)
NAN = "Apache Kafka accepts a quota that is not a number; Tidelog refuses it"
DEFAULTS_OF_4 = (
    "Tidelog has the defaults of Kafka 4: message.timestamp.after.max.ms is an hour, not unlimited as in 3.9"
)
OLD_ZSTD = "a batch of format 2 in a Produce request that knows only message sets: Tidelog refuses zstd there"
IN_ZOOKEEPER = (
    "offsets of version 0 live in ZooKeeper's tree, which Kafka has only in ZooKeeper mode and Tidelog always "
    "(compared with Kafka 3.9 in that mode under --soak)"
)
COMMIT_1 = "a partition that is named twice in OffsetCommit: Tidelog answers as Kafka 4 does, twice; Kafka 3.9 once"
IS_DEFAULT = "DescribeConfigs 0: Apache Kafka no longer fills in whether a value is the default; Tidelog does"
GROUP_CONFIGS = (
    "Kafka 3.9 has no configs of groups yet; Tidelog has those of Kafka 4, and lists those of client metrics"
)
TOO_MANY = "Kafka 4 refuses a request for more than 10,000 partitions before it looks at anything else; so does Tidelog"
LISTED = "Tidelog lists the topic configs that Kafka 4 lists; Kafka 3.9 still lists those of message formats"
AT_ONCE = (
    "Kafka 4 resolves the regular expressions of consumer groups in the background, so that a member hears of its new "
    "epoch one heartbeat later than from Tidelog"
)
MARKERS = "WriteTxnMarkers: Tidelog answers marker by marker as asked; Apache Kafka merges those of the same producer"

EXCUSES: tuple[Excuse, ...] = (
    Excuse("(CreateTopics|DeleteTopics|CreatePartitions) v.*", r"timeout_ms=(-\d+|0|1)", ".*", TIMED_OUT),
    Excuse("Metadata v.*", "auto-created", ".*", AUTO_CREATED),
    Excuse(".*", ".*", r".*configs\[min.insync.replicas\]\.(config_source|synonyms)", ELR, "4."),
    Excuse("AlterConfigs v.*", "broker '': .*", ".*", ELR, "4."),
    Excuse(".*", "(config )?message.format.version=2.8", ".*", FORMAT, "4."),
    Excuse("CreateTopics v.*", "config min.cleanable.dirty.ratio= 0.5 ", ".*value", TRIMMED),
    Excuse("Produce v.*", "topic_data.*=twice", ".*", TWICE),
    Excuse("Produce v.*", "acks 1", ".*base_offset", TWICE),
    Excuse("Fetch v12", "what is there then", r".*(high_watermark|last_stable_offset|records)", TWICE),
    Excuse("Produce v.*", "records: (codec [57]|gzip that is none|zstd that is none)", ".*", CRASH),
    Excuse("Produce v.*", "records: record offset delta", ".*", STRICT),
    Excuse("Fetch v12", "records that are there after .*", ".*", STRICT),
    Excuse("Fetch v.*", ".*max_bytes=-1", ".*", CRASH),
    Excuse(
        "DescribeTopicPartitions v0", "topics.0.name=''|random .*", ".*(name|_id|_code|_operations|partitions)", CRASH
    ),
    Excuse("IncrementalAlterConfigs v.*", r".*config_operation=(-1|4)|random .*", "responses.*", CRASH),
    Excuse("OffsetFetch v.*", r"consumer: groups.0.member_id=(null|None)", ".*", CRASH),
    Excuse("DescribeConfigs v.*", "include_documentation=True", ".*documentation", DOCS),
    Excuse("DescribeConfigs v.*", "32 'g' .*", ".*configs.*", GROUP_KEYS),
    Excuse("ApiVersions v.*", ".*", "(api_keys|supported_features|finalized_features.*)", FEATURES),
    Excuse("AlterClientQuotas v.*", ".*value=nan", ".*", NAN),
    Excuse("Produce v[012]", "records: from the far future", ".*", DEFAULTS_OF_4, "3."),
    Excuse("Produce v[012]", "records: zstd", ".*", OLD_ZSTD, "3."),
    Excuse("Produce v[012]", "records: length too short", ".*", CRASH, "3."),
    Excuse("ListOffsets v0", ".*max_num_offsets=-1", ".*", CRASH, "3."),
    Excuse("(OffsetCommit|OffsetFetch) v0", ".*", ".*", IN_ZOOKEEPER, "3.9.2"),
    Excuse("DescribeConfigs v0", ".*", r".*is_default", IS_DEFAULT, "3."),
    Excuse("DescribeConfigs v0", r".*configuration_keys=(null|\[\])|2 'topic' None .*", r".*\.configs", LISTED, "3."),
    Excuse("DescribeConfigs v0", r".*resource_type=32|32 .*|16 .*", ".*", GROUP_CONFIGS, "3."),
    Excuse("CreateTopics v[01]", "random .*|a tail", ".*error_code", TOO_MANY, "3.", certain=False),
    Excuse("OffsetCommit v1", ".*=twice", ".*", COMMIT_1, certain=False),
    Excuse("ConsumerGroupHeartbeat v.*", "member: subscribed_topic_regex=.*", "member_epoch", AT_ONCE),
    Excuse("WriteTxnMarkers v.*", "markers=twice|random .*|a tail", "markers.*", MARKERS),
)


def reason_for(oracle: str, entry: Entry, path: str, theirs: Any, ours: Any) -> str | None:
    """Why this field may differ, or None."""
    api = f"{api_name(entry.key)} v{entry.version}"
    for row in EXCUSES:
        if (
            oracle.startswith(row.oracle)
            and re.fullmatch(row.api, api)
            and re.fullmatch(row.label, entry.label)
            and re.fullmatch(row.path, path)
        ):
            return row.reason
    return None


def unused(oracle: str, reasons: Iterable[str]) -> list[str]:
    """Reasons that excused nothing."""
    expected = {row.reason for row in EXCUSES if oracle.startswith(row.oracle or "4.") and row.certain}
    return sorted(expected - set(reasons))
