"""ConsumerCore: one consumer, on one event loop; the faces (`aio`, `blocking`) are thin over it.

    user's side (any thread)                     the loop
    poll ── delivery.take ◄── queue ◄─────────── engine ◄── Fetch ── leaders
      │                                          positions ── committed, ListOffsets, epochs
      ├── turns: listeners, callbacks ◄───────── group side ◄── membership ── coordinator
      └── auto-commit due ─────── post ────────► committing ──► commits

Methods that are coroutines run on the loop while the user waits for them. The plain ones are for the user's side, and
touch only what `subscription` says is that side's to touch. `post` is how the user's side hands a call to the loop.

Nothing that fails in the background is lost: it becomes a problem, and the next call of the user's raises it.

Why the parts know so little of each other: each can be tried with a fake of two or three functions, and the order in
which things happen is to be seen in one place. What a part needs of another is handed to it when it is made.

Nothing is connected by the constructor: the first call that needs a broker starts the engine, and the first `poll`
after `subscribe` joins the group, as in Java: whoever never polls must not hold up the others.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.client.config import consumer as keys
from tidelog.client.config.parsing import ClientConfig
from tidelog.client.consumer.commits import OffsetCommits
from tidelog.client.consumer.committing import Committing
from tidelog.client.consumer.decoding import Deserializers
from tidelog.client.consumer.delivery import RecordDelivery
from tidelog.client.consumer.endings import let_end
from tidelog.client.consumer.engine import FetchEngine
from tidelog.client.consumer.errors import InvalidGroupIdError, WakeupError
from tidelog.client.consumer.group_side import GroupSide
from tidelog.client.consumer.interceptors import Interceptors
from tidelog.client.consumer.metrics import ConsumerMetrics
from tidelog.client.consumer.missing import MissingTopics
from tidelog.client.consumer.positions import Positions
from tidelog.client.consumer.reset import Reset
from tidelog.client.consumer.subscribing import partitions_of
from tidelog.client.consumer.subscription import Mode, SubscriptionState, TopicPartitionState
from tidelog.client.consumer.turns import Turns
from tidelog.client.values import ConsumerGroupMetadata, OffsetAndMetadata
from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import NO_EPOCH, TopicPartition

logger = logging.getLogger("tidelog.client.consumer")
T = TypeVar("T")

#: The membership hears of polls this often at most: it counts in seconds.
_POLLS_TOLD_EVERY = 0.05

#: How long a consumer that nobody holds any more tries to tell its group.
_FAREWELL_SECONDS = 5.0


class ConsumerCore:
    """The parts of a consumer, wired. `dedicated`: the loop serves nobody else."""

    def __init__(
        self,
        config: ClientConfig,
        post: Callable[..., None],
        *,
        dedicated: bool = False,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.config = config
        self.clock = clock
        self.post = post
        self.cluster = ClusterClient(config, clock=clock, dedicated=dedicated)
        self.metrics = ConsumerMetrics()
        self.subscription = SubscriptionState()
        self.missing = MissingTopics(self.cluster, self.subscription)
        self._news = asyncio.Event()
        self._settled = asyncio.Event()
        self._woken_up = asyncio.Event()
        self._problems: deque[Exception] = deque()
        self.woken = False
        self.group_id = config[keys.GROUP_ID] or None
        self.max_poll_records = config[keys.MAX_POLL_RECORDS]
        self.config_max_poll_interval = config[keys.MAX_POLL_INTERVAL_MS] / 1000
        self.default_timeout = config[common.DEFAULT_API_TIMEOUT_MS] / 1000
        self.turns = Turns(self._news.set)
        observers: list[Any] = config[keys.INTERCEPTOR_CLASSES]
        self.interceptors = Interceptors(observers, config.originals)
        self.deserializers = Deserializers(config)
        self.commits = OffsetCommits(self.cluster, config)
        self.positions = Positions(
            self.cluster,
            self.subscription,
            self.commits.committed if self.group_id else None,
            problem=self._problem,
            settled=self._on_settled,
            looked=self.missing.look,
        )
        self.engine = FetchEngine(
            self.cluster,
            self.subscription,
            self.positions,
            self.deserializers.decoders,
            self.metrics,
            arrived=self._news.set,
            problem=self._problem,
        )
        self.delivery = RecordDelivery(
            self.subscription,
            self.engine,
            self.metrics,
            drained=self._ask_for_more,
            restart=self._ask_again,
            problem=self._problems.append,
        )
        self.committing = Committing(
            self.cluster, self.subscription, self.commits, self.turns, self.interceptors, self.metrics
        )
        self.group = GroupSide(
            self.cluster,
            self.subscription,
            self.commits,
            self.turns,
            self.metrics,
            self.missing,
            auto_commit=self.committing.before_giving_back,
            changed=self.engine.kick,
            failed=self._problem,
        )
        self._tasks: set[asyncio.Task[Any]] = set()
        self._running = False
        self._resubscribed = False
        self._told_polled = 0.0
        self.closed = False
        #: How a run is going, while there is one (see `handling`).
        self.handling: Callable[[], Any] | None = None

    # --- the user's side ----------------------------------------------------------------------------------------------

    def begin_poll(self) -> None:
        """As `poll` is called: what was returned before is done with, so it may be committed."""
        self.delivery.take_back()
        self.delivery.end_iteration()
        now = self.clock.monotonic()
        self.metrics.poll_total += 1
        self.metrics.last_poll_at = now
        if self.subscription.mode is Mode.NONE:
            raise UsageError("the consumer is not subscribed to any topic and has no partition assigned")
        if self._resubscribed:
            self.post(self.begin)  # also if there are records enough that nobody waits
        due = self.committing.due(now)
        if due:
            self.post(self.committing.start, due, None)
        if now - self._told_polled > _POLLS_TOLD_EVERY and self.group.membership is not None:
            self._told_polled = now
            self.post(self._tell_polled)

    def raise_problem(self) -> None:
        """What went wrong since the last call, if anything; a wake-up before it."""
        if self.woken:
            self.woken = False
            raise WakeupError("wakeup() was called")
        if self._problems:
            raise self._problems.popleft()
        if self.group.fatal is not None:
            raise self.group.fatal.with_traceback(None)

    def wakeup(self) -> None:
        """End the call at hand, or the next one, with WakeupError. From any thread."""
        self.woken = True
        self.post(self._on_wakeup)

    @property
    def pending_problem(self) -> Exception | None:
        """What the next call is going to raise."""
        return self._problems[0] if self._problems else self.group.fatal

    def most_records(self, given: int | None) -> int:
        """How many records a `poll` may return."""
        if given is None:
            return self.max_poll_records
        if not isinstance(given, int) or given < 1:
            raise UsageError(f"max_records={given!r}: expected a number from 1 on, or None for max.poll.records")
        return given

    def require_group(self, method: str) -> None:
        if not self.group_id:
            raise InvalidGroupIdError(method)

    def _ask_for_more(self) -> None:
        self.post(self.engine.kick)

    def _ask_again(self, part: TopicPartitionState) -> None:
        if not self.closed:
            self.post(self._move_to_stand, part)

    # --- the loop's side ----------------------------------------------------------------------------------------------

    def _tell_polled(self) -> None:
        if self.group.membership is not None:
            self.group.membership.polled()

    def _move_to_stand(self, part: TopicPartitionState) -> None:
        if part.stand is not None:
            part.move(*part.stand)
        self.engine.kick()

    def _on_wakeup(self) -> None:
        self._news.set()
        self._woken_up.set()

    def _on_settled(self) -> None:
        self._settled.set()
        self._news.set()
        self.engine.kick()

    def _problem(self, error: Exception) -> None:
        """To be raised from the next call. The same one again and again is one."""
        if not any(type(known) is type(error) and str(known) == str(error) for known in self._problems):
            self._problems.append(error)
        self._news.set()

    def _spawn(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._problem(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    def begin(self) -> None:
        """Start what runs by itself, with the first call that needs it."""
        if self.closed:
            raise UsageError("the consumer is closed")
        if not self._running:
            self._running = True
            self._spawn(self.engine.run())
        if self._resubscribed:
            self._resubscribed = False
            self._spawn(self._join())

    async def _join(self) -> None:
        """Give the group the subscription. If brokers cannot be reached for so long that this fails, `poll` says so,
        and the next one makes another try.
        """
        try:
            await self.group.subscribed()
        except Exception:
            self._resubscribed = self.subscription.by_group
            raise

    async def wait(self, timeout: float | None) -> None:
        """Until there is something for the user: records, a turn, a problem, a wake-up; or the time is up."""
        self.begin()
        self._news.clear()
        if self.engine.queue or self.turns or self._problems or self.woken:
            return
        timer = None if timeout is None else asyncio.get_running_loop().call_later(timeout, self._news.set)
        self.group.waiting(True)
        try:
            await self._news.wait()
        finally:
            self.group.waiting(False)
            if timer is not None:
                timer.cancel()

    async def interruptible(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run it, unless `wakeup` comes first."""
        self._woken_up.clear()
        task = asyncio.ensure_future(coroutine)
        waker = asyncio.ensure_future(self._woken_up.wait())
        try:
            if not self.woken:
                await asyncio.wait({task, waker}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            self.woken = False
            raise WakeupError("wakeup() was called")
        finally:
            for each in (task, waker):
                each.cancel()
            await asyncio.gather(task, waker, return_exceptions=True)

    # --- what to read -------------------------------------------------------------------------------------------------

    async def subscribe(self, mode: Mode, listener: Any, begin: Reset | None, **what: Any) -> None:
        """Topics, a Python pattern or the server's; takes effect with the next `poll`."""
        self.require_group("subscribe")
        self.subscription.choose(mode, listener, begin)
        for name, value in what.items():
            setattr(self.subscription, name, value)
        self._resubscribed = True

    async def unsubscribe(self) -> None:
        """Leave the group, and hold nothing any more."""
        self._resubscribed = False
        try:
            await self.group.leave("the consumer unsubscribed")
        finally:  # also if a listener was broken off: the membership is gone, and nothing of it may stay behind
            self.subscription.remove(list(self.subscription.partitions))
            self.subscription.unsubscribe()
            self.engine.kick()

    async def assign(self, partitions: Iterable[TopicPartition], begin: Reset | None) -> None:
        """Read exactly these; what was read before and goes is committed, if auto-commit is on."""
        wanted = partitions_of(partitions)
        if not wanted:
            await self.unsubscribe()
            return
        self.subscription.choose(Mode.MANUAL)
        going = [tp for tp in self.subscription.partitions if tp not in wanted]
        if going:
            await self.committing.before_giving_back(going)
            self.subscription.remove(going)
        self.subscription.replace(wanted)
        if begin is not None:
            for tp in wanted:
                self.subscription.partitions[tp].look_for(begin)
        self.engine.kick()

    async def seek(self, tp: TopicPartition, offset: int, epoch: int = NO_EPOCH) -> None:
        if offset < 0:
            raise UsageError(f"seek to offset {offset}: offsets begin at 0 (see seek_to_beginning, seek_to_end)")
        self._stand_at(tp, offset, epoch)

    def _stand_at(self, tp: TopicPartition, offset: int, epoch: int) -> None:
        part = self.subscription.part(tp)
        part.move(offset, epoch)
        part.topic_id, part.blocked_until = None, 0.0
        self._forget_problems_of(tp)
        self.engine.kick()

    def put_back(self, positions: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Stand before records that were polled and not dealt with. Nothing here waits, so nothing can interrupt it."""
        for tp, position in positions.items():
            if tp in self.subscription.partitions:
                self._stand_at(tp, position.offset, position.leader_epoch)

    async def seek_by(self, partitions: Iterable[TopicPartition] | None, reset: Reset) -> None:
        """To the beginning, the end or a time; looked up when it is needed, by `poll` or `position`."""
        wanted = list(partitions) if partitions is not None else list(self.subscription.partitions)
        for part in [self.subscription.part(tp) for tp in wanted]:
            part.look_for(reset)
            part.topic_id, part.blocked_until = None, 0.0
            self._forget_problems_of(part.tp)
        self.engine.kick()

    def _forget_problems_of(self, tp: TopicPartition) -> None:
        """A seek answers what was wrong with the position before."""
        kept = [error for error in self._problems if getattr(error, "topic_partition", None) != tp]
        self._problems.clear()
        self._problems.extend(kept)

    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        for part in [self.subscription.part(tp) for tp in partitions]:
            part.paused = True

    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Go on where it was left: what was fetched before the pause has waited."""
        for part in [self.subscription.part(tp) for tp in partitions]:
            part.paused = False
            self.engine.queue.extendleft(reversed(part.parked))
            part.parked.clear()
        self._news.set()
        self.engine.kick()

    async def position(self, tp: TopicPartition, timeout: float | None = None) -> int:
        """The offset of the next record that `poll` returns; looked up if it is not known yet."""
        part = self.subscription.part(tp)
        self.begin()
        deadline = self.clock.monotonic() + (self.default_timeout if timeout is None else timeout)
        while part.position is None:
            self.positions.raise_missing()
            self.raise_problem()
            left = deadline - self.clock.monotonic()
            if left <= 0:
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"the position of {tp} was not found in time")
            self._settled.clear()
            self.engine.kick()
            timer = asyncio.get_running_loop().call_later(left, self._settled.set)
            try:
                await self._settled.wait()
            finally:
                timer.cancel()
        return part.position

    async def group_metadata(self) -> ConsumerGroupMetadata:
        self.require_group("group_metadata")
        if self.group.membership is None:
            return ConsumerGroupMetadata(self.group_id or "", group_instance_id=self.config[keys.GROUP_INSTANCE_ID])
        return self.group.membership.group_metadata()

    # --- calls during which the user's code may have to run -----------------------------------------------------------

    async def attend(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin what may wait for turns of the user's (leaving a group runs listeners); then see `turn_or_end`."""
        task = asyncio.get_running_loop().create_task(coroutine)
        task.add_done_callback(lambda _: self._news.set())
        return task

    async def turn_or_end(self, task: asyncio.Task[None]) -> bool:
        """Wait until the user has a turn or the task has ended; whether it has."""
        while not self.turns and not task.done():
            self._news.clear()
            await self._news.wait()
        return task.done() and not self.turns

    async def close(self, timeout: float | None) -> None:
        """Commit if that is automatic, leave the group, drop everything. Within the time-out as far as others go.

        The order: commits first, while we are still a member and they count; then the group, which gives our partitions
        to others at once; then the connections, which ends whatever waits for an answer.
        """
        self.delivery.take_back()
        try:
            async with asyncio.timeout(timeout):
                if self.subscription.mode is Mode.MANUAL:
                    await self.committing.before_giving_back(list(self.subscription.partitions))
                await self.group.leave("the consumer is closed")
                await self.committing.flush()
        except TimeoutError:
            logger.warning("close took longer than %s s: the group will miss us when our session times out", timeout)
        finally:
            await self._let_go()

    async def abandon(self) -> None:
        """The end for a face that was dropped. There is nobody whose turn could come: no listener runs, and nothing is
        committed, since nobody knows whether the last records were worked on. The group is told, so that others go on.
        """
        self.group.is_alone = True
        try:
            async with asyncio.timeout(_FAREWELL_SECONDS):
                await self.group.leave("the consumer was dropped")
        except (TimeoutError, KafkaError) as error:
            logger.warning("a consumer that was dropped could not leave its group: %s", error)
        finally:
            await self._let_go()

    async def _let_go(self) -> None:
        self.closed = True
        self.engine.stop()
        await self.cluster.close()
        await let_end([*self._tasks, *self.engine.tasks, self.positions.task, self.missing.task])
        self.engine.queue.clear()
