"""Producers that a partition remembers."""

from __future__ import annotations

from support.wire import batch, connected, run, serving
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    DescribeProducersRequest,
)


def test_describe_producers(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            await client.produce("t", batch(b"a", b"b", producer_id=9, producer_epoch=2, base_sequence=0))
            request = DescribeProducersRequest(
                topics=[DescribeProducersRequest.TopicRequest(name="t", partition_indexes=[0, 5])]
            )
            known, unknown = (await client.ask(ApiKey.DESCRIBE_PRODUCERS, 0, request)).topics[0].partitions
            (state,) = known.active_producers
            assert (state.producer_id, state.producer_epoch, state.last_sequence) == (9, 2, 1)
            assert state.current_txn_start_offset == -1
            assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    run(main())
