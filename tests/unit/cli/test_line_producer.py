"""The producer behind `tidelog produce`: what it does when the cluster stumbles."""

from __future__ import annotations

from typing import Any

import pytest

from support.fake_broker import FakeBroker, HangUp
from support.fake_cluster import TOPIC, FakeCluster
from support.loop import async_test
from tidelog.cli.line_producer import LineProducer
from tidelog.cli.record_text import NewRecord
from tidelog.client.cluster.client import ClusterClient
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import MetadataResponse

QUICK = {"retry.backoff.ms": "1", "retry.backoff.max.ms": "5"}


async def produced(cluster: FakeCluster, lines: int = 3) -> LineProducer:
    async with cluster, ClusterClient({"bootstrap.servers": cluster.address, **QUICK}) as client:
        producer = LineProducer(client, TOPIC, compression="none", acks=-1)
        await producer.start()
        for number in range(lines):
            await producer.add(NewRecord(None, b"%d" % number))
        await producer.finish()
        return producer


@async_test
async def test_a_passing_error_does_not_turn_idempotence_off():
    cluster = FakeCluster()
    cluster.fail[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR]
    producer = await produced(cluster)
    assert (producer.idempotent, producer.written) == (True, 3)


@async_test
async def test_a_cluster_without_producer_ids_is_written_to_one_batch_at_a_time():
    cluster = FakeCluster()
    cluster.fail[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    producer = await produced(cluster)
    assert (producer.idempotent, producer.window, producer.written) == (False, 1, 3)


@async_test
async def test_an_error_that_does_not_pass_is_told():
    cluster = FakeCluster()
    cluster.fail[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    with pytest.raises(KafkaError) as caught:
        await produced(cluster)
    assert caught.value.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class Succession(FakeCluster):
    """Says at first that another broker leads, and from the second time on that it does itself."""

    def __init__(self, old_leader: FakeBroker) -> None:
        super().__init__()
        self._old_leader = old_leader

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        response = super()._handle(header, request)
        if header.api_key == ApiKey.METADATA and len(self.asked(ApiKey.METADATA)) == 1:
            dead = MetadataResponse.MetadataResponseBroker(node_id=2, host="127.0.0.1", port=self._old_leader.port)
            response.brokers.append(dead)
            for partition in response.topics[0].partitions:
                partition.leader_id = 2
        return response


def hang_up(header: RequestHeader, request: Any) -> Any:
    raise HangUp


@async_test
async def test_after_a_dead_leader_metadata_is_asked_again():
    async with FakeBroker(hang_up) as dead:
        producer = await produced(Succession(dead))
        assert producer.written == 3
        assert [header.api_key for header, _ in dead.seen if header.api_key == ApiKey.PRODUCE]
