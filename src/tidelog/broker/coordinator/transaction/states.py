"""The states of a transactional id, as a table. The number is what the record and ListTransactions know it by.

    Empty ──▶ Ongoing ──EndTxn──▶ PrepareCommit ──markers written──▶ CompleteCommit ──▶ Ongoing ...
                          └─────▶ PrepareAbort  ──markers written──▶ CompleteAbort  ──▶ Ongoing ...

The outcome of a transaction is decided when its Prepare record is committed: from then on it can only be completed, by
this coordinator or by whoever loads that record after it. What lies between Prepare and Complete is work that may be
repeated at will, so a crash there costs time and nothing else.

PrepareEpochFence and Dead are numbers that Kafka knows and never writes; a reader of records has to know them too.
"""

from __future__ import annotations

from enum import Enum

from tidelog.common.state_table import Row, StateTable


class TransactionState(Enum):
    """The value is the name that DescribeTransactions and ListTransactions give."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"

    @property
    def id(self) -> int:
        """The number in TransactionLogValue; they are counted in the order of this enum."""
        return _IDS[self]


_IDS = {state: number for number, state in enumerate(TransactionState)}
STATE_BY_ID = dict(enumerate(TransactionState))
STATE_BY_NAME = {state.value: state for state in TransactionState}

_S = TransactionState

TRANSACTION = StateTable(
    "Transactional id",
    TransactionState.EMPTY,
    (
        Row(_S.EMPTY, "InitProducerId", _S.EMPTY),
        Row(_S.EMPTY, "partitions or offsets are added", _S.ONGOING),
        Row(_S.EMPTY, "abort of an empty transaction (version 2)", _S.PREPARE_ABORT),
        Row(_S.EMPTY, "unused for transactional.id.expiration.ms", _S.DEAD),
        Row(_S.ONGOING, "more partitions are added", _S.ONGOING),
        Row(_S.ONGOING, "EndTxn: commit", _S.PREPARE_COMMIT),
        Row(_S.ONGOING, "EndTxn: abort, time-out, or fenced by InitProducerId", _S.PREPARE_ABORT),
        Row(_S.PREPARE_COMMIT, "all markers are written", _S.COMPLETE_COMMIT),
        Row(_S.PREPARE_ABORT, "all markers are written", _S.COMPLETE_ABORT),
        Row(_S.COMPLETE_COMMIT, "InitProducerId", _S.EMPTY),
        Row(_S.COMPLETE_COMMIT, "partitions or offsets are added", _S.ONGOING),
        Row(_S.COMPLETE_COMMIT, "abort of an empty transaction (version 2)", _S.PREPARE_ABORT),
        Row(_S.COMPLETE_COMMIT, "unused for transactional.id.expiration.ms", _S.DEAD),
        Row(_S.COMPLETE_ABORT, "InitProducerId", _S.EMPTY),
        Row(_S.COMPLETE_ABORT, "partitions or offsets are added", _S.ONGOING),
        Row(_S.COMPLETE_ABORT, "abort of an empty transaction (version 2)", _S.PREPARE_ABORT),
        Row(_S.COMPLETE_ABORT, "unused for transactional.id.expiration.ms", _S.DEAD),
    ),
    final=(TransactionState.DEAD,),
)
