"""ApiVersions: every handler that is advertised, to any client."""

from __future__ import annotations

import pytest

from support.wire import connected, run, serving
from tidelog.broker.handlers import HANDLERS
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request
from tidelog.protocol.messages import (
    ApiVersionsRequest,
)

#: Answered, but not offered: nobody here takes the metrics.
TELEMETRY = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}


@pytest.mark.parametrize("version", range(5))
def test_api_versions_lists_every_advertised_handler(tmp_path, version):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            request = ApiVersionsRequest()
            if version >= 3:
                request = ApiVersionsRequest(client_software_name="test", client_software_version="1.0")
            response = await client.ask(ApiKey.API_VERSIONS, version, request)
            served = {one.api_key: (one.min_version, one.max_version) for one in response.api_keys}
            assert served == {row.key: (row.min_version, row.max_version) for row in HANDLERS if row.advertised}
            assert {row.key for row in HANDLERS if not row.advertised} == TELEMETRY
            assert served[ApiKey.PRODUCE][0] == 0

    run(main())


def test_api_versions_from_the_future_and_with_a_bad_name(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            frame = bytearray(encode_request(ApiKey.API_VERSIONS, 0, 5, "c", ApiVersionsRequest()))
            frame[6:8] = (99).to_bytes(2, "big")
            frame += b"\x00junk that only the future understands"
            frame[:4] = (len(frame) - 4).to_bytes(4, "big")
            client.writer.write(bytes(frame))
            response = decode_response(ApiKey.API_VERSIONS, 0, await client.receive_frame())[1]
            assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
            assert [one.api_key for one in response.api_keys] == [ApiKey.API_VERSIONS]
            bad = ApiVersionsRequest(client_software_name="no spaces allowed", client_software_version="1")
            assert (await client.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())).error_code == 0
            client.send(ApiKey.API_VERSIONS, 3, bad)
            again = decode_response(ApiKey.API_VERSIONS, 3, await client.receive_frame())[1]
            assert again.error_code == ErrorCode.INVALID_REQUEST

    run(main())
