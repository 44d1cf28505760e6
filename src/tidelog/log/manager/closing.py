"""Closing all logs of a directory at the stop, so that the next start can believe what it finds.

Closing waits for the disk and does little else: each log has up to four files to sync, and two directories. A
journalling file system commits what several threads sync at the same time as one, so a few threads help; thousands of
logs are faster by one sync of the whole file system, and a second one once the leader epochs have taken their names (a
name must not be durable before what it names is).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tidelog.common.fs import Volume
from tidelog.log.manager.loading import in_threads

if TYPE_CHECKING:
    from tidelog.log.partition.flush import FlushJob
    from tidelog.log.partition.partition_log import PartitionLog

#: Fewer make the disk wait for us, more make the threads wait for each other.
CLOSING_THREADS = 8
#: From so many logs on, one sync of the whole file system is cheaper than the syncs of their files.
BULK = 200


def close_all(logs: Sequence[PartitionLog], threads: int, volume: Volume | None) -> None:
    """Flush and close logs; they are not used any more, so that any thread may. Raises the first disk error.

    Many logs on a disk that can be synced as a whole take two syncs together; those whose directory is a link to
    another disk are none of them.
    """
    one_by_one = logs
    if volume is not None and len(logs) >= BULK:
        held = {log for log in logs if volume.holds(log.dir)}
        _close_at_once([log for log in logs if log in held], volume)
        one_by_one = [log for log in logs if log not in held]
    for _ in in_threads(lambda log: log.close(), one_by_one, max(threads, CLOSING_THREADS), chunk=1):
        continue


def _close_at_once(logs: Sequence[PartitionLog], volume: Volume) -> None:
    """Write everything, sync the file system, let the leader epochs take their names, and sync that.

    An error of either sync fails the directory as a whole: it cannot be told which file was lost.
    """

    def finish(log: PartitionLog) -> FlushJob | None:
        log.finish()
        job = log.flush_job()
        if job is not None:
            job.stage()
        log.release()
        return job

    jobs = [(log, job) for log, job in zip(logs, map(finish, logs), strict=True) if job is not None]
    if jobs:
        volume.sync()
    if sum(job.publish() for _, job in jobs):
        volume.sync()
    for log, job in jobs:
        log.flush_done(job)
