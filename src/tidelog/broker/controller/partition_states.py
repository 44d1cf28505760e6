"""Partition states in the store, written by compare and set.

`/brokers/topics/<topic>/partitions/<n>/state` says who leads, in which leader epoch, and who is in sync. Each write
names the version that was read (which is the **partition epoch** that leaders send with their wishes for the in-sync
replicas): when another has written meanwhile, be it a controller that has taken our place, the store refuses, and
nothing has happened. Several states are written as one: all of an election, or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.broker.controller import topic_plans as plans
from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.context import ControllerContext
from tidelog.broker.controller.propagation import BrokerRequests
from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import Create, Operation, SetData, Stat, Store, ensure_path
from tidelog.broker.store.errors import BadVersionError
from tidelog.common.errors import ErrorCode, KafkaError


class PartitionStates:
    def __init__(self, store: Store, context: ControllerContext, requests: BrokerRequests, changes: Changes) -> None:
        self._store = store
        self._context = context
        self._requests = requests
        self._changes = changes

    async def write(self, states: Sequence[PartitionState]) -> list[PartitionState]:
        """Write these states and let everybody know; returns them with the partition epochs that they have got.

        Whoever leads or follows in them is not told here: a leader that asked for the change has its answer, others
        get a LeaderAndIsr from whoever decided.
        """
        if not states:
            return []
        operations: list[Operation] = []
        for state in states:
            path = paths.partition_state(state.topic, state.partition)
            encoded = znodes.encode_state(plans.state_node(state))
            if state.is_new:
                await ensure_path(self._store, paths.partition(state.topic, state.partition))
                operations.append(Create(path, encoded))
            else:
                operations.append(SetData(path, encoded, state.partition_epoch))
        try:
            results = await self._store.multi(operations)
        except BadVersionError as error:
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, str(error)) from error
        written = [
            state._replace(partition_epoch=result.version if isinstance(result, Stat) else 0, is_new=False)
            for state, result in zip(states, results, strict=True)
        ]
        with self._changes.applying("New states of partitions"):
            await self._requests.update_metadata(self._context.put_states(written))
        return written
