"""Seeded faults in what is durable (syncs, the list of what is not synced, a clean stop)."""

from __future__ import annotations

from mutant import Mutant

CRASH = "faults/crash/test_crash_points.py"
VOUCHED = "faults/crash/test_vouched.py"
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
        "log/manager/manager.py",
        "            self.fail_dir(self.dir_of(task.log), task.error)\n",
        "            task.log.flush_done(task.job)\n",
        "unit/broker/replication/test_flusher.py",
    ),
    Mutant(
        "coordinators-do-not-wait-for-the-sync",
        "broker/coordinator/wiring.py",
        "                    await replicas.appends.written(partition, info)\n",
        "                    partition.log.advance_high_watermark(info.last_offset + 1)\n",
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
        "log/partition/writing.py",
        "flush_required=last_offset >= marks.recovery_point and marks.unflushed >= self.files.config.flush_messages",
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
        "first-epoch-never-noted",
        "log/partition/writing.py",
        "elif leader_epoch != self.epochs.noted_epoch:",
        "elif leader_epoch != self.epochs.latest_epoch:",
        f"{CRASH}::test_the_epoch_of_a_log_that_was_flushed_before_its_first_record",
    ),
    Mutant(
        "stop-syncs-nothing",
        "log/partition/partition_log.py",
        "        self.finish()\n        self.flush()\n",
        "        self.finish()\n",
        f"{CRASH}::test_checkpoints_and_a_clean_stop",
    ),
    Mutant(
        "names-not-synced",
        "log/partition/flush.py",
        "if self.epochs is not None or self.taken.names:",
        "if self.epochs is not None:",
        f"{CRASH}::test_append_roll_and_flush",
    ),
    Mutant(
        "swapped-before-the-old-is-gone",
        "log/segment/replacement.py",
        "        segment.mark_deleted()\n    home.fs.sync_dir(home.path)\n",
        "        segment.mark_deleted()\n",
        f"{CRASH}::test_compaction",
    ),
    Mutant(
        "epochs-named-before-they-are-synced",
        "log/manager/closing.py",
        "    if jobs:\n        volume.sync()\n",
        "",
        "unit/log/manager/test_closing.py",
    ),
    Mutant(
        "stop-is-clean-without-a-sync",
        "log/manager/closing.py",
        "    if sum(job.publish() for _, job in jobs):\n        volume.sync()\n",
        "    sum(job.publish() for _, job in jobs)\n",
        f"{CRASH}::test_a_clean_stop_with_transactions",
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
        "log/manager/checkpoints.py",
        "            self.forget(directory, sorted(missing))\n",
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
        "log/partition/retention.py",
        "        _keep_names(log)\n",
        "",
        f"{CRASH}::test_retention_of_all_there_is",
    ),
    Mutant(
        "linked-directory-synced-with-the-others",
        "log/manager/closing.py",
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
        "self.guard.scheduler_in(path)",
        "self.scheduler",
        "unit/log/manager/test_manager.py",
    ),
    Mutant(
        "recovered-counts-as-durable",
        "log/recovery/recovery.py",
        "    segment.home.unsynced.add_segment(segment)\n    segment.indexes.restart()\n",
        "    segment.indexes.restart()\n",
        VOUCHED,
    ),
    Mutant(
        "found-names-count-as-durable",
        "log/recovery/loader.py",
        "        self._home.unsynced.add_name()\n        for offset in producers.snapshots:\n",
        "        for offset in producers.snapshots:\n",
        VOUCHED,
    ),
    Mutant(
        "found-snapshots-count-as-durable",
        "log/recovery/loader.py",
        "            self._home.unsynced.add_snapshot(offset)\n",
        "            pass\n",
        VOUCHED,
    ),
    Mutant(
        "name-of-the-txnindex-not-synced",
        "log/segment/txn_index.py",
        "                self.data.home.unsynced.add_name()\n",
        "                pass\n",
        VOUCHED,
    ),
    Mutant(
        "snapshot-not-synced",
        "log/partition/flush.py",
        "                self._follow(partial(self._sync_snapshot, offset))\n",
        "                pass\n",
        VOUCHED,
    ),
    Mutant(
        "given-up-flush-takes-the-list-with-it",
        "log/segment/unsynced.py",
        "        return Taken(self._names, self._epochs, dict(self._segments or {}), dict(self._snapshots or {}))\n",
        """        taken = Taken(self._names, self._epochs, dict(self._segments or {}), dict(self._snapshots or {}))
        self.done(taken)
        return taken
""",
        "unit/log/segment/test_unsynced.py",
    ),
]
