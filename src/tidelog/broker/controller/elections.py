"""Elections: when they are held, and what is done with their outcome. Who wins is `election.py`'s to say.

Every election ends the same way: the new states go into the store, then to everybody as metadata, then to the replicas
as LeaderAndIsr. A leader that does not hear of its defeat goes on taking records for a moment; nothing comes of them,
for it cannot commit: its followers follow another, and its wish to be in sync without them is refused by epoch.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.context import ControllerContext
from tidelog.broker.controller.election import Reason, elect
from tidelog.broker.controller.partition_states import PartitionStates
from tidelog.broker.controller.propagation import BrokerRequests
from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.metadata.topic_configs import TopicConfigs
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition


class Elections:
    """Steps of the controller's changes: each is called within one."""

    def __init__(
        self,
        context: ControllerContext,
        states: PartitionStates,
        requests: BrokerRequests,
        changes: Changes,
        topic_configs: TopicConfigs,
    ) -> None:
        self._context = context
        self._states = states
        self._requests = requests
        self._changes = changes
        self._topic_configs = topic_configs

    async def fill_vacancies(self) -> None:
        """Elect wherever nobody leads, or the leader is not alive. What a new controller does first.

        It elects for all partitions at once and writes them as one: a start with ten thousand partitions syncs the
        store once for it.
        """
        context = self._context
        changed: list[PartitionState] = []
        for image in context.topics.values():
            for state in image.partitions:
                if state.leader_epoch < 0:
                    after = elect(state, Reason.NEW, context.brokers, context.epoch)
                    changed.append(after._replace(leader_epoch=0, is_new=True))
                elif state.leader not in context.brokers:
                    unclean = self._topic_configs.log_config(image.name).unclean_leader_election_enable
                    reason = Reason.UNCLEAN if unclean else Reason.OFFLINE
                    after = elect(state, reason, context.brokers, context.epoch)
                    if after is not state:
                        changed.append(after)
        await self._states.write(changed)

    async def renew(self, partitions: Collection[TopicPartition], leader: int) -> None:
        """Begin a new leader epoch in those of the partitions that `leader` leads, without a change of leader.

        A crash may have taken the last records of these logs, and others will get their offsets. A consumer or follower
        that has seen the old ones knows their epoch; asked for where it ended, the leader now has an answer (KIP-320).
        """
        states = [state for state in map(self._context.partition, partitions) if state is not None]
        await self._states.write(
            [
                state._replace(leader_epoch=state.leader_epoch + 1, controller_epoch=self._context.epoch)
                for state in states
                if state.leader == leader
            ]
        )

    async def hold(self, partitions: Sequence[TopicPartition], reason: Reason) -> dict[TopicPartition, ErrorCode]:
        """Elect because somebody asked (ElectLeaders, KIP-460); the answer to each partition.

        A preferred election is needed where another than the first replica leads, an unclean one where nobody does;
        anywhere else the answer is ELECTION_NOT_NEEDED, which tools take for success.
        """
        outcome: dict[TopicPartition, ErrorCode] = {}
        changed: list[PartitionState] = []
        for tp in partitions:
            state = self._context.partition(tp)
            if state is None:
                outcome[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            outcome[tp], after = self._one(state, reason)
            if after is not state:
                changed.append(after)
        written = await self._states.write(changed)
        with self._changes.applying("An election"):
            await self._requests.leader_and_isr(written)
        return outcome

    def _one(self, state: PartitionState, reason: Reason) -> tuple[ErrorCode, PartitionState]:
        preferred = reason is Reason.PREFERRED
        if state.leader == state.replicas[0] if preferred else state.has_leader:
            return ErrorCode.ELECTION_NOT_NEEDED, state
        after = elect(state, reason, self._context.brokers, self._context.epoch)
        if after is not state:
            return ErrorCode.NONE, after
        if preferred:
            return ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, state
        return ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, state
