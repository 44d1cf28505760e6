"""A producer's states: the table, walked, and what each refusal says."""

from __future__ import annotations

from itertools import product

import pytest

from tidelog.client.producer.transaction_manager import TRANSITIONS, OpenTransaction, State, TransactionManager
from tidelog.common.errors import ErrorCode, KafkaError, UsageError

LOST = KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, "the first")
EVENTS = {
    "init": lambda manager: manager.initialized(7, 1),
    "begin": lambda manager: manager.begin(),
    "begin commit": lambda manager: manager.committing(),
    "begin abort": lambda manager: manager.aborting(),
    "commit": lambda manager: manager.ended(committed=True),
    "abort": lambda manager: manager.ended(committed=False),
    "detach": lambda manager: manager.detach(),
    "fail": lambda manager: manager.fail(LOST),
}


def shortest_ways() -> dict[State, list[str]]:
    """How each state is reached from the first one, by the table."""
    ways: dict[State, list[str]] = {State.UNINITIALIZED: []}
    while found := {
        following: [*ways[state], event]
        for (state, event), following in TRANSITIONS.items()
        if state in ways and following not in ways
    }:
        ways |= found
    return ways


def brought_to(state: State) -> TransactionManager:
    manager = TransactionManager("id")
    for event in shortest_ways()[state]:
        EVENTS[event](manager)
    assert manager.state is state
    return manager


def test_every_state_is_reached() -> None:
    assert set(shortest_ways()) == set(State)
    assert {event for _, event in TRANSITIONS} == set(EVENTS)


@pytest.mark.parametrize(("state", "event"), list(product(State, EVENTS)))
def test_the_table_is_what_happens(state: State, event: str) -> None:
    manager = brought_to(state)
    following = TRANSITIONS.get((state, event))
    if following is not None:
        failed_before = manager.failure is LOST
        EVENTS[event](manager)
        assert manager.state is following
        assert (manager.failure is LOST) == (event == "fail" or (failed_before and following is not State.READY))
        return
    failed = manager.failure
    with pytest.raises(KafkaError) as refusal:
        EVENTS[event](manager)
    assert manager.state is state
    if failed is None:
        assert refusal.value.code is ErrorCode.INVALID_TXN_STATE
        assert refusal.value.message.startswith(f"cannot {event}: the producer is {state.value}")
    else:
        assert refusal.value is failed


@pytest.mark.parametrize("transactional_id", [None, "id"])
@pytest.mark.parametrize("state", list(State))
def test_when_records_may_be_sent(state: State, transactional_id: str | None) -> None:
    manager = brought_to(state)
    manager.transactional_id = transactional_id
    if manager.failure is not None:
        with pytest.raises(KafkaError, match="the first"):
            manager.check_may_send()
    elif state is (State.READY if transactional_id is None else State.IN_TRANSACTION):
        manager.check_may_send()
    else:
        with pytest.raises(UsageError, match=f"while the producer is {state.value}"):
            manager.check_may_send()


def test_the_first_failure_is_the_one_that_is_told() -> None:
    manager = brought_to(State.ABORTABLE_ERROR)
    manager.fail(KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, "what followed from it"))
    with pytest.raises(KafkaError, match="the first"):
        manager.ended(committed=True)
    manager.aborting()
    manager.ended(committed=False)
    assert manager.failure is None


def test_being_fenced_counts_for_more_than_a_lost_record() -> None:
    manager = brought_to(State.ABORTABLE_ERROR)
    fenced = manager.as_fenced(KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH))
    manager.die(fenced)
    manager.die(KafkaError(ErrorCode.INVALID_TXN_STATE, "what followed from it"))
    with pytest.raises(KafkaError, match=r"transactional\.id id took over") as caught:
        manager.begin()
    assert caught.value.code is ErrorCode.PRODUCER_FENCED
    assert manager.as_fenced(LOST) is LOST


def test_what_somebody_else_needs_to_end_it() -> None:
    assert brought_to(State.COMMITTING).detach() == OpenTransaction("id", 7, 1)
