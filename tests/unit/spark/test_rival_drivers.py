"""What a driver may do when it is not alone: late, superseded, or beside other queries, versions and settings."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from support.fake_cluster import TOPIC
from support.fake_coordinator import (
    QUERY,
    TIMEOUT_MS,
    Coordinator,
    batch_of,
    commit,
    decided,
    name,
    protocol,
    run,
)
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer.transaction_manager import OpenTransaction
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition as TP
from tidelog.common.uuids import uuid_to_text
from tidelog.protocol.api import ApiKey
from tidelog.records.format.control import end_txn_marker
from tidelog.spark.commit_protocol import TransactionLostError, recover_jobs
from tidelog.spark.decision_reader import read_entries
from tidelog.spark.decisions import (
    PARTITIONS,
    Decision,
    DecisionLog,
    claim,
    decision_limit_ms,
    home_of,
    reserve_ms,
    standings,
)
from tidelog.spark.strays import abort_strays
from tidelog.spark.transaction_names import JOB


def test_a_check_that_takes_long_counts_against_what_was_checked_first() -> None:
    """The first has 61 s left, the last look takes 70 s: by then the first may have timed out."""

    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        mine = broker.open(name())
        broker.clock.advance(TIMEOUT_MS / 1000 - 61)
        mine += broker.open(*(name(partition=number) for number in range(1, 50)))
        describe, looks = broker._describe, itertools.count(1)

        def slowly(request: Any) -> Any:
            answer = describe(request)
            broker.clock.advance(70 if next(looks) == len(mine) else 0)
            return answer

        broker._describe = slowly  # type: ignore[method-assign]  # the last one's coordinator is slow
        with pytest.raises(TransactionLostError, match="nothing of it was written"):
            await commit(cluster, mine)
        assert await decided(cluster) is None

    run(scenario)


@pytest.mark.parametrize("timeout_ms", [1_000, 6_000, 12_000, 30_000, 60_000, 120_000, 900_000])
def test_a_decision_that_comes_late_comes_before_its_transactions_time_out(timeout_ms: int) -> None:
    """The last request of a decision may be on its way until the coordinator's next round finds it timed out."""
    latest = decision_limit_ms(timeout_ms) * 2 + 10_000
    assert reserve_ms(timeout_ms) >= latest


def test_a_superseded_driver_aborts_nothing() -> None:
    """It has opened the log and seen the claim; then another driver has decided that very transaction."""

    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        mine = broker.open(name())
        await claim(cluster, TOPIC, name())
        old = DecisionLog(cluster, TOPIC, QUERY)
        before = await old.open()
        await protocol(cluster)._commit(mine)
        broker.fail[ApiKey.ADD_PARTITIONS_TO_TXN] = [ErrorCode.PRODUCER_FENCED]
        broker.transactions[name()].state = "Ongoing"  # it is decided, and about to be committed
        assert not await abort_strays(cluster, old, before)
        assert broker.fenced() == []

    run(scenario)


@pytest.mark.parametrize("condemned", [True, False])
def test_what_another_driver_may_be_aborting_is_not_decided(condemned: bool) -> None:
    """Its claim says so, or is gone: however open the transaction looks at this moment."""

    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        mine = broker.open(name())
        if condemned:
            await claim(cluster, TOPIC, name())
            other = DecisionLog(cluster, TOPIC, QUERY)
            await other.open()
            assert await other.condemn(other.claims)
        with pytest.raises(TransactionLostError, match="another driver"):
            await protocol(cluster)._commit(mine)
        assert await decided(cluster) is None

    run(scenario)


def test_what_was_condemned_is_aborted_by_whoever_comes_next() -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        broker.open(name(attempt="stray"))
        await claim(cluster, TOPIC, name(attempt="stray"))
        dead = DecisionLog(cluster, TOPIC, QUERY)
        await dead.open()
        await dead.condemn(dead.claims)
        await commit(cluster, broker.open(name(batch=1)), batch=1)
        assert broker.fenced() == [name(attempt="stray")]
        log = DecisionLog(cluster, TOPIC, QUERY)
        await log.read()
        assert log.claims == ()

    run(scenario)


@pytest.mark.parametrize("partitions", [1, 5, 8, 15])
def test_a_topic_that_grows_to_the_usual_count_loses_no_decision(partitions: int) -> None:
    queries = [f"q{number}" for number in range(6)]

    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        for query in queries:
            await commit(cluster, broker.open(name(query)), query=query)
        more = PARTITIONS - partitions
        broker.logs += [bytearray() for _ in range(more)]
        broker.ends, broker.starts = broker.ends + [0] * more, broker.starts + [0] * more
        await cluster.refresh([TOPIC])
        assert [query for query in queries if await decided(cluster, query) is None] == []
        for query in queries:
            await commit(cluster, broker.open(name(query, 1)), query=query, batch=1)
        latest = [await decided(cluster, query) for query in queries]
        assert [one.batch for one in latest if one is not None] == [1] * len(queries)

    run(scenario, partitions)


FOREIGN = [
    (b"newer", b'{"version":9,"what":"ever"}'),
    (b"prose", b"no json"),
    (b"list", b"[1]"),
    (b"short", b'{"version":1}'),
    (b"\xff\xfe", b"{}"),
    (b"", b"{}"),
    (name("other").encode(), b"7"),
    (f"{JOB}x".encode(), b'{"version":9}'),
]


@pytest.mark.parametrize(("key", "value"), FOREIGN, ids=[repr(key) for key, _ in FOREIGN])
def test_what_others_have_put_into_the_topic_stops_nobody(key: bytes, value: bytes) -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        broker.append(home_of(QUERY, PARTITIONS), batch_of(key, value))
        await commit(cluster, broker.open(name()))
        assert await decided(cluster) is not None
        await recover_jobs(cluster, TOPIC, lambda step: None)

    run(scenario)


def test_a_query_is_stopped_by_a_decision_of_its_own_that_it_cannot_read() -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        broker.append(home_of(QUERY, PARTITIONS), batch_of(QUERY.encode(), b'{"version":9}'))
        with pytest.raises(Exception, match="another version of Tidelog"):
            await commit(cluster, broker.open(name()))
        assert broker.ended == []

    run(scenario)


def test_a_claim_lives_as_long_as_its_own_transaction() -> None:
    """A job of short transactions does not take a running one's claims for forgotten."""

    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        running = f"{JOB}running"
        await claim(cluster, TOPIC, name(running))
        broker.clock.advance(TIMEOUT_MS / 1000)
        settings = {"bootstrap.servers": broker.address, "transaction.timeout.ms": "10000"}
        async with ClusterClient(settings, clock=broker.clock) as brief:
            await recover_jobs(brief, TOPIC, lambda step: None)
        left = standings(await read_entries(cluster, [TP(TOPIC, number) for number in range(PARTITIONS)]))
        assert [one.transactional_id for one in left[running].claims] == [name(running)]

    run(scenario)


def test_a_named_write_ends_what_the_one_before_it_had_decided() -> None:
    """Its driver died in between, and nobody repeats it: half a batch would stay for ever."""

    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        first = broker.open(name(batch=1))
        log = DecisionLog(cluster, TOPIC, QUERY)
        await log.open()
        await log.decide(Decision(QUERY, 1, first))
        second = broker.open(name(batch=2))
        await claim(cluster, TOPIC, name(batch=2))
        await protocol(cluster, batch=2, may_skip=True)._commit(second)
        assert name(batch=1) in [request.transactional_id for request in broker.asked(ApiKey.END_TXN)]

    run(scenario)


def test_what_the_write_before_has_lost_does_not_stop_the_next(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        log = DecisionLog(cluster, TOPIC, QUERY)
        await log.open()
        await log.decide(Decision(QUERY, 1, (OpenTransaction(name(batch=1), 5, 0),)))
        second = broker.open(name(batch=2))
        await claim(cluster, TOPIC, name(batch=2))
        broker.fail[ApiKey.END_TXN] = [ErrorCode.INVALID_TXN_STATE]
        await protocol(cluster, batch=2, may_skip=True)._commit(second)
        assert (await decided(cluster)) == Decision(QUERY, 2, second)

    run(scenario)
    assert "is gone" in caplog.text


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_a_claim_is_acknowledged_whatever_the_user_wants_for_his_rows(acks: str) -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        settings = {"bootstrap.servers": broker.address, "acks": acks, "enable.idempotence": "false"}
        async with ClusterClient(settings, clock=broker.clock) as careless:
            await claim(careless, TOPIC, name())
        (request,) = broker.asked(ApiKey.PRODUCE)
        assert request.acks == -1

    run(scenario)


def test_a_batch_of_very_many_tasks_can_be_decided() -> None:
    """A decision is one record: it must fit into what topics take by default (max.message.bytes)."""
    query = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
    rng = random.Random(7)
    attempts = [f"{number}-{uuid_to_text(rng.randbytes(16))}" for number in range(20_000)]
    mine = tuple(
        OpenTransaction(name(query, 12_345, number, attempt), 9_000 + number, 0)
        for number, attempt in enumerate(attempts)
    )

    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        log = DecisionLog(cluster, TOPIC, query)
        await log.open()
        await log.decide(Decision(query, 12_345, mine))
        (request,) = broker.asked(ApiKey.PRODUCE)
        assert len(request.topic_data[0].partition_data[0].records) < 1_048_588
        assert await decided(cluster, query) == Decision(query, 12_345, mine)
        broker.stable = [0] * PARTITIONS  # then it is read as what lies behind somebody's open transaction
        marker = end_txn_marker(5, 0, committed=True, coordinator_epoch=0, timestamp=0)
        broker.append(home_of(query, PARTITIONS), marker)
        assert await decided(cluster, query) == Decision(query, 12_345, mine)

    run(scenario)
