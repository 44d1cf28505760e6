"""Logs of the older message formats: 000 文件格式演变 (v0 版本, v1 版本), 001 二. 压缩消息, 002."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.blocking_wire import BlockingWire
from support.logs import batch
from support.wire import fetch_request, produce_request
from tidelog.protocol.api import ApiKey
from tidelog.records.attributes import Codec
from tidelog.records.batch import RecordBatch, iter_batches
from tidelog.testing import Broker

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
