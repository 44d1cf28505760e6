"""Seeded faults: each of these small changes to the code must turn a test red.

    python tools/mutants.py                # all
    python tools/mutants.py index lso      # those whose name contains a word

The faults are put, one at a time, into a copy of the source tree; the tests that guard that place run against the
copy. A fault that no test notices is printed as SURVIVED, and the exit status is 1. A compiled module is built anew in
the copy, so the faults in the kernel take longer.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from mutant import Mutant
from mutants_of_clients import CLIENTS
from mutants_of_control import CONTROL
from mutants_of_disks import DISKS
from mutants_of_durability import DURABILITY
from mutants_of_requests import REQUESTS
from mutants_of_tools import TOOLS

ROOT = Path(__file__).resolve().parent.parent


LOG = "unit/log spec property/log"
SPARK = "unit/spark"
OLD_FORMATS = "unit/broker/handlers/records/test_old_formats.py spec/test_stored_formats.py"
MUTANTS = [
    *CONTROL,
    *DURABILITY,
    *REQUESTS,
    *TOOLS,
    *CLIENTS,
    *DISKS,
    Mutant(
        "fetch-session-without-topic-ids",
        "net/fetch_session.py",
        "if tp not in wanted or wanted[tp].topic_id != known.topic_id",
        "if tp not in wanted",
        "unit/net/test_fetch_session.py",
    ),
    Mutant(
        "fetcher-reads-the-new-topic",
        "client/consumer/fetcher.py",
        "return part.topic_id not in (topic_id, ZERO_UUID)",
        "return False",
        "unit/client/test_engines.py",
    ),
    Mutant(
        "push-down-before-1970",
        "spark/pushdown.py",
        "or self.timestamp_ms < 0:",
        "or False:",
        "unit/spark/test_boundaries.py",
    ),
    Mutant(
        "deleted-topics-stay-known",
        "client/cluster/metadata.py",
        "if name in present}",
        "}",
        "unit/client/cluster/test_metadata.py",
    ),
    Mutant(
        "wire-scan-waits-for-what-never-comes",
        "spark/wire_scan.py",
        "    if end >= part.end:\n        return False\n",
        "    if end >= 0:\n        return False\n",
        "unit/spark/test_wire_scan.py",
    ),
    Mutant(
        "packed-batches-in-one-part",
        "records/arrow/parts.py",
        "if reader.bytes_bound > part_bytes:",
        "if reader.bytes_bound > part_bytes << 20:",
        "unit/records/arrow/test_parts.py",
    ),
    Mutant(
        "arrow-tables-without-an-end-time",
        "log/reading/reader.py",
        "return rows if end_time is None else rows.filter(pc.less(times, end_time))",
        "return rows",
        "unit/log/reading/test_reader.py",
    ),
    Mutant(
        "reader-passes-over-swap",
        "log/reading/segment_listing.py",
        "swapped = {name for name in names if name.suffix == SWAP}",
        "swapped: set[SegmentFile] = set()",
        "unit/log/cleaner/test_reading_beside_a_cleaner.py unit/spark/test_segment_scan.py",
    ),
    Mutant(
        "reader-keeps-its-first-list",
        "log/reading/segment_walk.py",
        """            segments = self._segments()
            if not segments:
                return
""",
        """            segments = self._segments() if last is None else segments
            if not segments:
                return
""",
        "unit/log/cleaner/test_reading_beside_a_cleaner.py",
    ),
    Mutant(
        "reader-believes-every-index",
        "log/reading/segment_reader.py",
        "        if not 0 < position < file.size():\n            return 0\n",
        "        if position >= 0:\n            return position\n",
        "unit/log/cleaner/test_reading_beside_a_cleaner.py",
    ),
    Mutant(
        "old-format-not-stored",
        "broker/replication/produce_rules.py",
        "        magic=config.record_magic,\n",
        "",
        OLD_FORMATS,
    ),
    Mutant(
        "old-format-by-the-short-way",
        "broker/handlers/records/lanes.py",
        "        and partition.rules.magic == MAGIC_V2\n",
        "",
        OLD_FORMATS,
    ),
    Mutant(
        "old-format-packed-for-offsets-of-others",
        "broker/replication/partition.py",
        "return prepared.packed_for in (None, self.log.log_end_offset)",
        "return True",
        OLD_FORMATS,
    ),
    Mutant(
        "old-format-wrong-relative-offsets-kept",
        "records/format/validate.py",
        "return found.magic == MAGIC_V1 and found.in_sequence",
        "return found.magic == MAGIC_V1",
        "unit/records",
    ),
    Mutant(
        "old-format-epochs-kept",
        "log/partition/partition_log.py",
        """        if config.record_magic < MAGIC_V2 <= self.config.record_magic:
            self.leader_epochs.clear()
""",
        "",
        "unit/log/partition/test_old_format_log.py",
    ),
    Mutant(
        "old-format-without-the-protocol",
        "log/message_format.py",
        "    if speaks >= _FIXED_SINCE:\n        return MAGIC_V2\n",
        "",
        "unit/log/test_message_format.py spec/test_stored_formats.py",
    ),
    Mutant(
        "old-format-broker-time-unsealed",
        "records/kernel/_batches.pyx",
        "            store_32(p + MESSAGE_CRC_OFFSET, message_crc(p, batch.size - LOG_OVERHEAD))\n",
        "",
        "unit/records spec/test_stored_formats.py",
    ),
    Mutant(
        "old-format-inner-checksums-unread",
        "records/kernel/_messages.pyx",
        "fault = walk_messages(p, stop, True, &walk)",
        "fault = walk_messages(p, stop, False, &walk)",
        "unit/records",
    ),
    Mutant(
        "spark-decision-not-checked",
        "spark/commit_protocol.py",
        "if end - now < needed:",
        "if end - now < 0:",
        SPARK,
    ),
    Mutant(
        "spark-decision-checked-too-early",
        "spark/commit_protocol.py",
        """        decision = await self._log.open()
        self._step("opened")
        if decision is None or decision.batch < self._batch:
            if decision is not None and self._may_skip:
                await _carry_out_late(self._cluster, decision, self._step)
            decision = Decision(self._query, self._batch, transactions)
            if transactions:
                await self._check_alive(transactions)
""",
        """        await self._log.open()
        await self._check_alive(transactions)
        decision = await self._log.open()
        self._step("opened")
        if decision is None or decision.batch < self._batch:
            if decision is not None and self._may_skip:
                await _carry_out_late(self._cluster, decision, self._step)
            decision = Decision(self._query, self._batch, transactions)
            if transactions:
""",
        SPARK,
    ),
    Mutant(
        "spark-decision-lives-as-long-as-a-batch",
        "spark/decisions.py",
        "transaction_timeout_ms=self._limit_ms",
        "transaction_timeout_ms=None",
        SPARK,
    ),
    Mutant(
        "spark-late-decision-is-made",
        "spark/decisions.py",
        "if clock.monotonic() >= deadline:",
        "if clock.monotonic() >= deadline + 1000:",
        SPARK,
    ),
    Mutant(
        "spark-strays-of-longer-names",
        "spark/transaction_names.py",
        "(?P<query>.+)/(?P<batch>",
        "(?P<query>[^/]+)/(?:.*/)?(?P<batch>",
        SPARK,
    ),
    Mutant(
        "spark-aborted-decision-counts",
        "spark/decision_reader.py",
        "if marker is not None and marker.committed:",
        "if marker is not None:",
        SPARK,
    ),
    Mutant(
        "spark-decisions-move-with-the-count",
        "spark/decisions.py",
        "min(partitions, PARTITIONS)",
        "partitions",
        SPARK,
    ),
    Mutant(
        "fetch-waits-for-what-compaction-removed",
        "client/consumer/fetcher.py",
        "        if _is_empty(response):",
        "        if False:",
        "unit/client",
    ),
    Mutant(
        "fetch-skips-what-came-meanwhile",
        "client/consumer/fetcher.py",
        "return part.end is not None and part.visible >= part.end and part.position == asked.offset",
        "return part.position == asked.offset",
        "unit/client",
    ),
    Mutant(
        "spark-another-topic-behind-a-loss",
        "spark/wire_scan.py",
        "part.end, fetcher.ranges[tp].topic_id)",
        "part.end)",
        "unit/spark/test_wire_scan.py",
    ),
    Mutant(
        "spark-pattern-dies-with-a-topic-in-between",
        "spark/boundaries.py",
        "if options.pattern is None or error.code is not",
        "if error.code is",
        "unit/spark/test_wire_scan.py",
    ),
    Mutant(
        "spark-decision-of-many-tasks-too-large",
        "spark/decisions.py",
        "codec=Codec.GZIP,",
        "codec=None,",
        SPARK,
    ),
    Mutant(
        "spark-superseded-driver-aborts",
        "spark/strays.py",
        "if not await log.condemn(strays):",
        "if not strays:",
        SPARK,
    ),
    Mutant(
        "spark-condemned-is-decided",
        "spark/commit_protocol.py",
        "if any(one.transactional_id not in claimed for one in transactions):",
        "if False:",
        SPARK,
    ),
    Mutant(
        "spark-check-takes-no-time",
        "spark/commit_protocol.py",
        "            ends.append((end, found.timeout_ms))",
        """            if end - self._cluster.clock.time_ms() < reserve_ms(found.timeout_ms):
                ends.append((0, found.timeout_ms))""",
        SPARK,
    ),
    Mutant(
        "spark-decision-of-a-narrower-topic-unseen",
        "spark/decisions.py",
        "if standing.decided is None and places != everywhere:",
        "if False:",
        SPARK,
    ),
    Mutant(
        "spark-claims-live-as-the-readers-do",
        "spark/strays.py",
        "_LIVES * claim.life_ms",
        '_LIVES * int(cluster.config["transaction.timeout.ms"])',
        SPARK,
    ),
    Mutant(
        "spark-named-write-looks-not-back",
        "spark/commit_protocol.py",
        "if decision is not None and self._may_skip:",
        "if False:",
        SPARK,
    ),
    Mutant(
        "spark-abort-without-messages",
        "spark/writers.py",
        "named or self._options.query_id or query_of_checkpoint(self._options.checkpoint)",
        "named",
        SPARK,
    ),
    Mutant(
        "missing-topic-is-waited-for",
        "client/topics.py",
        "and not await _makes_topics(cluster)",
        "and False",
        "unit/client/test_topics.py",
    ),
    Mutant("bound-is-read", "log/partition/partition_log.py", "else min(upper_bound, end)", "else end", LOG),
    Mutant(
        "read-past-the-end",
        "log/partition/partition_log.py",
        "if offset > end or offset",
        "if offset > end + 1 or offset",
        LOG,
    ),
    Mutant(
        "swap-not-renamed-back",
        "log/segment/replacement.py",
        'segment.change_suffix(SWAP, "")',
        "segment.suffix",
        "unit/log faults/crash",
    ),
    Mutant(
        "cleaned-renamed-ascending",
        "log/segment/replacement.py",
        "key=lambda segment: -segment.base_offset",
        "key=lambda segment: segment.base_offset",
        "unit/log faults/crash",
    ),
    Mutant(
        "truncate-keeps-later-segments",
        "log/partition/local_log.py",
        "if segment.base_offset > offset]",
        "if segment.base_offset > offset + 1000]",
        LOG,
    ),
    Mutant(
        "recovery-point-not-lowered",
        "log/partition/watermarks.py",
        "self.recovery_point = min(self.recovery_point, offset)",
        "self.recovery_point = self.recovery_point",
        LOG,
    ),
    Mutant(
        "roll-ignores-size",
        "log/segment/segment.py",
        "if present > self.config.segment_size - size or",
        "if present > self.config.segment_size + size or",
        LOG,
    ),
    Mutant(
        "roll-ignores-time",
        "log/segment/segment.py",
        "> self.config.max_segment_ms - self.jitter_ms",
        "> self.config.max_segment_ms * 1000",
        LOG,
    ),
    Mutant(
        "indexes-not-trimmed",
        "log/segment/segment.py",
        "        self.offset_index.trim()\n        self.time_index.trim()",
        "        self.time_index.trim()",
        LOG,
    ),
    Mutant(
        "age-by-file-time",
        "log/segment/segment.py",
        "return timestamp if timestamp >= 0 else self.mtime_ms",
        "return self.mtime_ms",
        LOG,
    ),
    Mutant("retention-deletes-unreplicated", "log/partition/retention.py", "or high_watermark < end or", "or", LOG),
    Mutant(
        "retention-by-log-start-too-early",
        "log/partition/retention.py",
        "following.base_offset <= log_start_offset",
        "following.base_offset <= log_start_offset + 1",
        LOG,
    ),
    Mutant(
        "retention-size-cuts-too-much",
        "log/partition/retention.py",
        "if excess - segment.size < 0:",
        "if excess < 0:",
        LOG,
    ),
    Mutant(
        "time-lookup-off-by-one",
        "log/partition/timestamps.py",
        "if record.timestamp >= timestamp and",
        "if record.timestamp > timestamp and",
        LOG,
    ),
    Mutant(
        "lso-is-hw",
        "log/partition/watermarks.py",
        "if first is None or first >= self.high_watermark:",
        "if True:",
        LOG,
    ),
    Mutant("hw-past-the-end", "log/partition/watermarks.py", "min(offset, self.log_end_offset)", "offset", LOG),
    Mutant(
        "duplicate-written-twice",
        "log/partition/writing.py",
        "if pending.duplicate is not None:",
        "if pending.duplicate is not None and False:",
        LOG,
    ),
    Mutant("aborted-not-indexed", "log/partition/writing.py", "if completed.aborted:", "if False:", LOG),
    Mutant(
        "epoch-not-noted",
        "log/partition/writing.py",
        "if leader_epoch != self.epochs.latest_epoch:",
        "if False:",
        LOG,
    ),
    Mutant(
        "epoch-end-off",
        "log/leader_epochs.py",
        "return self.entries[after - 1].epoch, self.entries[after].start_offset",
        "return self.entries[after - 1].epoch, self.entries[after - 1].start_offset",
        LOG,
    ),
    Mutant(
        "later-segments-survive-a-torn-tail",
        "log/recovery/loader.py",
        "self._drop(self._recover_in_order(suspects))",
        "self._recover_in_order(suspects)",
        "unit/log property/log faults/crash",
    ),
    Mutant(
        "undecided-swap-used",
        "log/recovery/loader.py",
        "self._offset(name) >= undecided)",
        "self._offset(name) > undecided + 10**9)",
        "unit/log faults/crash",
    ),
    Mutant("producers-expire-at-once", "log/producers/state_manager.py", ">= self.expiration_ms", ">= 0", LOG),
    Mutant("checkpoint-count-ignored", "log/checkpoint.py", "if int(lines[1]) != len(lines) - 2:", "if False:", LOG),
    Mutant(
        "clean-marker-kept",
        "log/directory/log_dir.py",
        "            shutdown_marker.remove(self._fs, self.path)\n",
        "",
        "unit/log faults/crash",
    ),
    Mutant(
        "no-sync-before-rename",
        "common/fs.py",
        "            file.sync()\n        finally:",
        "        finally:",
        "unit/common unit/log faults/crash unit/testing",
    ),
    Mutant(
        "varint-overflow-accepted",
        "common/varint.py",
        "if value >> (32 if max_bytes == MAX_VARINT_BYTES else 64):",
        "if False:",
        "unit/common",
    ),
    Mutant("murmur2-tail-lost", "common/hashing.py", "if tail < length:", "if False:", "unit/common"),
    Mutant(
        "crc-skipped",
        "records/kernel/_batches.pyx",
        "        if crc and crc32c_update(",
        "        if False and crc32c_update(",
        "unit/records property/records",
    ),
    Mutant(
        "warm-section-off-by-one",
        "log/segment/_index.pyx",
        "            high = hot\n",
        "            high = hot - 2\n",  # hot itself is too high already: one less would find the same
        LOG,
    ),
    Mutant(
        "time-entry-not-rising",
        "log/segment/_index.pyx",
        "        if timestamp <= last_timestamp:\n            return 0",
        "        if timestamp < last_timestamp:\n            return 0",
        LOG,
    ),
    Mutant(
        "offset-overflow-not-rolled",
        "log/segment/_index.pyx",
        "or last_offset - self.offsets.base_offset > INT32_MAX or",
        "or",
        LOG,
    ),
    Mutant(
        "nothing-copied-without-sendfile",
        "net/_socket.h",
        "errno == EINVAL || errno == ENOSYS ?",
        "0 ?",
        "spec/test_zero_copy.py",
    ),
    Mutant(
        "unknown-client-keys-vanish",
        "client/config/parsing.py",
        "for name in config.unknown:",
        "for name in ():",
        "unit/client/config/test_parsing.py",
    ),
    Mutant(
        "large-record-drops-the-shard",
        "broker/coordinator/shard.py",
        "if result.undo is None:  # memory is ahead of the log",
        "if True:",
        "unit/broker/coordinator",
    ),
    Mutant(
        "large-record-half-undone",
        "broker/coordinator/group/emitter.py",
        "            self._restore()\n",
        "            pass\n",
        "unit/broker/coordinator",
    ),
    Mutant(
        "returning-static-member-unanswered",
        "broker/coordinator/group/classic/join.py",
        "response, replay=False, undo=refused)",
        "replay=False, undo=refused, on_commit=lambda: reply(response))",
        "unit/broker/coordinator",
    ),
    Mutant(
        "group-configs-by-escaped-names",
        "broker/dynamic_configs.py",
        "(paths.unsanitize(part), values)",
        "(part, values)",
        "unit/broker/coordinator/group/test_overrides.py",
    ),
    Mutant(
        "regexes-not-resolved-after-a-leave",
        "broker/coordinator/group/consumer/update.py",
        "overdue or group.resolved_version != self._view.version",
        "overdue or group.checked_version != self._view.version",
        "unit/broker/coordinator/group/consumer/test_regex.py",
    ),
    Mutant(
        "broken-writer-unheard-of",
        "broker/coordinator/shard.py",
        "            done(ErrorCode.UNKNOWN_SERVER_ERROR)\n",
        "            pass\n",
        "unit/broker/coordinator/group/test_emitter.py",
    ),
]


def copy_tree(target: Path) -> None:
    for name in ("src", "tests", "tools", "docs", "examples"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, target / name)


def build(tree: Path) -> None:
    subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"], cwd=tree, check=True, capture_output=True
    )


def misplaced(source: Path) -> list[str]:
    """The faults whose place in the code is not there (once)."""
    return [mutant.name for mutant in MUTANTS if (source / mutant.file).read_text().count(mutant.sound) != 1]


def failed_tests(tree: Path, folders: Iterable[str]) -> int:
    """How many tests failed, up to the first or so; ends the program when they could not be run at all."""
    tests = [f"tests/{name}" for name in folders]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "2", *tests]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return 0
    # The exit status does not tell: stopped at the first failure, xdist calls itself interrupted, as it does when
    # nothing could be collected.
    failed = re.search(r"^(\d+) failed", done.stdout.strip().splitlines()[-1])
    if failed is None:
        sys.exit(f"the tests could not be run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return int(failed[1])


def notices(tree: Path, mutant: Mutant) -> bool:
    """Whether the guarding tests fail with the fault in place."""
    path = tree / "src" / "tidelog" / mutant.file
    original = path.read_text()
    path.write_text(original.replace(mutant.sound, mutant.broken))
    compiled = path.suffix in (".pyx", ".h")
    try:
        if compiled:
            build(tree)
        return failed_tests(tree, mutant.tests.split()) > 0
    finally:
        path.write_text(original)
        if compiled:
            build(tree)


def main() -> None:
    words = sys.argv[1:]
    chosen = [mutant for mutant in MUTANTS if not words or any(word in mutant.name for word in words)]
    if lost := misplaced(ROOT / "src" / "tidelog"):
        sys.exit(f"not in their places in the code any more: {', '.join(lost)}; bring these faults up to date")
    survivors = []
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        tree.mkdir()
        copy_tree(tree)
        guards = dict.fromkeys(folder for mutant in chosen for folder in mutant.tests.split())
        if failed_tests(tree, guards):
            sys.exit("the tests fail without any fault: nothing could be told from their failing with one")
        for number, mutant in enumerate(chosen, 1):
            started = time.monotonic()
            noticed = notices(tree, mutant)
            verdict = "killed" if noticed else "SURVIVED"
            print(
                f"[{number:2d}/{len(chosen)}] {verdict:8s} {mutant.name} ({time.monotonic() - started:.0f} s)",
                flush=True,
            )
            if not noticed:
                survivors.append(mutant.name)
    print(f"{len(chosen) - len(survivors)} passed, {len(survivors)} failed")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
