"""Kafka's own generated message classes, 3.9 and 4.x, against ours: every message, every version, byte for byte.

Ours → Kafka: Kafka decodes our bytes, encodes them again to the same bytes, and its JSON says what we said.
Kafka → ours: Kafka encodes the JSON form of a random message; the bytes are ours, and we decode them to that message.
Between versions: what was read in one version and written in another is the same bytes, or refused by both.
"""

from __future__ import annotations

import base64
import json
import random
import re
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.kafka import KAFKA_3, KAFKA_4, kafka_jars
from support.messages import MESSAGE_FILES, Randomizer, message_class, versions_of
from tidelog.broker.handlers import HANDLERS, Handler
from tidelog.broker.handlers.failure import failed
from tidelog.broker.handlers.records._fetch import FetchAsk
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.protocol.api import ApiKey, request_class, request_header_version, response_class, response_header_version
from tidelog.protocol.headers import decode_request_header, encode_request, encode_response
from tidelog.protocol.message import Message, Structure
from tidelog.protocol.schema import Field

pytestmark = [pytest.mark.java, pytest.mark.timeout(1200)]

ORACLE = Path(__file__).parent / "java" / "MessageOracle.java"
RANDOM_MESSAGES = 12
MUTANTS = 10
TAG_REFUSAL = re.compile(r"Invalid raw tag field list|Tag \d+ is not valid for version")
# The one message that 4.x renamed, and the ones that neither version has as a generated class.
OLD_NAMES = {
    "ListConfigResourcesRequest": "ListClientMetricsResourcesRequest",
    "ListConfigResourcesResponse": "ListClientMetricsResourcesResponse",
}
# 3.9 had an early access form of this one, which 4.0 changed without a new version.
CHANGED_IN_4 = {"ReadShareGroupStateSummaryResponse"}
# 4.x added tagged fields to versions that 3.9 has: unknown tags to it, which it must keep.
TAGS_ADDED_IN_4 = {
    "OffsetCommitValue",
    "ConsumerGroupMetadataValue",
    "ConsumerGroupTargetAssignmentMetadataValue",
    "ConsumerGroupCurrentMemberAssignmentValue",
    "TransactionLogValue",
}
HAND_WRITTEN_IN_KAFKA = {("AbortedTxn", 0)}
covered: set[tuple[str, int]] = set()


class Refused(Exception):
    """Kafka threw an exception."""


class Oracle:
    def __init__(self, version: str) -> None:
        self.version = version
        libs = kafka_jars.broker_libs(version)
        command = ["java", "-Xmx256M", "-XX:TieredStopAtLevel=1", "-cp", f"{libs}/*", str(ORACLE)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, op: bytes, name: str, version: int = 0, payload: bytes = b"") -> bytes:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if self.version == KAFKA_3:
            name = OLD_NAMES.get(name, name)
        head = op + struct.pack(">h", len(name)) + name.encode() + struct.pack(">hi", version, len(payload))
        self.process.stdin.write(head + payload)
        self.process.stdin.flush()
        status, size = struct.unpack(">bi", self.process.stdout.read(5))
        answer = self.process.stdout.read(size)
        if status:
            raise Refused(f"Kafka {self.version}, {name} v{version}: {answer.decode()}")
        return answer

    def versions(self, name: str, *, same_tags: bool = False) -> list[int]:
        """Those of our versions that this Kafka has too; `same_tags`: and in which it knows the same tags."""
        if self.version == KAFKA_3 and name in (CHANGED_IN_4 | TAGS_ADDED_IN_4 if same_tags else CHANGED_IN_4):
            return []
        answer = self.ask(b"V", name)
        if not answer:
            return []
        low, high = struct.unpack(">hh", answer)
        return [version for version in versions_of(name) if low <= version <= high]

    def encode(self, name: str, version: int, form: dict[str, Any]) -> bytes:
        return self.ask(b"J", name, version, json.dumps(form).encode())

    def decode(self, name: str, version: int, data: bytes) -> tuple[bytes, dict[str, Any]]:
        answer = self.ask(b"B", name, version, data)
        (size,) = struct.unpack_from(">i", answer)
        return answer[4 : 4 + size], json.loads(answer[4 + size :])

    def close(self) -> None:
        self.process.communicate(timeout=30)


@pytest.fixture(scope="module", params=[KAFKA_3, KAFKA_4])
def oracle(request: pytest.FixtureRequest) -> Iterator[Oracle]:
    started = Oracle(request.param)
    yield started
    started.close()


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def json_form(structure: Structure, version: int) -> dict[str, Any]:
    """A message as Kafka's JSON converters read it."""
    fields = [field for field in structure._schema_.fields if version in field.versions]
    return {camel(field.name): json_value(field, getattr(structure, field.name), version) for field in fields}


def json_value(field: Field, value: Any, version: int) -> Any:
    if isinstance(value, list):
        return [json_value(field, item, version) for item in value]
    if isinstance(value, Structure):
        return json_form(value, version)
    if field.type == "uuid" and value is not None:
        return base64.urlsafe_b64encode(value).decode().rstrip("=")
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def assert_agrees(theirs: Any, structure: Structure, version: int) -> None:
    """What Kafka read is what we meant; it leaves out tagged fields at their default, and the contents of records."""
    default = type(structure)()
    for field in structure._schema_.fields:
        name, value = camel(field.name), getattr(structure, field.name)
        if version not in field.versions or field.type == "records":
            continue
        if name not in theirs:
            assert field.tag is not None, name
            assert value == getattr(default, field.name), name
        elif field.struct and isinstance(value, list):
            assert len(theirs[name]) == len(value)
            for their_item, item in zip(theirs[name], value, strict=True):
                assert_agrees(their_item, item, version)
        elif isinstance(value, Structure):
            assert_agrees(theirs[name], value, version)
        else:
            assert theirs[name] == json_value(field, value, version), name


def check(oracle: Oracle, name: str, version: int, message: Message) -> None:
    data = message.encode(version)
    assert message_class(name).decode(data, version) == message
    again, form = oracle.decode(name, version, data)
    assert again == data
    if oracle.version == KAFKA_4 or name not in OLD_NAMES.keys() | TAGS_ADDED_IN_4:
        assert_agrees(form, message, version)
        assert oracle.encode(name, version, json_form(message, version)) == data


@pytest.mark.parametrize("name", MESSAGE_FILES)
def test_message(oracle: Oracle, name: str) -> None:
    for version in oracle.versions(name):
        covered.add((name, version))
        for number in range(RANDOM_MESSAGES):
            message = Randomizer((name, version, number)).message(name, version)
            check(oracle, name, version, message)
            tagged = Randomizer((name, version, number), tags=True).message(name, version)
            data = tagged.encode(version)
            assert oracle.decode(name, version, data)[0] == data


@pytest.mark.parametrize("name", MESSAGE_FILES)
def test_rewriting_in_another_version(oracle: Oracle, name: str) -> None:
    versions = oracle.versions(name, same_tags=True)
    for source in versions:
        for target in versions:
            data = Randomizer((name, source, target)).message(name, source).encode(source)
            try:
                ours: bytes | None = message_class(name).decode(data, source).encode(target)
            except (ProtocolError, KafkaError):
                ours = None
            try:
                theirs: bytes | None = oracle.ask(b"T", name, target, struct.pack(">h", source) + data)
            except Refused:
                theirs = None
            assert ours == theirs, (source, target)


@pytest.mark.parametrize("name", MESSAGE_FILES)
def test_what_kafka_accepts_we_accept(oracle: Oracle, name: str) -> None:
    """Broken bytes: both refuse them, or both read the same; tags excepted, where neither is the stricter one.

    We refuse known tags of a wrong size; Kafka refuses tags of a later version, and to write what was out of order.
    """
    source = random.Random(name)
    for version in oracle.versions(name, same_tags=True):
        for number in range(MUTANTS):
            data = bytearray(
                Randomizer((name, version, number), tags=number % 2 == 0).message(name, version).encode(version)
            )
            for _ in range(source.randint(1, 2) if data else 0):
                data[source.randrange(len(data))] = source.choice((0, 1, 2, 0x7F, 0x80, 0xFF, source.randrange(256)))
            try:
                theirs: bytes | str = oracle.decode(name, version, bytes(data))[0]
            except Refused as refusal:
                theirs = str(refusal)
            try:
                message, end = message_class(name).decode_from(bytes(data), version)
                ours = message.encode(version) if end == len(data) else None
            except ProtocolError as error:
                ours = None
                theirs = str(error) if " tag " in str(error) else theirs
            expected = theirs if isinstance(theirs, bytes) else ours if TAG_REFUSAL.search(theirs) else None
            assert ours == expected, (version, bytes(data), theirs)


@pytest.mark.parametrize(("key", "version"), [(7, 0), (0, 3), (0, 9), (18, 4), (17, 1)])
@pytest.mark.parametrize("client_id", [None, "", "rdkafka", "ж" * 99], ids=["null", "empty", "ascii", "long"])
def test_headers(oracle: Oracle, key: int, version: int, client_id: str | None) -> None:
    form = request_header_version(key, version)
    frame = encode_request(key, version, 77, client_id, request_class(key)())
    header, body = decode_request_header(frame, 4)
    assert header == (key, version, 77, client_id if form else None)
    if form == 0 and oracle.version == KAFKA_4:
        return  # 4.x has neither ControlledShutdown nor its header without a client id
    data = frame[4:body]
    again, said = oracle.decode("RequestHeader", form, data)
    assert again == data
    assert said["correlationId"] == 77
    answer = encode_response(key, version, 78, response_class(key)())
    form = response_header_version(key, version)
    assert oracle.decode("ResponseHeader", form, answer[4 : 8 + form])[1] == {"correlationId": 78}


def said(tree: Any) -> Any:
    """What an answer says: in any order, once, without the wording of errors or topics without partitions."""
    if isinstance(tree, dict):
        left_out = ("error_message", "throttle_time_ms", "records")
        return {name: said(value) for name, value in tree.items() if name not in left_out}
    if not isinstance(tree, list):
        return tree
    full = [item for item in tree if not isinstance(item, dict) or [] not in (item.get(name) for name in PARTITIONS)]
    return sorted({repr(said(item)) for item in full})


def failure(tree: dict[str, Any]) -> Any:
    """What an answer says of a failure: where it has a code at the top, lists of what failed add nothing to it."""
    if "error_code" not in tree or not tree["error_code"]:
        return said(tree)
    return {name: value for name, value in said(tree).items() if tree[name] is not None and not isinstance(value, list)}


PARTITIONS = ("partitions", "partition_responses")
#: A response that also says who asked: not so in ours, which serves no tokens and says that.
NAMES_THE_CALLER = ApiKey.CREATE_DELEGATION_TOKEN


@pytest.mark.parametrize(
    "row", [row for row in HANDLERS if row.key is not NAMES_THE_CALLER], ids=lambda row: row.key.name
)
def test_the_answer_to_a_request_that_failed(oracle: Oracle, row: Handler) -> None:
    """A handler that fails in a way that nobody foresaw is answered as Kafka answers then."""
    name = request_class(row.key).__name__
    for version in oracle.versions(name):
        for number in range(RANDOM_MESSAGES if row.min_version <= version <= row.max_version else 0):
            request: Any = Randomizer((name, version, number)).message(name, version)
            if row.key is ApiKey.WRITE_TXN_MARKERS:
                for index, marker in enumerate(request.markers):  # Kafka merges those of one producer or topic
                    marker.producer_id = index
                    for number_of_topic, topic in enumerate(marker.topics):
                        topic.name = str(number_of_topic)
            data = request.encode(version)
            try:
                theirs = oracle.ask(b"E", name, version, data)
            except Refused:
                continue  # the request makes no sense to Kafka, or the answer none
            decode = FetchAsk.decode if row.key is ApiKey.FETCH else request_class(row.key).decode
            ours = b"".join(
                failed(row.key, version, decode(data, version), ErrorCode.UNKNOWN_SERVER_ERROR).encode_parts(version)
            )
            both = [failure(response_class(row.key).decode(answer, version).to_dict()) for answer in (ours, theirs)]
            assert both[0] == both[1], (version, number)


def test_every_version_was_compared() -> None:
    everything = {(name, version) for name in MESSAGE_FILES for version in versions_of(name)}
    assert everything - covered == HAND_WRITTEN_IN_KAFKA
