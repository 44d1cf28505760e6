"""The version in which a field came is written once per API, and it is the one in Kafka's schema."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidelog.broker import handlers
from tidelog.broker.handlers.groups import versions as groups
from tidelog.broker.handlers.records import versions as records
from tidelog.protocol import messages
from tidelog.protocol.message import Message
from tidelog.protocol.schema import Field, Struct
from tidelog.records.format import validate

SOURCE = Path(handlers.__file__).parent
APIS = (records.Produce, records.Fetch, groups.OffsetCommit, groups.OffsetFetch, groups.Heartbeat)

#: What each number is about: fields of the request (`>`) and of the answer (`<`) that came with this version, all of
#: them.
FIELDS = {
    "Produce.TRANSACTIONS": [">transactional_id"],
    "Produce.LOG_START_OFFSET": ["<responses.partition_responses.log_start_offset"],
    "Produce.RECORD_ERRORS": [
        "<responses.partition_responses.record_errors",
        "<responses.partition_responses.error_message",
    ],
    "Produce.LEADER_HINTS": ["<responses.partition_responses.current_leader", "<node_endpoints"],
    "Produce.TOPIC_IDS": [">topic_data.topic_id", "<responses.topic_id"],
    "Fetch.THROTTLE_TIME": ["<throttle_time_ms"],
    "Fetch.MAX_BYTES": [">max_bytes"],
    "Fetch.ISOLATION": [
        ">isolation_level",
        "<responses.partitions.last_stable_offset",
        "<responses.partitions.aborted_transactions",
    ],
    "Fetch.LOG_START_OFFSET": [">topics.partitions.log_start_offset", "<responses.partitions.log_start_offset"],
    "Fetch.SESSIONS": [">session_id", ">session_epoch", ">forgotten_topics_data", "<error_code", "<session_id"],
    "Fetch.LEADER_EPOCHS": [">topics.partitions.current_leader_epoch"],
    "Fetch.RACKS": [">rack_id", "<responses.partitions.preferred_read_replica"],
    "Fetch.LAST_FETCHED_EPOCHS": [">topics.partitions.last_fetched_epoch", "<responses.partitions.diverging_epoch"],
    "Fetch.TOPIC_IDS": [">topics.topic_id", ">forgotten_topics_data.topic_id", "<responses.topic_id"],
    "Fetch.REPLICA_STATE": [">replica_state"],
    "Fetch.NODE_ENDPOINTS": ["<node_endpoints"],
    "OffsetCommit.RETENTION_TIME": [">retention_time_ms"],
    "OffsetCommit.THROTTLE_TIME": ["<throttle_time_ms"],
    "OffsetCommit.LEADER_EPOCHS": [">topics.partitions.committed_leader_epoch"],
    "OffsetCommit.INSTANCE_IDS": [">group_instance_id"],
    "OffsetCommit.TOPIC_IDS": [">topics.topic_id", "<topics.topic_id"],
    "OffsetFetch.GROUP_ERROR": ["<error_code"],
    "OffsetFetch.THROTTLE_TIME": ["<throttle_time_ms"],
    "OffsetFetch.LEADER_EPOCHS": ["<topics.partitions.committed_leader_epoch"],
    "OffsetFetch.REQUIRE_STABLE": [">require_stable"],
    "OffsetFetch.GROUPS": [">groups", "<groups"],
    "OffsetFetch.MEMBERS": [">groups.member_id", ">groups.member_epoch"],
    "OffsetFetch.TOPIC_IDS": [">groups.topics.topic_id", "<groups.topics.topic_id"],
    "Heartbeat.THROTTLE_TIME": ["<throttle_time_ms"],
    "Heartbeat.INSTANCE_IDS": [">group_instance_id"],
}
#: Fields that ended: the last version that has them.
ENDED = {
    "OffsetCommit.LAST_WITH_RETENTION_TIME": [">retention_time_ms"],
}
#: Fields that the version before a number was the last to have: something took their place.
REPLACED = {
    "Produce.TOPIC_IDS": [">topic_data.name", "<responses.name"],
    "Fetch.TOPIC_IDS": [">topics.topic", ">forgotten_topics_data.topic", "<responses.topic"],
    "Fetch.REPLICA_STATE": [">replica_id"],
    "OffsetCommit.TOPIC_IDS": [">topics.name", "<topics.name"],
    "OffsetFetch.GROUPS": [">group_id", ">topics", "<topics", "<error_code"],
    "OffsetFetch.TOPIC_IDS": [">groups.topics.name", "<groups.topics.name"],
}


def numbers(api: type) -> dict[str, int]:
    return {f"{api.__name__}.{name}": value for name, value in vars(api).items() if name.isupper()}


NUMBERS = {name: value for api in APIS for name, value in numbers(api).items()}


def message(api: str, side: str) -> type[Message]:
    made: type[Message] = getattr(messages, api + {">": "Request", "<": "Response"}[side])
    return made


def field(name: str, path: str) -> Field:
    """The field at a path of the request or the answer of the API that a number's name begins with."""
    struct: Struct | None = message(name.partition(".")[0], path[0]).schema.root
    found: Field | None = None
    for part in path[1:].split("."):
        assert struct is not None
        found = next(one for one in struct.fields if one.name == part)
        struct = found.struct
    assert found is not None
    return found


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_fields_came_with_their_version(name: str) -> None:
    assert {field(name, path).versions.first for path in FIELDS[name]} == {NUMBERS[name]}


@pytest.mark.parametrize("name", sorted(ENDED))
def test_fields_ended_with_their_version(name: str) -> None:
    assert {field(name, path).versions.last for path in ENDED[name]} == {NUMBERS[name]}


@pytest.mark.parametrize("name", sorted(REPLACED))
def test_fields_gave_way_to_others(name: str) -> None:
    assert {field(name, path).versions.last for path in REPLACED[name]} == {NUMBERS[name] - 1}


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.__name__)
@pytest.mark.parametrize("side", [">", "<"])
def test_flexible_and_last_version(api: type, side: str) -> None:
    schema = message(api.__name__, side).schema
    assert NUMBERS[f"{api.__name__}.FLEXIBLE"] == schema.flexible.first
    assert NUMBERS[f"{api.__name__}.LAST"] == schema.versions.last


def test_compiled_forms_ask_for_versions_by_name() -> None:
    found = [
        f"{path.name}: {line.strip()}"
        for path in SOURCE.rglob("*.pyx")
        for line in path.read_text().splitlines()
        if re.search(r"version\s*(?:[<>]=?|[!=]=)\s*[1-9]", line)
    ]
    assert not found


def test_records_know_from_when_on_there_is_one_batch() -> None:
    assert validate.ONE_BATCH_SINCE == records.Produce.TRANSACTIONS


def test_no_number_goes_unchecked() -> None:
    checked = {*FIELDS, *ENDED} | {f"{api.__name__}.{name}" for api in APIS for name in ("FLEXIBLE", "LAST")}
    assert NUMBERS.keys() == checked
