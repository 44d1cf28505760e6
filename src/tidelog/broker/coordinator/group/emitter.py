"""The records of one handler, each true in memory from the moment it is emitted.

Most handlers of the coordinators decide, return their records and are done: the shard replays them. A heartbeat of a
consumer group cannot do that. Its target assignment follows from the subscription that it brings, and the member's own
assignment from that target; each step has to see what the step before has changed. So such a handler hands every record
to an `Emitter`, which replays it there and then, by the code that replays it at load, and changes nothing by itself.

Memory is ahead of the log for as long as the append takes, as after every other write of a shard, and the same two
things make that safe: answers wait for the commit, and a failed append drops the shard. What remains is a write that no
batch may hold (its records are too large): then nothing at all was appended, the other groups of the shard need not
suffer for it, and the emitter makes this one group again what it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.consumer.states import CONSUMER_GROUP, ConsumerState
from tidelog.broker.coordinator.group.state import GroupShardState
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import NO_RESPONSE, Result
from tidelog.common.errors import KafkaError


class Emitter:
    """Collects what one handler does to one group, and can take it back."""

    def __init__(self, state: GroupShardState, group_id: str) -> None:
        self._state = state
        self._group_id = group_id
        self._before = state.groups.get(group_id)
        self._restore: Callable[[], None] | None = None
        self._stage = ConsumerState.EMPTY
        self.records: list[CoordinatorRecord] = []

    def emit(self, record: CoordinatorRecord) -> None:
        """Make it true. The first remembers the group as it was; a heartbeat that changes nothing copies nothing."""
        if self._restore is None:
            self._restore = self._state.remember(self._group_id, self._before)
            if isinstance(self._before, ConsumerGroup):
                self._stage = self._before.state
        self._state.replay(record)
        self.records.append(record)

    def emit_all(self, records: Iterable[CoordinatorRecord]) -> None:
        """All of them; they are listed first, as they may be made from what they are about to change."""
        for record in list(records):
            self.emit(record)

    def settle(self) -> None:
        """A step is complete: the way that the group has gone since the last one must be in its table.

        A consumer group has no field that holds its state; it follows from epochs and members. One step takes several
        records (a new member, then the bumped epoch), and between them the group is in no state worth a name. So this
        is asked at the ends of steps. An `IllegalTransition` is a bug in the machine; `guard` takes the handler back.
        """
        if self._restore is None:
            return
        group = self._state.groups.get(self._group_id)
        now = group.state if isinstance(group, ConsumerGroup) else ConsumerState.DEAD
        if now is not self._stage:
            self._stage = CONSUMER_GROUP.check(self._stage, now)

    def add(self, more: Result | None) -> None:
        """Records of a classic group, which changed its soft state itself (see `state`), to be written with ours."""
        if more is not None:
            self.records += more.records

    def result(self, response: Any = NO_RESPONSE) -> Result:
        return Result(self.records, response, replay=False, undo=self._undo)

    def _undo(self, error: BaseException) -> None:
        if self._restore is not None:
            self._restore()

    def guard(self, step: Callable[[], Result]) -> Result:
        """Run a handler. If it refuses after it has emitted records, they are true all the same and must be written; if
        it breaks, they are not, and the group becomes again what it was."""
        try:
            return step()
        except KafkaError as error:
            if not self.records:
                raise
            return self.result(error)
        except Exception as error:
            self._undo(error)
            raise
