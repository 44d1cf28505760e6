"""ListOffsets over a connection, of a topic with three records."""

from __future__ import annotations

from support.wire import NOW, batch
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import ListOffsetsRequest


def list_request(version, timestamp, *, topic="t", partition=0, isolation=0, epoch=-1, twice=False):
    asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    if version >= 4:
        asked.current_leader_epoch = epoch
    if version == 0:
        asked.max_num_offsets = 10
    request = ListOffsetsRequest(
        replica_id=-1,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[asked, asked] if twice else [asked])],
    )
    if version >= 2:
        request.isolation_level = isolation
    return request


async def ask_offset(client, version, timestamp, **fields):
    response = await client.ask(ApiKey.LIST_OFFSETS, version, list_request(version, timestamp, **fields))
    return response.topics[0].partitions[0]


async def with_three_records(broker, client, epoch=3):
    broker.create_topic("t", leader_epoch=epoch)
    for number, data in enumerate([b"a", b"b", b"c"]):
        await client.produce("t", batch(data, timestamp=NOW - 3000 + number * 1000))
