"""Message classes: construction, equality, encoding rules of versions, tags and nulls."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys

import pytest

from support.messages import Randomizer, all_messages, message_class
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.protocol import messages
from tidelog.protocol.messages import (
    ApiVersionsResponse,
    ConsumerGroupMemberMetadataValue,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    MetadataRequest,
    ProduceRequest,
    SaslAuthenticateRequest,
)


def produce(records: object = b"batch") -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=3, records=records)
    return ProduceRequest(
        acks=-1, timeout_ms=30000, topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[partition])]
    )


def test_bytes_of_a_plain_version() -> None:
    assert produce().encode(3) == (
        b"\xff\xff"  # no transactional id
        b"\xff\xff\x00\x00\x75\x30"  # acks, timeout
        b"\x00\x00\x00\x01\x00\x01t"  # one topic
        b"\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00\x05batch"  # one partition
    )


def test_bytes_of_a_flexible_version() -> None:
    assert produce().encode(9) == (
        b"\x00"  # no transactional id
        b"\xff\xff\x00\x00\x75\x30"
        b"\x02\x02t"
        b"\x02\x00\x00\x00\x03\x06batch"
        b"\x00\x00\x00"  # tags of partition, topic, request
    )


def test_defaults_are_the_schemas_and_never_shared() -> None:
    request = FetchRequest()
    assert (request.max_bytes, request.session_epoch, request.cluster_id) == (0x7FFFFFFF, -1, None)
    assert request.replica_state == FetchRequest.ReplicaState(replica_id=-1, replica_epoch=-1)
    request.topics.append(FetchRequest.FetchTopic(topic="t"))
    assert FetchRequest().topics == []
    assert FetchRequest().replica_state is not request.replica_state


def test_equality_repr_and_dict() -> None:
    left, right = produce(), produce()
    assert left == right
    right.topic_data[0].partition_data[0].index = 4
    assert left != right
    assert left != "something else"
    assert repr(FetchRequest.FetchTopic(topic="t")) == "FetchRequest.FetchTopic(topic='t')"
    assert left.to_dict()["topic_data"][0]["partition_data"] == [{"index": 3, "records": b"batch"}]
    with pytest.raises(TypeError):
        hash(left)


def test_pickle_and_copy() -> None:
    message = Randomizer(1, tags=True).message("MetadataResponse", 12)
    assert pickle.loads(pickle.dumps(message)) == message
    assert copy.deepcopy(message) == message


def test_only_keywords_and_known_names() -> None:
    with pytest.raises(TypeError):
        FetchRequest(1)  # type: ignore[misc]  # the point of the test
    with pytest.raises(TypeError):
        FetchRequest(unknown=1)  # type: ignore[call-arg]  # the point of the test
    with pytest.raises(AttributeError):
        FetchRequest().unknown = 1  # type: ignore[attr-defined]  # slots keep typing mistakes out


def test_a_version_without_room_refuses() -> None:
    request = produce()
    request.transactional_id = "tx"
    with pytest.raises(KafkaError, match="transactional_id='tx'") as caught:
        request.encode(2)
    assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION
    assert ProduceRequest.decode(request.encode(3), 3).transactional_id == "tx"


def test_ignorable_fields_are_dropped() -> None:
    request = FetchRequest(rack_id="r", session_id=5)
    assert FetchRequest.decode(request.encode(4), 4) == FetchRequest()
    assert FetchRequest.decode(request.encode(11), 11) == request


def test_versions_outside_the_schema() -> None:
    for version in (-1, 14, 99):
        with pytest.raises(KafkaError, match="has versions 0-13"):
            produce().encode(version)
        with pytest.raises(KafkaError, match="has versions 0-13"):
            ProduceRequest.decode(b"", version)


def test_null_only_where_nullable() -> None:
    assert MetadataRequest.decode(MetadataRequest(topics=None).encode(1), 1).topics is None
    with pytest.raises(ProtocolError):
        MetadataRequest(topics=None).encode(0)
    with pytest.raises(ProtocolError, match="null"):
        MetadataRequest.decode(b"\xff\xff\xff\xff", 0)
    with pytest.raises(ProtocolError, match="null"):
        ListOffsetsRequest.decode(b"\xff\xff\xff\xff\x00\x00", 6)
    assert MetadataRequest.decode(b"\xff\xff\xff\xfe", 1).topics is None


def test_nullable_structs_have_two_forms_of_null() -> None:
    """int8 -1 in the open, but an unsigned varint 0 within a tag; both as Kafka writes them."""
    request = DescribeTopicPartitionsRequest(cursor=None)
    assert request.encode(0)[-2:] == b"\xff\x00"
    assert DescribeTopicPartitionsRequest.decode(request.encode(0), 0) == request
    member = ConsumerGroupMemberMetadataValue(classic_member_metadata=None)
    assert member.encode(0)[-4:] == b"\x01\x00\x01\x00"
    assert ConsumerGroupMemberMetadataValue.decode(member.encode(0), 0) == member


@pytest.mark.parametrize(
    "message",
    [
        ProduceRequest(acks=40000),
        ProduceRequest(acks="1"),  # type: ignore[arg-type]  # the point of the test
        FetchRequest(max_wait_ms=2**31),
        FetchRequest(topics=[FetchRequest.FetchTopic(topic="x" * 40000)]),
        FetchRequest(topics=[FetchRequest.FetchTopic(topic="\ud800")]),
        FetchRequest(topics=[None]),  # type: ignore[list-item]  # the point of the test
    ],
)
@pytest.mark.parametrize("version", [4, 12])
def test_values_that_do_not_fit(message: ProduceRequest | FetchRequest, version: int) -> None:
    with pytest.raises(ProtocolError, match=r"cannot be encoded|too long"):
        message.encode(version)


def test_uuids_are_sixteen_bytes() -> None:
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(topic_id=b"short")])
    with pytest.raises(ProtocolError, match="16 bytes"):
        request.encode(12)


def test_unknown_tags_survive() -> None:
    request = SaslAuthenticateRequest(auth_bytes=b"x", unknown_tags={7: b"seven", 300: b""})
    data = request.encode(2)
    assert data == b"\x02x\x02\x07\x05seven\xac\x02\x00"
    assert SaslAuthenticateRequest.decode(data, 2) == request
    with pytest.raises(KafkaError, match="unknown_tags"):
        request.encode(1)


def test_tags_are_written_in_order_and_only_when_they_say_something() -> None:
    partition = FetchResponse.PartitionData(unknown_tags={9: b"9"})
    plain = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition])])
    partition.current_leader.leader_id = 1
    partition.diverging_epoch.epoch = 2
    decoded = FetchResponse.decode(plain.encode(12), 12)
    assert decoded == plain
    assert plain.encode(12).index(b"\x03\x00") < plain.encode(12).index(b"\x09\x019")
    partition.unknown_tags = {1: b"mine"}
    with pytest.raises(ProtocolError, match="tag 1 is known"):
        plain.encode(12)


@pytest.mark.parametrize(
    "tags",
    [
        b"\x02\x07\x01a\x07\x01b",  # twice the same
        b"\x01\x07\x09a",  # longer than the input
        b"\x7f\x00\x00",  # more than fit
        b"\xff\xff\xff\xff\xff\x01",  # no varint
    ],
)
def test_bad_tags(tags: bytes) -> None:
    with pytest.raises(ProtocolError):
        SaslAuthenticateRequest.decode(b"\x02x" + tags, 2)


def test_a_known_tag_must_be_as_long_as_it_says() -> None:
    data = FetchRequest(cluster_id="c").encode(12)
    assert data.endswith(b"\x01\x00\x02\x02c")
    with pytest.raises(ProtocolError, match="cluster_id"):
        FetchRequest.decode(data[:-3] + b"\x03\x02c\x00", 12)


def test_records_are_views_and_bytes_are_bytes() -> None:
    for buffer in (produce().encode(9), bytearray(produce().encode(9)), memoryview(produce().encode(9))):
        records = ProduceRequest.decode(buffer, 9).topic_data[0].partition_data[0].records
        assert isinstance(records, memoryview)
        assert records == b"batch"
    token = SaslAuthenticateRequest.decode(memoryview(b"\x00\x00\x00\x01x"), 0).auth_bytes
    assert type(token) is bytes


class Slice:
    """Stands for a slice of a file."""

    def __len__(self) -> int:
        return 5


@pytest.mark.parametrize("version", [3, 9])
def test_parts(version: int) -> None:
    slice_ = Slice()
    parts = produce(slice_).encode_parts(version, b"head")
    assert parts[1] is slice_
    assert b"".join(b"batch" if part is slice_ else part for part in parts) == b"head" + produce().encode(version)
    assert produce().encode_parts(version) == [produce().encode(version)]
    with pytest.raises(ProtocolError, match="encode_parts"):
        produce(slice_).encode(version)


def test_invalid_utf8_is_replaced_as_kafka_does() -> None:
    topics = MetadataRequest.decode(b"\x00\x00\x00\x01\x00\x02\xc3\x28", 0).topics
    assert topics is not None
    assert topics[0].name == "\ufffd("


def test_every_message_survives_in_every_version() -> None:
    for name, version in all_messages():
        message = Randomizer((name, version), tags=True).message(name, version)
        assert message_class(name).decode(message.encode(version), version) == message, (name, version)


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="NoSuchRequest"):
        _ = messages.NoSuchRequest  # type: ignore[attr-defined]  # the point of the test
    assert "ProduceRequest" in dir(messages)


def test_nothing_is_parsed_before_it_is_needed() -> None:
    code = (
        "import sys, tidelog.protocol.api, tidelog.protocol.headers, tidelog.protocol.messages as m\n"
        "from tidelog.protocol.message import Message\n"
        "assert not [c for c in Message.__subclasses__()]\n"
        "m.FetchRequest\n"
        "assert sorted(c.__name__ for c in Message.__subclasses__()) == ['FetchRequest', 'FetchResponse']\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_api_versions_response_v0() -> None:
    key = ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=4)
    assert ApiVersionsResponse(error_code=35, api_keys=[key]).encode(0) == bytes.fromhex("0023 00000001 0012 0000 0004")
