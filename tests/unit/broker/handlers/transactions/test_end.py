"""AddOffsetsToTxn on a broker that no consumer has asked for a coordinator yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.patience import eventually
from tidelog.protocol.messages import AddOffsetsToTxnRequest, FindCoordinatorRequest, InitProducerIdRequest


def test_a_group_joins_a_transaction_before_anybody_looked_for_its_coordinator(ask: Callable[..., Any]) -> None:
    """Java's producer asks in this order, and Kafka has no need of __consumer_offsets before the commit."""
    eventually(lambda: ask(FindCoordinatorRequest(key="tx", key_type=1), 2).error_code == 0)

    def init() -> Any:
        answer = ask(InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000), 4)
        return None if answer.error_code else answer

    producer = eventually(init)
    added = ask(
        AddOffsetsToTxnRequest(
            transactional_id="tx",
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            group_id="nobody yet",
        ),
        3,
    )
    assert added.error_code == 0
