"""The API table, headers and whole frames; and that what is rendered from the schemas is fresh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.protocol.api import (
    API,
    ApiKey,
    api_spec,
    request_class,
    request_header_version,
    response_class,
    response_header_version,
    spec_of,
)
from tidelog.protocol.headers import (
    RequestHeader,
    decode_correlation_id,
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
    encode_response_parts,
)
from tidelog.protocol.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    MetadataRequest,
)

ROOT = Path(__file__).resolve().parents[3]


def test_rendered_files_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/render_messages.py"), "--check"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, f"run tools/render_messages.py:\n{done.stdout}{done.stderr}"


def test_every_key_of_the_enum_has_a_row_and_the_names_agree() -> None:
    assert set(API) == set(ApiKey)
    for key, spec in API.items():
        assert spec.name.lower() == key.name.replace("_", "").lower()
        assert spec.min_version == 0
        for message in (request_class(key), response_class(key)):
            versions, flexible = message.schema.versions, message.schema.flexible
            assert (versions.first, versions.last) == (spec.min_version, spec.max_version)
            assert (flexible.first if flexible else -1) == spec.flexible_from


@pytest.mark.parametrize(
    ("key", "last", "flexible"),
    [(0, 13, 9), (1, 18, 12), (2, 11, 6), (3, 13, 9), (7, 3, 3), (17, 1, -1), (18, 4, 3), (47, 0, -1), (56, 3, 0)],
)
def test_some_rows(key: int, last: int, flexible: int) -> None:
    spec = api_spec(key)
    assert (spec.max_version, spec.flexible_from) == (last, flexible)


def test_unstable_versions_are_marked() -> None:
    unstable = {spec.name for spec in API.values() if spec.latest_stable < spec.max_version}
    assert unstable == {"InitProducerId"}


def test_header_forms() -> None:
    assert request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 0) == 0
    assert request_header_version(ApiKey.CONTROLLED_SHUTDOWN, 1) == 1
    assert request_header_version(ApiKey.PRODUCE, 8) == 1
    assert request_header_version(ApiKey.PRODUCE, 9) == 2
    assert request_header_version(ApiKey.API_VERSIONS, 99) == 2
    assert response_header_version(ApiKey.PRODUCE, 8) == 0
    assert response_header_version(ApiKey.PRODUCE, 9) == 1
    assert response_header_version(ApiKey.API_VERSIONS, 4) == 0
    assert response_header_version(ApiKey.SASL_HANDSHAKE, 1) == 0


def test_unknown_keys() -> None:
    for key in (-1, 52, 1000):
        with pytest.raises(KafkaError) as caught:
            api_spec(key)
        assert caught.value.code == ErrorCode.UNSUPPORTED_VERSION
    with pytest.raises(KafkaError):
        decode_request_header(b"\x03\xe8\x00\x00\x00\x00\x00\x01\xff\xff")


def test_spec_of() -> None:
    assert spec_of(MetadataRequest()).key == ApiKey.METADATA
    assert spec_of(MetadataRequest).key == ApiKey.METADATA
    with pytest.raises(TypeError):
        spec_of(FetchResponse())


@pytest.mark.parametrize("version", [0, 8, 9, 13])
def test_request_frames(version: int) -> None:
    request = MetadataRequest()
    frame = encode_request(ApiKey.METADATA, version, 5, "client", request)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header, body = decode_request_header(frame, 4)
    assert header == RequestHeader(3, version, 5, "client")
    assert MetadataRequest.decode(frame, version, body) == MetadataRequest.decode(request.encode(version), version)


@pytest.mark.parametrize("version", [3, 4])
def test_the_example_of_the_format_page(version: int) -> None:
    """docs/formats/wire.md works these out by hand."""
    request = HeartbeatRequest(group_id="g1", generation_id=7, member_id="m-1")
    expected = {
        3: "0000001c 000c0003 00000005 0003636c69 00026731 00000007 00036d2d31 ffff",
        4: "0000001b 000c0004 00000005 0003636c69 00 036731 00000007 046d2d31 00 00",
    }
    assert encode_request(ApiKey.HEARTBEAT, version, 5, "cli", request) == bytes.fromhex(expected[version])
    answer = HeartbeatResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    assert encode_response(ApiKey.HEARTBEAT, 4, 5, answer) == bytes.fromhex("0000000c 00000005 00 00000000 001b 00")


def test_a_latin_1_client_id_is_no_reason_to_hang_up() -> None:
    header, _ = decode_request_header(b"\x00\x03\x00\x01\x00\x00\x00\x05\x00\x03m\xfcx")
    assert header.client_id == "m\ufffdx"


def test_header_tags_are_skipped() -> None:
    frame = b"\x00\x03\x00\x09\x00\x00\x00\x05\x00\x01c\x02\x05\x01a\x06\x00body"
    header, body = decode_request_header(frame)
    assert (header.client_id, frame[body:]) == ("c", b"body")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\x03\x00\x09\x00\x00\x00",
        b"\x00\x03\x00\x01\x00\x00\x00\x05\x00\x09c",
        b"\x00\x03\x00\x09\x00\x00\x00\x05\xff\xff",
        b"\x00\x03\x00\x09\x00\x00\x00\x05\xff\xff\x7f",
        b"\x00\x03\x00\x09\x00\x00\x00\x05\xff\xff\x01\x01\x09",
    ],
)
def test_broken_headers(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_request_header(data)


@pytest.mark.parametrize("version", range(5))
def test_response_frames(version: int) -> None:
    key = ApiVersionsResponse.ApiVersion(api_key=0, max_version=13)
    response = ApiVersionsResponse(api_keys=[key])
    frame = encode_response(ApiKey.API_VERSIONS, version, 9, response)
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    assert decode_correlation_id(frame, 4) == 9
    assert decode_response(ApiKey.API_VERSIONS, version, frame, 4) == (9, response)


def test_an_api_versions_refusal_is_read_as_version_0() -> None:
    refusal = encode_response(ApiKey.API_VERSIONS, 0, 9, ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
    correlation_id, response = decode_response(ApiKey.API_VERSIONS, 4, refusal, 4)
    assert correlation_id == 9
    assert isinstance(response, ApiVersionsResponse)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_api_versions_request_of_the_future_still_has_a_readable_header() -> None:
    frame = encode_request(ApiKey.API_VERSIONS, 4, 1, None, ApiVersionsRequest())
    future = frame[4:6] + b"\x00\x63" + frame[8:]
    assert decode_request_header(future)[0] == RequestHeader(18, 99, 1, None)


@pytest.mark.parametrize("version", [4, 12])
def test_response_parts(version: int) -> None:
    def response(records: object) -> FetchResponse:
        partition = FetchResponse.PartitionData(partition_index=1, records=records)
        topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition])
        return FetchResponse(responses=[topic])

    class Piece:
        def __len__(self) -> int:
            return 3

    parts = encode_response_parts(ApiKey.FETCH, version, 7, response(Piece()))
    joined = b"".join(b"abc" if isinstance(part, Piece) else part for part in parts)
    assert joined == encode_response(ApiKey.FETCH, version, 7, response(b"abc"))


@pytest.mark.parametrize("data", [b"", b"\x00\x00", b"\x00\x00\x00\x01"])
def test_broken_responses(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_response(ApiKey.METADATA, 12, data)
