"""Work that goes on by itself: retention, checkpoints, flushing, expiry of producers, compaction.

Each is a loop of its own: wait, work, say how long it took. They run on the event loop (which owns the logs) and hand
what can stall to threads. A task that dies ends the broker: a log that is silently no longer cleaned fills the disk.

    retention         log.retention.check.interval.ms, 5 min       whole segments that are too old or too many
    checkpoint        log.flush.offset.checkpoint.interval.ms, 1 min     recovery points and log starts
    high-watermarks   replica.high.watermark.checkpoint.interval.ms, 5 s
    flush             log.flush.scheduler.interval.ms, never: at least every 3 s here, as rolled segments wait for it
    producer-expiry   producer.id.expiration.check.interval.ms, 10 min
    cleaner-<n>       log.cleaner.backoff.ms, 15 s                 as many as log.cleaner.threads

Kafka has threads for these. Here they share one with the requests, so each gives way after a few logs, and whatever
waits for the disk (checkpoints, syncs, the cleaner's copies) does so elsewhere. Time is the timer's, not the loop's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from tidelog.broker import config as keys
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.metrics import BrokerMetrics
from tidelog.broker.purgatory.timer import LoopTimer
from tidelog.broker.replication.manager import ReplicaManager
from tidelog.common.clock import Clock
from tidelog.common.config import Key
from tidelog.common.errors import KafkaError
from tidelog.log.cleaner.errors import CleaningAborted
from tidelog.log.manager.manager import LogManager
from tidelog.log.manager.tasks import CheckpointTask
from tidelog.net.pauses import breathe

if TYPE_CHECKING:
    from tidelog.log.cleaner.rewriter import Rewriter
    from tidelog.log.partition.partition_log import PartitionLog

logger = logging.getLogger(__name__)

#: How many logs are looked at between two breaths of the event loop.
CHUNK = 64
#: Intervals outside these are cut: a loop must neither spin nor sleep past a change of its interval for ever.
SHORTEST_SLEEP, LONGEST_SLEEP = 0.01, 600.0
#: How often at least it is looked for logs to flush.
FLUSH_SECONDS = 3.0
#: Runs a coroutine as a task of that name; its failure is the broker's (`Supervisor.spawn`).
Spawn = Callable[[str, Coroutine[Any, Any, None]], "asyncio.Task[None]"]


class Background:
    def __init__(
        self,
        config: BrokerConfig,
        log_manager: LogManager,
        replicas: ReplicaManager,
        clock: Clock,
        timer: LoopTimer,
        metrics: BrokerMetrics,
        spawn: Spawn,
    ) -> None:
        self._config = config
        self._log_manager = log_manager
        self._replicas = replicas
        self._clock = clock
        self._timer = timer
        self._seconds = metrics.background_seconds
        self._spawn = spawn
        self._tasks: list[asyncio.Task[None]] = []
        #: Numbers of the cleaners that run.
        self.cleaners: set[int] = set()

    def start(self) -> None:
        plan: list[tuple[str, Key[int], Callable[[], Awaitable[None]]]] = [
            ("retention", keys.LOG_RETENTION_CHECK_INTERVAL_MS, self._retention),
            ("checkpoint", keys.LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS, self._checkpoint),
            ("high-watermarks", keys.REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS, self._high_watermarks),
            ("flush", keys.LOG_FLUSH_SCHEDULER_INTERVAL_MS, self._flush),
            ("producer-expiry", keys.PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS, self._expire_producers),
        ]
        for name, interval, work in plan:
            self._tasks.append(self._spawn(name, self._every(name, interval, work)))
        if self._config[keys.LOG_CLEANER_ENABLE]:
            self._begin_cleaners()
            self._config.on_change(self._on_config)

    def _on_config(self, names: frozenset[str]) -> None:
        if keys.LOG_CLEANER_THREADS.name in names:
            self._begin_cleaners()

    def _begin_cleaners(self) -> None:
        """As many loops as `log.cleaner.threads` says; one beyond that ends when it has done what it is at."""
        for number in range(self._config[keys.LOG_CLEANER_THREADS]):
            if number not in self.cleaners:
                self.cleaners.add(number)
                self._tasks.append(self._spawn(f"cleaner-{number}", self._cleaner(number)))

    async def _cleaner(self, number: int) -> None:
        def wanted() -> bool:
            return number < self._config[keys.LOG_CLEANER_THREADS]

        try:
            await self._every(f"cleaner-{number}", keys.LOG_CLEANER_BACKOFF_MS, self._clean, wanted)
        finally:
            self.cleaners.discard(number)

    async def stop(self) -> None:
        """A cleaner's thread cannot be stopped: it is told, and looks now and then. What it copied is removed."""
        for job in self._log_manager.cleaner.jobs.values():
            job.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _every(
        self,
        name: str,
        interval: Key[int],
        work: Callable[[], Awaitable[None]],
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """The interval is read anew each time: it may be changed while the broker runs. The first round comes after
        log.initial.task.delay.ms at the latest: a broker that is restarted often would never get to it otherwise."""
        often = interval is keys.LOG_FLUSH_SCHEDULER_INTERVAL_MS
        longest = min(LONGEST_SLEEP, self._config[keys.LOG_INITIAL_TASK_DELAY_MS] / 1000)
        while wanted():
            wait = min(self._config[interval] / 1000, FLUSH_SECONDS if often else longest)
            await self._timer.sleep(max(wait, SHORTEST_SLEEP))
            started = self._clock.monotonic()
            await work()
            seconds = self._clock.monotonic() - started
            longest = LONGEST_SLEEP
            self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    # -- the work ----------------------------------------------------------------------------------------------------

    async def _retention(self) -> None:
        """Log by log, a segment at a time: the generator has removed one whenever it gives way."""
        deleted = 0
        for count, segments in enumerate(self._log_manager.retention()):
            deleted += segments
            if segments or count % CHUNK == CHUNK - 1:  # a deletion may have waited for the disk
                await breathe()
        if deleted:
            logger.info("Retention removed %d segments", deleted)

    async def _checkpoint(self) -> None:
        await self._write_checkpoints(self._log_manager.checkpoint_tasks())

    async def _high_watermarks(self) -> None:
        await self._write_checkpoints(self._log_manager.checkpoint_tasks(high_watermarks_only=True))

    async def _write_checkpoints(self, tasks: list[CheckpointTask]) -> None:
        """Written and synced on a thread; what to write was taken down here."""
        loop = asyncio.get_running_loop()
        for task in tasks:
            await loop.run_in_executor(None, task.run)
            self._log_manager.checkpointed(task)

    async def _flush(self) -> None:
        """Sync what is due by `flush.ms` and `flush.messages`, and whatever was rolled: recovery need not read it."""
        manager, flusher = self._log_manager, self._replicas.flusher
        wanted: dict[PartitionLog, int | None] = dict.fromkeys(manager.flush_due())
        for log in manager.all_logs():
            if log not in wanted and log.recovery_point < log.active_segment.base_offset:
                wanted[log] = log.active_segment.base_offset
        for log, up_to in wanted.items():
            if not log.deleted and manager.dir_of(log).online:
                await flusher.flush(log, up_to)

    async def _expire_producers(self) -> None:
        """Forget producers that have long been silent: a log would otherwise remember every one that ever wrote."""
        now = self._clock.time_ms()
        for count, partition in enumerate(list(self._replicas.partitions())):
            partition.log.expire_producers(now)
            if count % CHUNK == CHUNK - 1:
                await breathe()

    async def _clean(self) -> None:
        """Clean log after log until none is worth a pass; the maps of keys are held only while there is work."""
        cleaner = self._log_manager.cleaner
        loop = asyncio.get_running_loop()
        rewriter: Rewriter | None = None
        while (job := cleaner.pick()) is not None:
            rewriter = rewriter or cleaner.new_rewriter()
            try:
                while not job.finished:
                    await loop.run_in_executor(None, job.run, rewriter)
                    job.apply()
            except (CleaningAborted, OSError, KafkaError) as error:
                cleaner.failed(job, error)
            else:
                cleaner.done(job)
