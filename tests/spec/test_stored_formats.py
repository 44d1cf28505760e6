"""Logs of the older message formats: 000 文件格式演变 (v0 版本, v1 版本), 001 二. 压缩消息, 002."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from support.blocking_wire import BlockingWire
from support.logs import batch
from support.wire import NOW, connected, fetch_request, produce_request, run, serving
from tidelog.protocol.api import ApiKey
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import RecordBatch, iter_batches
from tidelog.records.format.legacy import encode_message
from tidelog.testing import Broker

LOG_OVERHEAD = 12
#: The broker of that time; a topic's records are kept in the format of its `message.format.version`.
THEN = {"inter.broker.protocol.version": "2.8"}


def produce(wire: BlockingWire, data: bytes) -> int:
    """The first offset that the records got."""
    answer = wire.ask(ApiKey.PRODUCE, 2, produce_request({"t": {0: data}}))
    partition = answer.responses[0].partition_responses[0]
    assert partition.error_code == 0, partition
    offset: int = partition.base_offset
    return offset


def stored(broker: Broker, tmp_path: Path) -> list[RecordBatch]:
    """What lies in the log file of the topic's only partition."""
    log = next(iter(broker.server.log_manager.logs.values()))
    return list(iter_batches((tmp_path / "t-0" / "00000000000000000000.log").read_bytes()[: log.size]))


@pytest.mark.parametrize(("version", "magic", "smallest"), [("0.9.0", 0, 14), ("0.10.2", 1, 22)])
@pytest.mark.parametrize("sent", [0, 1])
def test_a_broker_keeps_its_log_in_the_format_of_its_time(
    tmp_path: Path, version: str, magic: int, smallest: int, sent: int
) -> None:
    """000 v0 版本, v1 版本: v0 before 0.10.0, v1 before 0.11.0; offset and size lie before each message."""
    with Broker(tmp_path, config=THEN) as broker, BlockingWire(broker.address) as wire:
        broker.create_topic("t", config={"message.format.version": version})
        produce(wire, batch([None, None, None], keys=[None] * 3, magic=sent))
        found = stored(broker, tmp_path)
        assert [(one.magic, one.base_offset, one.size) for one in found] == [
            (magic, offset, 12 + smallest) for offset in range(3)
        ]


def test_the_broker_gives_a_wrapper_the_absolute_offset_1030(tmp_path: Path) -> None:
    """000 v1 版本, 001 二: a producer counts from 0; the server gives the outer message 1030, inside stay 0 to 5."""
    with Broker(tmp_path, config=THEN) as broker, BlockingWire(broker.address) as wire:
        broker.create_topic("t", config={"message.format.version": "0.10.2"})
        assert produce(wire, batch([b"x"] * 1025, magic=1)) == 0
        values = [b"value %d" % number for number in range(6)]
        assert produce(wire, batch(values, magic=1, codec=Codec.GZIP)) == 1025
        wrapper = stored(broker, tmp_path)[-1]
        assert (wrapper.magic, wrapper.codec, wrapper.last_offset) == (1, Codec.GZIP, 1030)
        assert [record.offset for record in wrapper.records()] == list(range(1025, 1031))
        # An old consumer gets these bytes, unpacks them, and computes the same.
        answer = wire.ask(ApiKey.FETCH, 2, fetch_request({"t": {0: 1027}}))
        (got,) = iter_batches(answer.responses[0].partitions[0].records)
        assert (got.magic, [record.value for record in got.records()]) == (1, values)


def segment_of(tmp_path: Path, version: str, *requests: bytes, **configs: str) -> bytes:
    """The segment of a topic with this `message.format.version`, after produce requests."""

    async def go() -> bytes:
        async with serving(tmp_path, THEN) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"message.format.version": version, **configs})
            for records in requests:
                answer = await client.produce("t", records, version=2)
                assert answer.error_code == 0
            return (tmp_path / "t-0" / "00000000000000000000.log").read_bytes()

    return bytes(run(go()))


def numbered(magic: int, count: int, attributes: int = 0) -> bytes:
    """A producer's message set: offsets from 0 on."""
    return b"".join(encode_message(magic, index, attributes, NOW, b"k", b"%d" % index) for index in range(count))


def test_a_stored_v0_message_is_overhead_and_record(tmp_path: Path) -> None:
    """000 v0 版本: in the log, 12 B of offset and size, then the record: crc, magic 0, attributes, key, value."""
    data = segment_of(tmp_path, "0.9.0", numbered(0, 2), numbered(0, 1))
    position = 0
    for offset, value in ((0, b"0"), (1, b"1"), (2, b"0")):
        found, size, crc, magic, attributes, key_length = struct.unpack_from(">qiIbbi", data, position)
        assert (found, size, magic, attributes, key_length) == (offset, 14 + 2, 0, 0, 1)
        end = position + LOG_OVERHEAD + size
        assert crc == zlib.crc32(data[position + 16 : end])
        assert data[position + 22 : end] == b"k" + struct.pack(">i", 1) + value
        position = end
    assert position == len(data)


def test_a_stored_v1_message_has_a_timestamp_of_producer_or_broker(tmp_path: Path) -> None:
    """000 v1 版本: 8 B of timestamp; the fourth bit says whether it is CreateTime or LogAppendTime."""
    mine = segment_of(tmp_path / "create", "0.10.2", encode_message(1, 0, 0, NOW - 7, b"k", b"v"))
    assert struct.unpack_from(">bbq", mine, 16) == (1, 0, NOW - 7)
    theirs = segment_of(
        tmp_path / "append",
        "0.10.2",
        encode_message(1, 0, 0, NOW - 7, b"k", b"v"),
        **{"message.timestamp.type": "LogAppendTime"},
    )
    assert struct.unpack_from(">bbq", theirs, 16) == (1, 8, NOW)
    assert struct.unpack_from(">I", theirs, 12) == (zlib.crc32(theirs[16:]),)
    assert len(mine) == len(theirs) == LOG_OVERHEAD + 22 + 2


def test_in_v0_the_broker_writes_absolute_offsets_inside_the_wrapper(tmp_path: Path) -> None:
    """000 v0 and v1: before v1, offsets were converted in the server for the inner messages as well."""
    packed = zlib.compressobj(6, zlib.DEFLATED, 31)
    inner = packed.compress(numbered(0, 6)) + packed.flush()
    data = segment_of(tmp_path, "0.9.0", numbered(0, 1025), encode_message(0, 5, Codec.GZIP, -1, None, inner))
    *_, last = iter_batches(data, check_crc=True)
    assert last.last_offset == 1030
    plain = zlib.decompress(bytes(last.raw)[LOG_OVERHEAD + 14 :], 31)
    assert struct.unpack_from(">q", plain) == (1025,)
    assert [record.offset for record in last] == [1025, 1026, 1027, 1028, 1029, 1030]


def test_the_newest_format_is_stored_unless_the_protocol_is_old(tmp_path: Path) -> None:
    """000 v2 版本: from 0.11.0 on; a topic's wish for an older one needs brokers that speak of that time."""

    async def go() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"message.format.version": "0.9.0"})
            assert (await client.produce("t", numbered(0, 3), version=2)).error_code == 0

    run(go())
    (entry,) = iter_batches((tmp_path / "t-0" / "00000000000000000000.log").read_bytes())
    assert (entry.magic, entry.record_count) == (2, 3)
