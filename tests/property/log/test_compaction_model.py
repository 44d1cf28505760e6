"""Compaction against a dictionary: whatever is appended, aborted, cleaned and restarted, the table stays the same.

The model keeps, per key, the last committed value. After any number of passes a reader from the log's start must arrive
at that table (tombstones included while they are held), offsets only get fewer, never move, and every surviving record
is one that was written at that offset.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from support.managed_logs import TP, append, batches_of, compact_config, end_transaction, open_manager
from tidelog.log.manager.manager import LogManager
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import Record
from tidelog.testing.clock import ManualClock

keys = st.sampled_from([b"a", b"b", b"c", b"d", b"key-e", b"f" * 70])
values = st.one_of(st.none(), st.binary(min_size=1, max_size=8))
pairs = st.lists(st.tuples(keys, values), min_size=1, max_size=5)
codecs = st.sampled_from([Codec.NONE, Codec.NONE, Codec.LZ4, Codec.GZIP])
producers = st.sampled_from([1, 2])
RETENTION_MS = 10_000


class CompactionMachine(RuleBasedStateMachine):
    """One compacted partition, two transactional producers, restarts clean and unclean."""

    @initialize(slots=st.sampled_from([3, 8, 100]))
    def start(self, slots: int) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="tidelog-compaction-"))
        self.clock = ManualClock()
        self.config = compact_config(delete_retention_ms=RETENTION_MS, internal_segment_bytes=400)
        self.slots = slots
        self.written: dict[int, tuple[bytes, bytes | None]] = {}
        self.committed: list[tuple[int, bytes, bytes | None]] = []
        self.open_txn: dict[int, list[tuple[int, bytes, bytes | None]]] = {}
        self.sequences = {1: 0, 2: 0}
        self.last_removed_tombstone = 0
        self.open()

    def open(self) -> None:
        self.manager: LogManager = open_manager(
            self.dir, clock=self.clock, config=self.config, log_cleaner_dedupe_buffer_size=24 * self.slots
        )
        self.log: PartitionLog = self.manager.create(TP, self.config)
        self.log.advance_high_watermark(self.log.log_end_offset)
        self.rewriter = self.manager.cleaner.new_rewriter()

    def teardown(self) -> None:
        if hasattr(self, "manager"):
            self.manager.shutdown()
            shutil.rmtree(self.dir)

    # --- what happens to the log --------------------------------------------------------------------------------

    def note(self, first: int, batch: list[tuple[bytes, bytes | None]]) -> list[tuple[int, bytes, bytes | None]]:
        rows = [(first + number, key, value) for number, (key, value) in enumerate(batch)]
        self.written.update((offset, (key, value)) for offset, key, value in rows)
        return rows

    @rule(batch=pairs, codec=codecs)
    def produce(self, batch: Any, codec: Codec) -> None:
        info = append(self.log, batch, codec=codec)
        self.committed += self.note(info.first_offset, batch)

    @rule(producer=producers, batch=pairs, codec=codecs)
    def produce_in_transaction(self, producer: int, batch: Any, codec: Codec) -> None:
        info = append(
            self.log, batch, codec=codec, producer_id=producer, sequence=self.sequences[producer], transactional=True
        )
        self.sequences[producer] += len(batch)
        self.open_txn.setdefault(producer, []).extend(self.note(info.first_offset, batch))

    @rule(producer=producers, committed=st.booleans())
    def end(self, producer: int, committed: bool) -> None:
        if producer not in self.open_txn:
            return
        end_transaction(self.log, producer, committed=committed)
        rows = self.open_txn.pop(producer)
        if committed:
            self.committed += rows
            self.committed.sort()

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def clean(self) -> None:
        self.manager.cleaner.clean_one(self.rewriter)
        assert not self.manager.cleaner.uncleanable
        assert self.manager.dirs[0].online

    @rule(ms=st.sampled_from([1, RETENTION_MS - 1, RETENTION_MS]))
    def wait(self, ms: int) -> None:
        self.clock.advance(ms=ms)

    @rule()
    def restart(self) -> None:
        self.manager.shutdown()
        self.open()

    @precondition(lambda self: self.log.log_end_offset > 0)
    @rule()
    def crash(self) -> None:
        for directory in self.manager.dirs:
            directory.close()
        self.log.release()
        self.open()

    # --- what must hold -----------------------------------------------------------------------------------------

    def visible(self) -> list[Record]:
        """What a read_committed reader of everything up to the last stable offset gets."""
        stable = self.log.last_stable_offset
        aborted = self.log.aborted_transactions(0, stable)
        found = []
        for batch in batches_of(self.log):
            hidden = batch.is_transactional and any(
                entry.producer_id == batch.producer_id and entry.first_offset <= batch.base_offset <= entry.last_offset
                for entry in aborted
            )
            if not batch.is_control and not hidden:
                found += [record for record in batch.records() if record.offset < stable]
        return found

    @invariant()
    def the_table_is_the_model_s(self) -> None:
        if not hasattr(self, "log"):
            return
        stable = self.log.last_stable_offset
        expected: dict[bytes, bytes | None] = {}
        for offset, key, value in self.committed:
            if offset < stable:
                expected[key] = value
        found: dict[bytes, bytes | None] = {}
        last = -1
        for record in self.visible():
            assert record.offset > last
            last = record.offset
            assert record.key is not None
            assert self.written[record.offset] == (record.key, record.value)
            found[record.key] = record.value
        assert {k: v for k, v in found.items() if v is not None} == {k: v for k, v in expected.items() if v is not None}
        assert self.log.log_end_offset >= last + 1

    @invariant()
    def a_duplicate_is_still_known(self) -> None:
        """Idempotence: the last sequence of each producer survives whatever the cleaner removed."""
        if not hasattr(self, "log"):
            return
        for producer, following in self.sequences.items():
            entry = self.log.producers.entries.get(producer)
            if entry is not None and following:
                assert entry.last_sequence == following - 1


TestCompaction = CompactionMachine.TestCase
TestCompaction.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
