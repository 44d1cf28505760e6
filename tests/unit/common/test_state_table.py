"""The page of state machines is rendered from the tables of today; the tables hold together."""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.classic.states import CLASSIC_GROUP, ClassicState
from tidelog.broker.coordinator.group.consumer.states import CONSUMER_GROUP, CONSUMER_MEMBER
from tidelog.broker.coordinator.transaction.metadata import Transaction
from tidelog.broker.coordinator.transaction.states import TRANSACTION, TransactionState
from tidelog.common.state_table import IllegalTransition, StateTable

ROOT = Path(__file__).resolve().parents[3]
TABLES = (CLASSIC_GROUP, CONSUMER_GROUP, CONSUMER_MEMBER, TRANSACTION)


def test_the_page_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "render_state_machines.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.title)
def test_every_state_is_reached_or_is_the_first(table: StateTable) -> None:  # type: ignore[type-arg]  # any machine
    reached = {row.target for row in table.rows} | {table.initial}
    spare = {"PREPARE_EPOCH_FENCE", "UNKNOWN"}  # numbers that Kafka has reserved, and what newer brokers may write
    assert {state for state in table.states() if state.name not in spare} <= reached
    assert all(row.source not in table.final for row in table.rows)


def test_what_is_not_in_the_table_raises() -> None:
    with pytest.raises(IllegalTransition, match="Empty to Stable"):
        CLASSIC_GROUP.check(ClassicState.EMPTY, ClassicState.STABLE)


@pytest.mark.parametrize(("source", "target"), [*product(ClassicState, ClassicState)])
def test_a_classic_group_goes_the_ways_of_its_table(source: ClassicState, target: ClassicState) -> None:
    group = ClassicGroup("g", 0)
    group.state = source
    if CLASSIC_GROUP.allows(source, target):
        group.transition(target, 1)
        assert (group.previous_state, group.state, group.state_since_ms) == (source, target, 1)
    else:
        with pytest.raises(IllegalTransition):
            group.transition(target, 1)
        assert group.state is source


#: Every function of a transaction that changes its state.
STEPS = {
    TransactionState.EMPTY: lambda before: before.initialized(1, 1, epoch=1),
    TransactionState.ONGOING: lambda before: before.with_partitions(frozenset(), 1, 2),
    TransactionState.PREPARE_COMMIT: lambda before: before.prepared(True, 1, client_version=2),
    TransactionState.PREPARE_ABORT: lambda before: before.prepared(False, 1, client_version=2),
    TransactionState.DEAD: lambda before: before.tombstone(),
}


@pytest.mark.parametrize(("source", "target"), [*product(TransactionState, STEPS)])
def test_a_transactional_id_goes_the_ways_of_its_table(source: TransactionState, target: TransactionState) -> None:
    before = Transaction("t", 1, 1, 0, 0, source)
    if TRANSACTION.allows(source, target):
        after = STEPS[target](before)
        assert target is TransactionState.DEAD or after.state is target
    else:
        with pytest.raises(IllegalTransition):
            STEPS[target](before)


@pytest.mark.parametrize("source", TransactionState)
def test_a_transaction_is_completed_as_it_was_prepared(source: TransactionState) -> None:
    before = Transaction("t", 1, 1, 0, 0, source)
    complete = {
        TransactionState.PREPARE_COMMIT: TransactionState.COMPLETE_COMMIT,
        TransactionState.PREPARE_ABORT: TransactionState.COMPLETE_ABORT,
    }
    if source in complete:
        assert before.completed(1).state is complete[source]
    else:
        with pytest.raises(IllegalTransition):
            before.completed(1)


def test_numbers_of_transaction_states_are_those_on_disk() -> None:
    assert [state.id for state in TransactionState] == list(range(8))
    assert TransactionState.COMPLETE_ABORT.id == 5
