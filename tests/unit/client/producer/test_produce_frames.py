"""Produce frames written and read in compiled code, beside the general codec."""

from __future__ import annotations

from typing import Any

import pytest

from tidelog.client.producer._batch import BufferPool, ProducerBatch
from tidelog.client.producer._produce_frames import NEWEST, OLDEST, encode, written
from tidelog.client.producer.produce_requests import produce_request
from tidelog.common.types import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import encode_request_parts, encode_response
from tidelog.protocol.messages import ProduceResponse

VERSIONS = range(OLDEST, NEWEST + 1)
POOL = BufferPool(1 << 24, 1 << 14)


def batch(topic: str, partition: int, size: int = 100) -> ProducerBatch:
    """Any bytes will do: what is in a batch is not looked at."""
    data = memoryview(bytearray(range(256)) * (size // 256 + 1))[:size]
    return ProducerBatch.ready_made(POOL, None, TopicPartition(topic, partition), data, 0.0)


def some() -> list[ProducerBatch]:
    """Two topics in turns, small batches and large ones, a name that is not ASCII."""
    return [batch("a", 0), batch("ü", 3, 70_000), batch("a", 1, 5000), batch("ü", 1_000_000, 4095), batch("ü", 2, 4096)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("names", [("me", None), (None, "txn-1"), ("", "")])
def test_a_request_is_the_general_codecs(version: int, names: tuple[str | None, str | None]) -> None:
    client_id, transactional_id = names
    batches = some()
    general = produce_request(batches, transactional_id=transactional_id, acks=-1, timeout_ms=30_000)
    expected = b"".join(encode_request_parts(ApiKey.PRODUCE, version, 77, client_id, general))
    parts = encode(batches, version, 77, client_id, transactional_id, -1, 30_000)
    assert b"".join(parts) == expected


def test_large_batches_are_not_copied() -> None:
    large, small = batch("a", 0, 70_000), batch("a", 1, 100)
    views = [part for part in encode([small, large], 12, 1, "me", None, -1, 1) if isinstance(part, memoryview)]
    assert [view.obj for view in views] == [large]


@pytest.mark.parametrize("version", [OLDEST - 1, NEWEST + 1])
def test_other_versions_are_the_general_codecs_business(version: int) -> None:
    with pytest.raises(ValueError, match="not known here"):
        encode([batch("a", 0)], version, 1, None, None, -1, 1)
    assert written(memoryview(bytes(100)), version, [batch("a", 0)]) is None


def answer(version: int, batches: list[ProducerBatch], **differences: Any) -> memoryview:
    """All were written, at offsets that tell them apart; `differences` are fields of the second partition's entry."""
    topics: dict[str, list[Any]] = {}
    for number, one in enumerate(batches):
        fields = {
            "index": one.topic_partition.partition,
            "base_offset": 1000 + number,
            "log_append_time_ms": number - 1,
        }
        if number == 1:
            fields |= differences
        entry = ProduceResponse.PartitionProduceResponse(**fields)
        topics.setdefault(one.topic_partition.topic, []).append(entry)
    responses = [
        ProduceResponse.TopicProduceResponse(name=name, partition_responses=entries) for name, entries in topics.items()
    ]
    message = ProduceResponse(responses=responses, throttle_time_ms=5)
    return memoryview(encode_response(ApiKey.PRODUCE, version, 77, message))[4:]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_usual_answer(version: int) -> None:
    batches = some()
    found = written(answer(version, batches), version, batches)
    assert found is not None
    assert sorted(found, key=lambda entry: entry[1]) == [
        (one, 1000 + number, number - 1) for number, one in enumerate(batches)
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_answer_that_is_cut_off(version: int) -> None:
    batches = some()
    frame = answer(version, batches)
    assert [size for size in range(len(frame)) if written(frame[:size], version, batches) is not None] == []


@pytest.mark.parametrize("version", [OLDEST, 8, NEWEST])
def test_an_answer_with_an_error(version: int) -> None:
    batches = some()
    assert written(answer(version, batches, error_code=6), version, batches) is None


def test_an_answer_with_more_to_say() -> None:
    batches = some()
    leader = ProduceResponse.LeaderIdAndEpoch(leader_id=1, leader_epoch=2)
    blamed = [ProduceResponse.BatchIndexAndErrorMessage(batch_index=1)]
    for differences in ({"error_message": "no"}, {"record_errors": blamed}, {"current_leader": leader}):
        assert written(answer(NEWEST, batches, **differences), NEWEST, batches) is None


def test_an_answer_for_others() -> None:
    batches = [batch("a", 0), batch("a", 1)]
    others = ([batch("a", 1), batch("a", 0)], [batch("b", 0), batch("b", 1)], batches[:1], [*batches, batch("b", 0)])
    for version in (OLDEST, NEWEST):
        assert [written(answer(version, other), version, batches) for other in others] == [None] * 4
