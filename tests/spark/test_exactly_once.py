"""Exactly once when things go wrong: at each named point of the protocol, in task or driver, then replayed otherwise.

A failing run leaves the query's checkpoint as a crash would; the next run replays the batch over another number of
tasks. In the end every record is there once.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from support.columns import begun, send_rows
from support.failing_sink import FailingSource
from support.spark import Lab
from tidelog.client.producer.transaction_manager import OpenTransaction
from tidelog.client.transaction_requests import end_transaction, fence, init_producer_id, list_transactions
from tidelog.common.errors import KafkaError
from tidelog.spark.decisions import Decision, DecisionLog
from tidelog.spark.options import SinkOptions
from tidelog.spark.transaction_names import JOB, TransactionName

EXPECTED = [f"v{number:03}" for number in range(200)]
STEPS = ["opened a transaction", "wrote", "detached", "opened", "decided", "committed one", "ended"]


def rows_of(lab: Lab, source: str) -> DataFrame:
    return lab.stream(source, startingOffsets="earliest").select("key", "value")


def outcome(run: Callable[[], object]) -> Exception | None:
    try:
        run()
    except Exception as error:
        return error
    return None


def check(lab: Lab, target: str) -> None:
    """Every record once, and nothing left open on the topic."""
    assert sorted(lab.committed(target)) == EXPECTED
    assert lab.open_transactions(target) == []


@pytest.fixture
def source(lab: Lab) -> str:
    lab.spark.dataSource.register(FailingSource)
    topic = lab.topic(3)
    lab.produce(topic, EXPECTED)
    return topic


@pytest.mark.parametrize(("step", "harmless"), [*((step, 0) for step in STEPS), ("committed one", 1)])
def test_a_failure_at_each_step(lab: Lab, source: str, tmp_path: Path, step: str, harmless: int) -> None:
    target = lab.topic(2)
    counter = tmp_path / "failed"
    failing = {"failAt": step, "counter": str(counter), "harmless": str(harmless), "topic": target}
    stream = rows_of(lab, source)
    failure = outcome(lambda: lab.sink(stream, tmp_path / "checkpoint", form="tidelog_failing", **failing))
    assert failure is None or "failed at" in str(failure), failure
    narrow = rows_of(lab, source).coalesce(1)
    lab.sink(narrow, tmp_path / "checkpoint", topic=target)
    assert counter.exists(), "the step was never reached"
    check(lab, target)


def test_a_task_that_fails_once_is_retried_and_counts_once(lab: Lab, source: str, tmp_path: Path) -> None:
    target = lab.topic(2)
    failing = {"failAt": "detached", "counter": str(tmp_path / "failed"), "harmless": "0", "topic": target}
    stream = rows_of(lab, source)
    lab.sink(stream, tmp_path / "checkpoint", form="tidelog_failing", **failing)
    assert (tmp_path / "failed").exists()
    check(lab, target)


def test_the_first_decision_about_a_batch_is_the_only_one(lab: Lab) -> None:
    query = lab.topic()

    async def decide(cluster: Any) -> None:
        older = DecisionLog(cluster, "decisions-" + query, query)
        assert await older.open() is None
        newer = DecisionLog(cluster, "decisions-" + query, query)
        assert await newer.open() is None
        with pytest.raises(Exception, match=r"PRODUCER_FENCED|INVALID_PRODUCER_EPOCH"):
            await older.decide(Decision(query, 0, ()))
        await newer.decide(Decision(query, 1, ()))
        third = DecisionLog(cluster, "decisions-" + query, query)
        assert await third.open() == Decision(query, 1, ())
        await newer.forget()  # is not its to forget any more: nothing happens, and nobody is told to do it again
        fourth = DecisionLog(cluster, "decisions-" + query, query)
        assert await fourth.open() == Decision(query, 1, ())
        await fourth.forget()
        assert await DecisionLog(cluster, "decisions-" + query, query).open() is None

    lab.ask(decide, **{"isolation.level": "read_committed"})


def test_a_decided_transaction_that_is_lost_stops_the_query_and_is_never_rewritten(
    lab: Lab, source: str, tmp_path: Path
) -> None:
    target = lab.topic(2)
    failing = {"failAt": "decided", "counter": str(tmp_path / "failed"), "harmless": "0", "topic": target}
    stream = rows_of(lab, source)
    with pytest.raises(Exception, match="failed at 'decided'"):
        lab.sink(stream, tmp_path / "checkpoint", form="tidelog_failing", **failing)

    victim = lab.open_transactions(target)[0]
    lab.ask(lambda cluster: init_producer_id(cluster, victim, 60_000))
    for _ in range(2):
        with pytest.raises(Exception, match=r"was decided, but its transaction .* is gone"):
            lab.sink(rows_of(lab, source), tmp_path / "checkpoint", topic=target)
    seen = lab.committed(target)
    assert len(seen) < len(EXPECTED)
    assert len(set(seen)) == len(seen)


def test_a_dead_jobs_decision_is_carried_out_by_the_next_job_and_a_lost_one_stops_nobody(lab: Lab) -> None:
    target = lab.topic(1)

    async def die(cluster: Any) -> None:
        for word, lost in (("decided", False), ("lost", True)):
            name = f"{JOB}{target}-{word}"
            producer = await begun(cluster, str(TransactionName(name, 0, 0, "x")))
            await send_rows(producer, target, value=pa.array([word.encode()], pa.binary()))
            transaction = await producer.detach_transaction()
            log = DecisionLog(cluster, SinkOptions.decisions_topic, name)
            await log.open()
            await log.decide(Decision(name, 0, (transaction,)))
            if lost:
                await fence(cluster, transaction.transactional_id)

    lab.ask(die, **{"isolation.level": "read_committed"})
    writer = lab.spark.sql("select 'mine' value").write.format("tidelog")
    writer.option("kafka.bootstrap.servers", lab.address).option("topic", target).mode("append").save()
    assert sorted(lab.committed(target)) == ["decided", "mine"]


def test_foreach_batch_writes_once_under_a_name(lab: Lab, source: str, tmp_path: Path) -> None:
    target = lab.topic(2)
    runs: list[int] = []

    def write(batch: DataFrame, number: int) -> None:
        query = lab.spark.sparkContext.getLocalProperty("sql.streaming.queryId")
        writer = batch.write.format("tidelog").option("kafka.bootstrap.servers", lab.address).option("topic", target)
        writer.option("queryId", query).option("batchId", number).mode("append").save()
        runs.append(number)
        if len(runs) == 1:
            raise ValueError("down after the write")

    def run() -> None:
        writer = rows_of(lab, source).writeStream.foreachBatch(write).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path)).start().awaitTermination()

    with pytest.raises(Exception, match="down after the write"):
        run()
    run()
    assert runs == [0, 0]
    check(lab, target)


def test_a_driver_that_comes_back_late_changes_nothing(lab: Lab, source: str, tmp_path: Path) -> None:
    """Its transactions were aborted by the replay; ending them again is refused."""
    target = lab.topic(2)
    failing = {"failAt": "opened", "counter": str(tmp_path / "failed"), "harmless": "0", "topic": target}
    stream = rows_of(lab, source)
    with pytest.raises(Exception, match="failed at 'opened'"):
        lab.sink(stream, tmp_path / "checkpoint", form="tidelog_failing", **failing)
    lab.sink(rows_of(lab, source), tmp_path / "checkpoint", topic=target)
    check(lab, target)

    async def end_old_ones(cluster: Any) -> None:
        for old in await list_transactions(cluster, prefix="tidelog-spark/"):
            for epoch in (0, 1):
                transaction = OpenTransaction(old.transactional_id, old.producer_id, epoch)
                with contextlib.suppress(KafkaError):
                    await end_transaction(cluster, transaction, committed=True)

    lab.ask(end_old_ones)
    check(lab, target)
