"""The partition log against a plain list: whatever is done to both, they hold the same records.

The model is a dictionary from offset to value, the two ends, and the list of epochs. Steps are drawn at random: appends
as leader and as follower (with gaps, several batches), truncation, rolls, retention, log start, clean and unclean
reopening with any allowed recovery point. After every step the log is read back from a random offset, with random
limits, and compared.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from support.logs import START_MS, LogBench, batch, records_of, run_of, small_config
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches

VALUES = st.lists(st.binary(min_size=0, max_size=60), min_size=1, max_size=5)
CODECS = st.sampled_from([Codec.NONE, Codec.NONE, Codec.LZ4, Codec.ZSTD, Codec.GZIP, Codec.SNAPPY])


class LogAndModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="tidelog-model-"))
        self.epoch = 0
        self.model: dict[int, bytes] = {}
        self.batch_of: dict[int, int] = {}  # offset -> base offset of its batch
        self.start = self.end = 0
        self.pid_sequence = 0

    @initialize(segment=st.integers(300, 3000), interval=st.integers(0, 600), index=st.sampled_from([48, 120, 4096]))
    def open_first(self, segment: int, interval: int, index: int) -> None:
        config = small_config(segment_bytes=segment, index_interval_bytes=interval, segment_index_bytes=index)
        self.bench = LogBench(self.path, config=config)
        self.log = self.bench.open()

    def _note(self, first: int, values: list[bytes]) -> None:
        for index, value in enumerate(values):
            self.model[first + index] = value
            self.batch_of[first + index] = first
        self.end = first + len(values)

    # ---- steps

    @rule(values=VALUES, codec=CODECS)
    def append(self, values: list[bytes], codec: Codec) -> None:
        run = run_of(batch(values, timestamp=START_MS + self.end, codec=codec))
        run.check()
        info = self.log.append_as_leader(run, self.epoch)
        assert (info.first_offset, info.last_offset) == (self.end, self.end + len(values) - 1)
        self._note(self.end, values)

    @rule(many=st.lists(VALUES, min_size=2, max_size=8))
    def append_several_requests(self, many: list[list[bytes]]) -> None:
        run = run_of(*(batch(values, timestamp=START_MS + self.end) for values in many))
        self.log.append_as_leader(run, self.epoch)
        for index, values in enumerate(many):
            assert run.header(index).base_offset == self.end
            self._note(self.end, values)

    @rule(values=VALUES)
    def append_idempotent_twice(self, values: list[bytes]) -> None:
        data = batch(values, timestamp=START_MS + self.end, producer_id=7, epoch=0, sequence=self.pid_sequence)
        first = self.log.append_as_leader(run_of(data), self.epoch)
        again = self.log.append_as_leader(run_of(data), self.epoch)
        assert again.duplicate
        assert (again.first_offset, again.last_offset) == (first.first_offset, first.last_offset)
        self.pid_sequence += len(values)
        self._note(self.end, values)

    @rule(many=st.lists(st.tuples(st.integers(0, 5), VALUES), min_size=1, max_size=4), legacy=st.booleans())
    def replicate(self, many: list[tuple[int, list[bytes]]], legacy: bool) -> None:
        parts = []
        for gap, values in many:
            first = self.end + gap
            magic = 1 if legacy else 2
            values = values[:1] if legacy else values
            parts.append(
                batch(values, timestamp=START_MS + first, base_offset=first, magic=magic, leader_epoch=self.epoch)
            )
            self._note(first, values)
        self.log.append_as_follower(bytearray(b"".join(parts)))

    @rule()
    def new_epoch(self) -> None:
        self.epoch += 1

    @rule()
    def roll(self) -> None:
        if self.log.active_segment.size:
            self.log.roll()

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        target = self.start + int((self.end - self.start) * share)
        if target == self.end:
            return
        self.log.truncate_to(target)
        base = min((self.batch_of[offset] for offset in self.model if offset >= target), default=target)
        for offset in [offset for offset in self.model if offset >= min(target, base)]:
            del self.model[offset]
        self.end = target
        self._settle_sequence()

    @rule(offset=st.integers(0, 5000))
    def restart_at(self, offset: int) -> None:
        self.log.truncate_fully_and_start_at(offset)
        self.model.clear()
        self.start = self.end = offset
        self.pid_sequence = 0

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        self.log.advance_high_watermark(self.end)
        target = self.start + int((self.end - self.start) * share)
        self.log.advance_log_start(target)
        self._start_at(target)
        self.log.delete_old_segments()

    @rule(keep=st.integers(0, 4000))
    def retain_by_size(self, keep: int) -> None:
        self.log.advance_high_watermark(self.end)
        self.log.delete_old_segments()
        self.log.update_config(
            small_config(
                segment_bytes=self.bench.config.segment_size,
                index_interval_bytes=self.bench.config.index_interval_bytes,
                segment_index_bytes=self.bench.config.segment_index_bytes,
                retention_bytes=keep,
            )
        )
        before = self.log.size
        self.log.delete_old_segments()
        self.log.update_config(self.bench.config)
        assert self.log.size >= min(keep, before)
        self._start_at(self.log.log_start_offset)
        self.bench.scheduler.run_all()

    def _start_at(self, offset: int) -> None:
        self.start = offset
        for gone in [known for known in self.model if known < offset]:
            del self.model[gone]

    @rule()
    def reopen_clean(self) -> None:
        epochs, producers = self.log.leader_epochs.entries, self._producers()
        start, end = self.log.log_start_offset, self.log.log_end_offset
        self.log.close()
        self.bench.scheduler.run_all()
        assert len(self.bench.files) == 0
        self.log = self.bench.open(log_start_offset=start, recovery_point=end)
        self._settle_end()
        if self.end == end:
            assert self.log.leader_epochs.entries == tuple(entry for entry in epochs if entry.start_offset < end)
            if start < end:  # a snapshot at or below the log's start goes
                assert self._producers() == producers
        assert self.log.recovery_point == self.end
        self._settle_sequence()

    @rule(share=st.floats(0, 1), torn=st.binary(max_size=80))
    def reopen_unclean(self, share: float, torn: bytes) -> None:
        producers = self._producers(self.start)
        start = self.log.log_start_offset
        point = int(self.end * share)
        name = self.log.active_segment.data.path
        self.log.release()
        with name.open("ab") as file:
            file.write(torn)
        self.log = self.bench.open(clean=False, recovery_point=point, log_start_offset=start)
        assert self._producers(self.start) == producers
        self._settle_end()
        self._settle_sequence()

    def _settle_end(self) -> None:
        """The cut that a truncation made inside a batch is not on disk: a start finds the last batch's end."""
        assert max(self.model, default=self.start - 1) < self.log.log_end_offset <= self.end
        self.end = self.log.log_end_offset

    def _settle_sequence(self) -> None:
        entry = self.log.producers.entries.get(7)
        self.pid_sequence = entry.last_sequence + 1 if entry is not None and entry.last_sequence >= 0 else 0

    def _producers(self, start: int = -1) -> dict[int, tuple[int, int, int]]:
        """The producers that have a record at or behind `start`."""
        return {
            pid: (entry.epoch, entry.last_sequence, entry.last_offset)
            for pid, entry in self.log.producers.entries.items()
            if entry.last_offset >= start
        }

    # ---- what must hold

    @invariant()
    def same_records(self) -> None:
        if not hasattr(self, "log"):
            return
        assert self.log.log_start_offset == self.start
        if self.model:
            assert self.log.log_end_offset == self.end
        found = {record.offset: record.value for record in records_of(self.log)}
        assert found == self.model
        assert len(self.bench.files) <= self.bench.files.limit
        for segment in self.log.segments:
            segment.offset_index.check()
            segment.time_index.check()

    @precondition(lambda self: bool(self.model))
    @rule(share=st.floats(0, 1), size=st.integers(1, 500), bound=st.floats(0, 1))
    def read_somewhere(self, share: float, size: int, bound: float) -> None:
        offset = self.start + int((self.end - self.start) * share)
        upper = self.start + int((self.end - self.start) * bound)
        upper = self.batch_of.get(upper, upper) if upper in self.model else upper
        result = self.log.read(offset, size, upper_bound=upper)
        expected = [known for known in sorted(self.model) if offset <= known < upper]
        if result.slice is None:
            assert not expected
            return
        data = result.slice.read()
        result.slice.release()
        got = [record for part in iter_batches(data) for record in part.records() if record.offset >= offset]
        offsets = [record.offset for record in got]
        assert offsets == expected[: len(offsets)]
        assert offsets or not expected
        assert len(data) <= max(size, 2000)

    @precondition(lambda self: bool(self.model))
    @rule(share=st.floats(0, 1))
    def find_time(self, share: float) -> None:
        timestamp = START_MS + self.start + int((self.end - self.start) * share)
        found = self.log.offset_for_timestamp(timestamp)
        if found is not None:
            assert found.offset in self.model
            assert found.timestamp >= timestamp

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.release()
            assert len(self.bench.files) == 0
        shutil.rmtree(self.path)


TestLogAndModel = LogAndModel.TestCase
TestLogAndModel.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
