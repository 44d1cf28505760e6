"""The driver's side of the sink against a fake cluster: what is decided, when, and what is done with the rest."""

from __future__ import annotations

import pytest

from support.fake_cluster import TOPIC
from support.fake_coordinator import QUERY, TIMEOUT_MS, Coordinator, batch_of, commit, decided, name, run
from tidelog.client.cluster.client import ClusterClient
from tidelog.common.errors import KafkaError
from tidelog.common.types import TopicPartition as TP
from tidelog.protocol.api import ApiKey
from tidelog.records.format.control import end_txn_marker
from tidelog.spark.commit_protocol import TransactionLostError, recover_jobs
from tidelog.spark.decision_reader import read_entries
from tidelog.spark.decisions import PARTITIONS, Claim, Decision, DecisionLog, claim, home_of, standings
from tidelog.spark.transaction_names import JOB


def test_a_batch_is_decided_and_committed_and_its_claims_are_dropped() -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        mine = broker.open(name(partition=0), name(partition=1))
        await commit(cluster, mine)
        log = DecisionLog(cluster, TOPIC, QUERY)
        assert await log.read() == Decision(QUERY, 0, mine)
        assert log.claims == ()
        ended = [request.transactional_id for request in broker.asked(ApiKey.END_TXN)]
        assert ended == [f"{TOPIC}/{QUERY}", *sorted(one.transactional_id for one in mine)]
        assert broker.fenced() == []
        assert broker.asked(ApiKey.LIST_TRANSACTIONS) == [], "brokers remember ids for days: nobody goes through them"

    run(scenario)


@pytest.mark.parametrize("slow", [ApiKey.INIT_PRODUCER_ID, ApiKey.FETCH, ApiKey.LIST_OFFSETS])
def test_transactions_are_looked_at_when_the_decision_log_is_open(slow: ApiKey) -> None:
    """However long the opening takes: what may have timed out meanwhile is not decided, and is tried again."""

    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        broker.append(home_of(QUERY, PARTITIONS), batch_of(b"another", b'{"version":1,"batch":0,"transactions":[]}'))
        mine = broker.open(name())
        broker.clock.advance(TIMEOUT_MS / 1000 - 61)
        broker.slow[slow] = 70
        with pytest.raises(TransactionLostError, match="nothing of it was written"):
            await commit(cluster, mine)
        broker.slow.clear()
        assert await decided(cluster) is None
        assert broker.ended == []

    run(scenario)


@pytest.mark.parametrize("slow", [ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.PRODUCE])
def test_a_decision_that_takes_too_long_is_not_made(slow: ApiKey) -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        mine = broker.open(name())
        broker.slow[slow] = 21
        with pytest.raises(KafkaError, match="REQUEST_TIMED_OUT"):
            await commit(cluster, mine)
        assert broker.ended == []

    run(scenario)


def test_a_decision_lives_no_longer_than_it_may_take() -> None:
    """A driver that is killed in the middle of one leaves it to nobody for longer."""

    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        await commit(cluster, broker.open(name()))
        (request,) = broker.asked(ApiKey.INIT_PRODUCER_ID)
        assert request.transaction_timeout_ms == 20_000

    run(scenario)


@pytest.mark.parametrize(
    ("state", "left", "fine"), [("Ongoing", 59, False), ("Ongoing", 61, True), ("Empty", 900, False)]
)
def test_what_is_decided_is_open_and_has_time_left(state: str, left: float, fine: bool) -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        mine = broker.open(name(), state=state)
        broker.clock.advance(TIMEOUT_MS / 1000 - left)
        if fine:
            await commit(cluster, mine)
        else:
            with pytest.raises(TransactionLostError):
                await commit(cluster, mine)
        assert (await decided(cluster) is not None) is fine

    run(scenario)


def test_only_what_the_query_itself_has_claimed_is_aborted() -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        mine = broker.open(name("sales"))
        stray, late = name("sales", attempt="failed"), name("sales", attempt="slow")
        others = [name("sales/eu"), name("sales/eu", 1), name("sales-eu"), name("sale")]
        broker.open(stray, *others)
        for one in [stray, late, *others]:
            await claim(cluster, TOPIC, one)
        await commit(cluster, mine, query="sales")
        assert broker.fenced() == [stray]
        log = DecisionLog(cluster, TOPIC, "sales")
        await log.read()
        assert [one.transactional_id for one in log.claims] == [late], "its task may still open it"
        broker.open(late)
        await commit(cluster, broker.open(name("sales", 1)), query="sales", batch=1)
        assert broker.fenced() == sorted([late, stray])

    run(scenario, partitions=1)


def test_a_replayed_batch_aborts_its_own_and_ends_what_was_decided() -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        first, second = broker.open(name(attempt="1")), broker.open(name(attempt="2"))
        await commit(cluster, first)
        await commit(cluster, second)
        assert await decided(cluster) == Decision(QUERY, 0, first)
        assert broker.fenced() == [second[0].transactional_id]

    run(scenario)


def test_somebodys_open_decision_holds_nobody_back() -> None:
    """Behind the last stable offset a transaction counts if its marker is there, and an open one does not."""

    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        place = 0
        empty = b'{"version":1,"batch":%d,"transactions":[]}'
        broker.append(place, batch_of(b"stable", empty % 1, producer=1))
        broker.append(place, batch_of(b"open", empty % 2, producer=2))
        broker.append(place, batch_of(b"mine", empty % 3, producer=3))
        broker.append(place, batch_of(b"aborted", empty % 4, producer=4))
        for producer, committed in ((3, True), (4, False), (1, True)):
            marker = end_txn_marker(producer, 0, committed=committed, coordinator_epoch=0, timestamp=0)
            broker.append(place, marker)
        broker.append(place, batch_of(name().encode(), b'{"version":2,"claimed":7,"lives":8}'))
        broker.stable = [1] * PARTITIONS
        found = standings(await read_entries(cluster, [TP(TOPIC, place)]))
        assert {query: standing.decision.batch for query, standing in found.items() if standing.decision} == {
            "stable": 1,
            "mine": 3,
        }
        assert found[QUERY].claims == (Claim(name(), 7, 8),)

    run(scenario)


@pytest.mark.parametrize("partitions", [1, 5, PARTITIONS, 24])
def test_a_decision_is_found_whatever_count_has_placed_it(partitions: int) -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        await commit(cluster, broker.open(name()))
        broker.logs += [bytearray() for _ in range(8)]
        broker.ends, broker.starts = broker.ends + [0] * 8, broker.starts + [0] * 8
        await cluster.refresh([TOPIC])
        assert await decided(cluster) is not None
        log = DecisionLog(cluster, TOPIC, QUERY)
        await log.open()
        await log.forget()
        assert await decided(cluster) is None

    run(scenario, partitions)


def test_the_place_of_a_query_does_not_move_when_the_topic_grows() -> None:
    queries = [f"q{number}" for number in range(50)]
    assert all(home_of(query, 64) == home_of(query, PARTITIONS) < PARTITIONS for query in queries)
    assert len({home_of(query, 64) for query in queries}) > 10


def test_a_dead_jobs_rest_is_cleared_away_and_a_running_ones_is_left() -> None:
    async def scenario(broker: Coordinator, cluster: ClusterClient) -> None:
        dead, running, gave_up = f"{JOB}dead", f"{JOB}running", f"{JOB}gave-up"
        await claim(cluster, TOPIC, name(dead))
        broker.clock.advance(2 * TIMEOUT_MS / 1000 + 1)
        broker.open(name(running), name(gave_up))
        await claim(cluster, TOPIC, name(running))
        await claim(cluster, TOPIC, name(gave_up))
        log = DecisionLog(cluster, TOPIC, gave_up)
        await log.open()
        await log.decide(Decision(gave_up, 0, ()))
        await recover_jobs(cluster, TOPIC, lambda step: None)
        assert broker.fenced() == [name(gave_up)]
        left = standings(await read_entries(cluster, [TP(TOPIC, number) for number in range(PARTITIONS)]))
        assert list(left) == [running]

    run(scenario)
