"""A broker as it is started by default takes no batch whose checksum is right but whose records are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.blocking_wire import BlockingWire
from support.malformed import RECORDS, malformed, sound
from support.tidelog import TidelogServer
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import ListOffsetsRequest, ProduceRequest
from tidelog.records.format.attributes import Codec

LATEST = -1


def produce(wire: BlockingWire, batch: bytes, version: int) -> tuple[int, int]:
    """(error code, base offset)."""
    data = ProduceRequest.PartitionProduceData(index=0, records=batch)
    topic = ProduceRequest.TopicProduceData(name="t", partition_data=[data])
    request = ProduceRequest(acks=1, timeout_ms=10_000, topic_data=[topic])
    response: Any = wire.ask(ApiKey.PRODUCE, version, request)
    answer = response.responses[0].partition_responses[0]
    return answer.error_code, answer.base_offset


def end_offset(wire: BlockingWire) -> int:
    partition = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=LATEST)
    topic = ListOffsetsRequest.ListOffsetsTopic(name="t", partitions=[partition])
    response: Any = wire.ask(ApiKey.LIST_OFFSETS, 4, ListOffsetsRequest(topics=[topic]))
    return int(response.topics[0].partitions[0].offset)


@pytest.mark.parametrize("version", [7, 9])
def test_malformed_batches_are_refused_and_leave_nothing(tmp_path: Path, version: int) -> None:
    with TidelogServer(tmp_path) as server, BlockingWire(server.address) as wire:
        wire.create_topic("t")
        stored = [what for what, batch in malformed() if produce(wire, batch, version)[0] == 0]
        assert not stored, "\n".join(stored)
        assert end_offset(wire) == 0
        for number, codec in enumerate(Codec):
            assert produce(wire, sound(codec), version) == (0, number * RECORDS)
