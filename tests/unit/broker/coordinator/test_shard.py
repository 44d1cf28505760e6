"""The runtime: gathering, parking, loading in slices, failing, moving."""

from __future__ import annotations

from typing import Any

import pytest

from support.coordinator import GroupHarness, TransactionHarness
from tidelog.broker.coordinator import shard as shard_module
from tidelog.broker.coordinator.result import Result
from tidelog.broker.coordinator.shard import ShardState
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import GROUP_METADATA_TOPIC, TopicPartition
from tidelog.protocol import messages as m
from tidelog.records.format.batch import iter_batches

TP = TopicPartition(GROUP_METADATA_TOPIC, 0)


def commit_request(group: str = "g", offset: int = 1, metadata: str = "") -> m.OffsetCommitRequest:
    entry = m.OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=metadata
    )
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="a", partitions=[entry])
    return m.OffsetCommitRequest(group_id=group, topics=[topic])


def commit(machine: Any, offset: int = 1) -> Result:
    result: Result = machine.commit(commit_request(offset=offset), 9)
    return result


def test_writes_of_one_tick_share_a_batch() -> None:
    harness = GroupHarness()
    answers: list[Any] = []
    for offset in range(20):
        harness.runtime.write(
            "g", lambda machine, offset=offset: commit(machine, offset), lambda *answer: answers.append(answer)
        )
    assert answers == []
    assert TP not in harness.log.batches
    harness.scheduler.run()
    assert len(answers) == 20
    assert len(harness.log.batches[TP]) == 1
    (batch,) = iter_batches(harness.log.batches[TP][0])
    assert batch.record_count == 20


def test_a_gathered_batch_stays_within_the_limit_of_its_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = GroupHarness()
    limit = 600
    monkeypatch.setattr(harness.log, "max_batch_bytes", lambda tp: limit)
    answers = [harness.runtime.write("g", commit, lambda *answer: None) for _ in range(20)]
    harness.scheduler.run()
    batches = harness.log.batches[TP]
    assert 2 <= len(batches) < len(answers)
    assert max(map(len, batches)) <= limit
    assert sum(batch.record_count for data in batches for batch in iter_batches(data)) == len(answers)


def test_writes_that_come_as_bytes_are_part_of_the_same_append() -> None:
    harness = GroupHarness()
    shard = harness.runtime.active(0)
    order: list[str] = []
    shard.write(lambda machine: commit(machine, 1), lambda response, error: order.append("first"))
    number = shard.write_encoded([(b"key", b"value")], 8, order.append, "replayed")
    shard.park(lambda error: order.append(f"second, {error}"))
    assert shard.write_encoded([(b"key", None)], 3, order.append, "replayed too") == number
    harness.scheduler.run()
    assert order == ["replayed", "replayed too", "first", "second, None"]
    (data,) = harness.log.batches[TP]
    assert [batch.record_count for batch in iter_batches(data)] == [3]


def test_bytes_that_no_batch_may_hold_are_refused_before_they_are_replayed() -> None:
    harness = GroupHarness()
    shard = harness.runtime.active(0)
    with pytest.raises(KafkaError) as refused:
        shard.write_encoded([(b"key", bytes(2 << 20))], 2 << 20, pytest.fail, "replayed")
    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    harness.scheduler.run()
    assert TP not in harness.log.batches


def test_nobody_is_answered_while_a_handler_is_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is answered may ask again at once: not before the handler's own records are replayed."""
    monkeypatch.setattr(shard_module, "GATHER_BYTES", 1)  # the second write has to flush the first
    harness = GroupHarness()
    shard = harness.runtime.active(0)
    order: list[str] = []

    def second(machine: Any) -> Result:
        order.append("second begins")
        return commit(machine, 2)

    def answered(response: Any, error: KafkaError | None) -> None:
        order.append(f"first answered, {machine_offset(shard.machine)} is known")

    shard.write(lambda machine: commit(machine, 1), answered)
    shard.write(second, lambda response, error: order.append("second answered"))
    harness.scheduler.run()
    assert order == ["second begins", "first answered, 2 is known", "second answered"]


def machine_offset(machine: Any) -> int:
    offset: int = machine.state.offsets.get("g", ("a", 0)).offset
    return offset


def test_a_read_sees_what_was_written_before_it_and_waits_for_it() -> None:
    harness = GroupHarness()
    harness.log.hold = True
    harness.write("g", lambda machine: commit(machine, 7))
    group = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g", topics=None)
    answer = harness.write("g", lambda machine: Result(response=machine.fetch(group, False)))
    assert not answer.done
    harness.log.release()
    assert answer.response.topics[0].partitions[0].committed_offset == 7


def test_a_failed_append_answers_everybody_and_reloads() -> None:
    harness = GroupHarness()
    harness.write("g", lambda machine: commit(machine, 1))
    first = harness.runtime.shards[0]
    harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS
    failed = harness.write("g", lambda machine: commit(machine, 2))
    assert failed.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert harness.write("g", commit).code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    harness.advance(100)
    assert harness.runtime.shards[0] is not first
    assert harness.machine().state.offsets.get("g", ("a", 0)).offset == 1


def test_what_waits_when_leadership_goes_is_told() -> None:
    harness = GroupHarness()
    harness.log.hold = True
    waiting, beside = harness.write("g", commit), harness.write("g", commit)
    harness.runtime.on_resigned(0)
    assert waiting.code is beside.code is ErrorCode.NOT_COORDINATOR
    assert waiting.error is not beside.error  # both are raised somewhere, and tracebacks grow
    assert harness.write("g", commit).code is ErrorCode.NOT_COORDINATOR
    harness.log.release()  # too late: nobody is answered twice


def test_a_load_is_sliced(monkeypatch: pytest.MonkeyPatch) -> None:
    harness = GroupHarness()
    for offset in range(5):
        harness.write("g", lambda machine, offset=offset: commit(machine, offset))
    monkeypatch.setattr(shard_module, "LOAD_SLICE_SECONDS", -1.0)  # every batch is a slice of its own
    harness.runtime.on_resigned(0)
    harness.runtime.on_elected(0, 9)
    assert harness.runtime.loading
    assert harness.write("g", commit).code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    harness.scheduler.run()
    assert harness.machine().state.offsets.get("g", ("a", 0)).offset == 4


def test_a_record_that_is_none_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    from tidelog.records.format.builder import BatchBuilder

    builder = BatchBuilder()
    builder.append(0, b"\0\1\0", b"\0\3")
    builder.append(0, None, b"x")
    builder.append(0, b"\0\xff", b"x")
    harness = GroupHarness()
    harness.log.batches[TP] = [builder.build()]
    harness.reload()
    assert harness.machine().state.groups == {}
    assert caplog.text.count("skipping the record") == 2


def test_too_large_a_write_is_refused_and_leaves_no_trace() -> None:
    harness = GroupHarness()
    request = commit_request()
    entry = request.topics[0].partitions[0]
    request.topics[0].partitions = [entry] * 30_000
    assert harness.write("g", lambda machine: machine.commit(request, 9)).code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert harness.machine().state.offsets.get("g", ("a", 0)) is None


def test_deleting_more_offsets_than_fit_a_batch_is_divided() -> None:
    harness = GroupHarness()
    for start in range(0, 1200, 400):
        request = commit_request()
        request.topics[0].partitions = [
            m.OffsetCommitRequest.OffsetCommitRequestPartition(
                partition_index=index, committed_offset=1, committed_metadata=""
            )
            for index in range(start, start + 400)
        ]
        harness.write("g", lambda machine, request=request: machine.commit(request, 9))
    assert harness.write("g", lambda machine: machine.delete_group("g")).code is ErrorCode.NONE
    assert harness.machine().state.groups == {}
    assert harness.replayed().state.offsets.committed == {}


def test_the_log_may_refuse_a_marker() -> None:
    """A zombie coordinator's marker is refused by the log: nothing is replayed, the shard stays."""
    harness = GroupHarness()
    request = m.TxnOffsetCommitRequest(group_id="g", producer_id=7, producer_epoch=1)
    entry = m.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=5, committed_metadata=""
    )
    request.topics = [m.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name="a", partitions=[entry])]
    harness.write("g", lambda machine: machine.commit_in_transaction(request))
    shard = harness.runtime.active(0)
    harness.log.fail_next = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    answers: list[KafkaError | None] = []
    shard.append_marker(b"", (7, 0), committed=True, done=lambda _, error: answers.append(error))
    assert answers[0] is not None
    assert answers[0].code is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert shard.state is ShardState.ACTIVE
    assert harness.machine().state.offsets.is_open("g", ("a", 0))
    harness.log.fail_next = ErrorCode.INVALID_PRODUCER_EPOCH
    refused = harness.write("g", lambda machine: machine.commit_in_transaction(request))
    assert refused.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert shard.state is ShardState.ACTIVE


def test_timers_that_are_pushed_forward_fire_once_at_the_last_time() -> None:
    harness = TransactionHarness()
    shard = harness.runtime.active(0)
    fired: list[int] = []
    for _ in range(50):
        shard.timers.set("x", 1000, lambda: fired.append(harness.clock.time_ms()))  # type: ignore[arg-type,func-returns-value]  # a plain effect
        harness.advance(100)
    assert fired == []
    assert len(shard.timers) == 1
    harness.advance(899)
    assert fired == []
    harness.advance(1)
    assert len(fired) == 1
    shard.timers.set("x", 1000, lambda: fired.append(0))  # type: ignore[arg-type,func-returns-value]  # as above
    shard.timers.set("x", 10, lambda: fired.append(1))  # type: ignore[arg-type,func-returns-value]  # as above
    harness.advance(2000)
    assert fired[1:] == [1]
