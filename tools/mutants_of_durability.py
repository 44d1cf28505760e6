"""Faults in what is durable (syncs, the list of what is not synced, a clean stop), for `mutants.py`."""

from __future__ import annotations

from mutant import Mutant

CRASH = "faults/crash/test_crash_points.py"
DURABILITY = [
    Mutant(
        "failed-sync-retried",
        "log/partition/flush.py",
        "            self.home.failed = error\n",
        "",
        "unit/log/partition/test_partition_log.py",
    ),
    Mutant(
        "failed-sync-keeps-the-directory",
        "broker/replication/flusher.py",
        "        self._manager.flushed(task)\n",
        "        if task.error is None:\n            self._manager.flushed(task)\n",
        "unit/broker/replication/test_flusher.py",
    ),
    Mutant(
        "coordinators-do-not-wait-for-the-sync",
        "broker/coordinator/wiring.py",
        "if info.flush_required:\n                    await",
        "if False:\n                    await",
        "unit/broker/coordinator/test_flush_messages.py",
    ),
    Mutant(
        "unsynced-records-are-shown",
        "broker/replication/partition.py",
        "        if info.flush_required:\n            return info",
        "        if False:\n            return info",
        "unit/broker/replication/test_flusher.py",
    ),
    Mutant(
        "retry-acknowledged-before-the-sync",
        "log/partition/partition_log.py",
        "flush_required=last >= self.recovery_point and self._flush_required",
        "flush_required=False",
        "unit/broker/replication/test_flusher.py",
    ),
    Mutant(
        "flush-forgets-what-changed-meanwhile",
        "log/segment/unsynced.py",
        "self._epochs = 0 if self._epochs == taken.epochs else self._epochs",
        "self._epochs = 0",
        "unit/log/partition/test_partition_log.py",
    ),
    Mutant(
        "stop-syncs-nothing",
        "log/partition/partition_log.py",
        "        self.finish()\n        self.flush()\n",
        "        self.finish()\n",
        CRASH,
    ),
    Mutant(
        "names-not-synced",
        "log/partition/flush.py",
        "if self.epochs is not None or self.taken.names:",
        "if self.epochs is not None:",
        CRASH,
    ),
    Mutant(
        "swapped-before-the-old-is-gone",
        "log/segment/replacement.py",
        "        segment.mark_deleted()\n    home.fs.sync_dir(home.path)\n",
        "        segment.mark_deleted()\n",
        CRASH,
    ),
    Mutant(
        "epochs-named-before-they-are-synced",
        "log/manager/loading.py",
        "    if jobs:\n        volume.sync()\n",
        "",
        "unit/log/manager/test_closing.py",
    ),
    Mutant(
        "stop-is-clean-without-a-sync",
        "log/manager/loading.py",
        "    if sum(job.publish() for _, job in jobs):\n        volume.sync()\n",
        "    sum(job.publish() for _, job in jobs)\n",
        CRASH,
    ),
    Mutant(
        "flush-by-time-never-due",
        "broker/background.py",
        "dict.fromkeys(manager.flush_due())",
        "{}",
        "unit/broker/test_background.py",
    ),
    Mutant(
        "checkpoints-of-logs-that-are-gone",
        "log/manager/manager.py",
        "            self._forget(directory, sorted(missing))\n",
        "            pass\n",
        "unit/log/manager/test_manager.py",
    ),
    Mutant(
        "sync-loses-a-renamed-directory",
        "log/partition/flush.py",
        "if self.home.renaming or self.home.path != path:",
        "if self.home.path != path:",
        "unit/log/manager/test_manager.py",
    ),
    Mutant(
        "snapshot-of-a-renamed-directory-passed-over",
        "log/partition/flush.py",
        "self._follow(partial(self._sync_snapshot, offset))",
        "self._sync_snapshot(offset)",
        "unit/log/manager/test_manager.py",
    ),
    Mutant(
        "given-topic-id-not-synced",
        "log/partition/partition_log.py",
        "        self.topic_id = topic_id\n        self.home.unsynced.add_name()\n",
        "        self.topic_id = topic_id\n",
        "unit/log/manager/test_manager.py",
    ),
    Mutant(
        "old-segments-go-before-the-new-has-a-name",
        "log/partition/partition_log.py",
        "            self._keep_names()\n",
        "",
        CRASH,
    ),
    Mutant(
        "linked-directory-synced-with-the-others",
        "log/manager/loading.py",
        "if volume.holds(log.dir)}",
        "}",
        "unit/log/manager/test_closing.py",
    ),
    Mutant(
        "stop-beside-the-sync-of-a-copy",
        "broker/replication/movers.py",
        "        await self._replicas.flusher.flush(copy)\n",
        "        await asyncio.get_running_loop().run_in_executor(None, copy.flush)\n",
        "unit/broker/replication/test_movers.py",
    ),
    Mutant(
        "failed-removal-goes-unheard",
        "log/manager/manager.py",
        "scheduler=self.scheduler_in(path.parent)",
        "scheduler=self.scheduler",
        "unit/log/manager/test_manager.py",
    ),
]
