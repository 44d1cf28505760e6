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
from tidelog.client.config import producer as keys
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import MetadataResponse

QUICK = {"retry.backoff.ms": "1", "retry.backoff.max.ms": "5", "delivery.timeout.ms": "20000"}


async def produced(cluster: FakeCluster, lines: int = 3, **settings: str) -> LineProducer:
    async with cluster, ClusterClient({"bootstrap.servers": cluster.address, **QUICK, **settings}) as client:
        producer = LineProducer(client, TOPIC, compression="none", acks="all")
        await producer.start()
        for number in range(lines):
            await producer.add(NewRecord(None, b"%d" % number))
        await producer.finish()
        await producer.close()
        return producer


@async_test
async def test_a_passing_error_does_not_turn_idempotence_off():
    cluster = FakeCluster()
    cluster.fail[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR]
    producer = await produced(cluster)
    assert (producer.idempotent, producer.written) == (True, 3)


@async_test
async def test_a_cluster_without_producer_ids_is_written_to_one_request_at_a_time():
    cluster = FakeCluster()
    cluster.fail[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    producer = await produced(cluster)
    assert (producer.idempotent, producer.written) == (False, 3)
    assert producer._producer is not None
    config = producer._producer._core.config
    assert (config[keys.ENABLE_IDEMPOTENCE], config[keys.MAX_IN_FLIGHT]) == (False, 1)


@async_test
async def test_what_a_properties_file_says_goes_before_what_is_usual():
    producer = await produced(FakeCluster(), **{"linger.ms": "3", "acks": "1", "isolation.level": "read_committed"})
    assert producer._producer is not None
    config = producer._producer._core.config
    assert (config[keys.LINGER_MS], config[keys.BATCH_SIZE], config[keys.ACKS]) == (3, 256 * 1024, "all")


@async_test
async def test_nothing_is_written_behind_a_record_that_is_lost():
    cluster = FakeCluster(2)
    cluster.fail[ApiKey.PRODUCE] = [ErrorCode.INVALID_RECORD]
    async with cluster, ClusterClient({"bootstrap.servers": cluster.address, **QUICK}) as client:
        producer = LineProducer(client, TOPIC, compression="none", acks="all")
        await producer.start()
        await producer.add(NewRecord(None, b"bad", partition=0))
        with pytest.raises(KafkaError, match="INVALID_RECORD"):
            await producer.finish()
        with pytest.raises(KafkaError, match="INVALID_RECORD"):
            await producer.add(NewRecord(None, b"good", partition=1))
        await producer.close()
        assert (producer.written, cluster.ends) == (0, [0, 0])


@async_test
async def test_a_partition_that_is_not_there_and_a_time_that_was_never_written():
    cluster = FakeCluster()
    async with cluster, ClusterClient({"bootstrap.servers": cluster.address, **QUICK}) as client:
        producer = LineProducer(client, TOPIC, compression="none", acks="all")
        await producer.start()
        with pytest.raises(UsageError, match="t has only partition 0, not 1"):
            await producer.add(NewRecord(None, b"x", partition=1))
        await producer.add(NewRecord(None, b"old", timestamp=-1))
        await producer.finish()
        await producer.close()
        assert producer.written == 1


@async_test
async def test_an_error_that_does_not_pass_is_told():
    cluster = FakeCluster()
    cluster.fail[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED]
    with pytest.raises(KafkaError) as caught:
        await produced(cluster)
    assert caught.value.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class Succession(FakeCluster):
    """Says at first that another broker leads (when the command and its producer ask), and then that it does itself."""

    def __init__(self, old_leader: FakeBroker) -> None:
        super().__init__()
        self._old_leader = old_leader

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        response = super()._handle(header, request)
        if header.api_key == ApiKey.METADATA and len(self.asked(ApiKey.METADATA)) <= 2:
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
