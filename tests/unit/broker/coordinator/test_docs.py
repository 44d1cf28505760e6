"""The page of state machines is rendered from the tables of today; the tables hold together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.broker.coordinator.group.classic.states import CLASSIC_GROUP, ClassicState
from tidelog.broker.coordinator.group.consumer.states import CONSUMER_GROUP, CONSUMER_MEMBER
from tidelog.broker.coordinator.state_table import IllegalTransition, StateTable
from tidelog.broker.coordinator.transaction.states import TRANSACTION, TransactionState

ROOT = Path(__file__).resolve().parents[4]
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


def test_numbers_of_transaction_states_are_those_on_disk() -> None:
    assert [state.id for state in TransactionState] == list(range(8))
    assert TransactionState.COMPLETE_ABORT.id == 5
