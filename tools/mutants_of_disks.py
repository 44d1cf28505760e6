"""Seeded faults in what has to do with disks (full and failing ones, moves between them, deletion)."""

from __future__ import annotations

from mutant import Mutant

DISKS = [
    Mutant(
        "index-page-not-reserved",
        "log/segment/_index.pyx",
        "            self.mapped.reserve(self.reserved, end - self.reserved)\n",
        "            pass\n",
        "unit/log/segment/test_index_room.py",
    ),
    Mutant(
        "index-stays-writable",
        "common/fs.py",
        "        self._writable = False\n",
        "        self._writable = True\n",
        "unit/log/segment/test_index_room.py",
    ),
    Mutant(
        "deletion-leaves-the-copy",
        "log/manager/retirement.py",
        "kinds = [registry.future] if future else [registry.logs, registry.future]",
        "kinds = [registry.future] if future else [registry.logs]",
        "unit/broker/replication/test_movers.py",
    ),
    Mutant(
        "copy-resumed-by-name",
        "broker/replication/movers.py",
        "            if copy.topic_id != partition.topic_id:\n",
        "            if copy.topic_id != copy.topic_id:\n",
        "unit/broker/replication/test_movers.py",
    ),
    Mutant(
        "move-goes-on-in-another-log",
        "broker/replication/movers.py",
        "if manager.get(move.tp) is not move.current or manager.get(move.tp, future=True) is not move.copy:",
        "if manager.get(move.tp) is None or manager.get(move.tp, future=True) is None:",
        "unit/broker/replication/test_movers.py",
    ),
    Mutant(
        "log-found-by-name",
        "log/manager/placing.py",
        "log.topic_id is not None and log.topic_id != topic_id:",
        "log.topic_id is not None and log.topic_id != log.topic_id:",
        "unit/broker/replication/test_movers.py",
    ),
    Mutant(
        "moved-log-unequipped",
        "broker/replication/manager.py",
        "            self._equip(partition, log)\n            self._changed()\n",
        "            partition.log = log\n            self._changed()\n",
        "unit/broker/replication/test_movers.py",
    ),
    Mutant(
        "failed-copy-takes-the-log-with-it",
        "log/manager/failures.py",
        "                    if logs is registry.logs:",
        "                    if logs is not None:",
        "unit/broker/replication/test_movers.py",
    ),
    Mutant(
        "offline-partition-made-anew",
        "broker/replication/manager.py",
        "if manager.offline_dirs and not state.is_new:",
        "if manager.offline_dirs and state is None:",
        "unit/broker/replication/test_movers.py",
    ),
    Mutant(
        "copy-takes-over-unsynced",
        "broker/replication/movers.py",
        "max(current.recovery_point, move.end)",
        "0",
        "unit/broker/replication/test_movers.py",
    ),
    Mutant(
        "deleted-files-stay-open",
        "log/manager/retirement.py",
        "            log.release()  # what a reader still holds is closed when it is done\n",
        "",
        "unit/log/segment/test_retired_files.py",
    ),
    Mutant(
        "no-directory-and-no-end",
        "broker/node.py",
        "        if not self.log_manager.live_dirs:\n",
        "        if not self.log_manager.dirs:\n",
        "unit/broker/test_server.py",
    ),
    Mutant(
        "full-store-not-taken-back",
        "broker/store/local.py",
        "                self._tree.take_back(commit.applied)\n",
        "                commit.applied.results.clear()\n",
        "unit/broker/store/test_local.py",
    ),
    Mutant(
        "full-store-ends-the-broker",
        "broker/store/local.py",
        "& 0xFF == sqlite3.SQLITE_FULL",
        "& 0xFF == -1",
        "unit/broker/test_server.py",
    ),
    Mutant(
        "failing-store-counts-as-full",
        "broker/store/local.py",
        "& 0xFF == sqlite3.SQLITE_FULL",
        "& 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)",
        "unit/broker/test_failing_disks.py",
    ),
    Mutant(
        "full-checkpoint-goes-unheard",
        "log/manager/checkpoints.py",
        "            self._guard.fail_dir(task.directory, task.error)\n",
        "            pass\n",
        "unit/broker/test_failing_disks.py",
    ),
    Mutant(
        "failed-roll-keeps-the-directory",
        "broker/replication/partition.py",
        "            self.on_disk_failure(self, error)\n",
        "",
        "unit/broker/test_failing_disks.py",
    ),
    Mutant(
        "well-without-a-directory",
        "broker/server.py",
        'else "degraded" if offline else "ok",',
        'else "ok",',
        "unit/broker/test_http.py",
    ),
]
