"""What a coordinator loads: whole batches, up to the high watermark."""

from __future__ import annotations

from support.appending import append
from support.wire import batch, run, serving
from tidelog.common.types import TopicPartition

TP = TopicPartition("t", 0)


def test_coordinators_append_and_read_back(tmp_path):
    async def main():
        async with serving(tmp_path) as broker:
            broker.create_topic("t")
            for number in range(5):
                info = await append(broker.replicas, TP, batch(b"%d" % number, bytes(300_000)))
                assert info.first_offset == 2 * number
            chunks = list(broker.replicas.read_committed_batches(TP))
            assert sum(map(len, chunks)) == broker.log_manager.get(TP).size
            assert list(broker.replicas.read_committed_batches(TP, start=10)) == []

    run(main())
