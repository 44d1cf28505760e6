"""Idempotence, fencing, sequence rules, transactions: what a partition accepts from a producer."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.logs import START_MS, batch, run_of
from tidelog.common.errors import CorruptRecordError, ErrorCode, KafkaError
from tidelog.common.fs import LOCAL_FS
from tidelog.log.append import AppendOrigin
from tidelog.log.names import snapshot_name
from tidelog.log.producers import snapshot as producer_snapshot
from tidelog.log.producers._producers import CompletedTxn, ProducerStateEntry
from tidelog.log.producers.snapshot import CorruptSnapshotError
from tidelog.log.producers.state_manager import ProducerStateManager
from tidelog.log.segment.file_budget import FileBudget
from tidelog.log.segment.home import Home
from tidelog.records.format.control import ControlType, end_txn_marker
from tidelog.testing.clock import ManualClock

MAX_SEQUENCE = 2**31 - 1


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, LOCAL_FS, ManualClock(START_MS), FileBudget(8))


@pytest.fixture
def state(home: Home) -> ProducerStateManager:
    return ProducerStateManager(home)


class Writer:
    """Appends to the state alone, at rising offsets."""

    def __init__(self, state: ProducerStateManager) -> None:
        self.state = state
        self.offset = 0

    def __call__(
        self,
        sequence: int,
        records: int = 1,
        *,
        pid: int = 1,
        epoch: int = 0,
        transactional: bool = False,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> tuple[int, int, int] | None:
        run = run_of(
            batch([b"v"] * records, base_offset=self.offset, producer_id=pid, epoch=epoch, sequence=sequence,
                  transactional=transactional)
        )  # fmt: skip
        pending = self.state.prepare(run, origin)
        if pending.duplicate is None:
            self.state.commit(pending)
            self.offset += records
            self.state.map_end_offset = self.offset
        return pending.duplicate

    def marker(
        self, kind: ControlType, *, pid: int = 1, epoch: int = 0, coordinator: int = 0,
        origin: AppendOrigin = AppendOrigin.COORDINATOR,
    ) -> list[CompletedTxn]:  # fmt: skip
        data = end_txn_marker(
            pid, epoch, committed=kind is ControlType.COMMIT, coordinator_epoch=coordinator, timestamp=START_MS,
            base_offset=self.offset,
        )  # fmt: skip
        pending = self.state.prepare(run_of(data), origin)
        self.state.commit(pending)
        for completed in pending.completed:
            self.state.complete(completed)
        self.offset += 1
        return pending.completed


@pytest.fixture
def write(state: ProducerStateManager) -> Writer:
    return Writer(state)


def refused(code: ErrorCode) -> pytest.RaisesExc[KafkaError]:
    return pytest.RaisesExc(KafkaError, check=lambda error: error.code is code)


def test_the_last_five_batches_are_recognised(write: Writer) -> None:
    for sequence in range(0, 14, 2):
        assert write(sequence, 2) is None
    for number in range(2, 7):
        assert write(number * 2, 2) == (number * 2, number * 2 + 1, START_MS + 1)
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        write(2, 2)  # the sixth last is not remembered
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        write(12, 1)  # the same first sequence, another length
    assert len(write.state.entries[1].batches) == 5


def test_sequences_follow_each_other_and_wrap(write: Writer) -> None:
    write(MAX_SEQUENCE - 1, 2)
    assert write.state.entries[1].last_sequence == MAX_SEQUENCE
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        write(1)
    write(0)
    write(1, 3)
    assert write(1, 3) is not None
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        write(5)


def test_a_batch_may_wrap_inside(write: Writer) -> None:
    write(MAX_SEQUENCE - 1, 4)
    assert write.state.entries[1].last_sequence == 1
    assert write(MAX_SEQUENCE - 1, 4) == (0, 3, START_MS + 3)
    write(2)


def test_an_unknown_producer_may_start_anywhere(write: Writer) -> None:
    write(77)
    assert write.state.entries[1].last_sequence == 77


def test_epochs(write: Writer) -> None:
    write(0, epoch=3)
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        write(1, epoch=2)
    with refused(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER):
        write(1, epoch=4)
    write(0, epoch=4)
    assert len(write.state.entries[1].batches) == 1
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        write(1, epoch=3)


def test_a_replica_takes_what_its_leader_took(write: Writer) -> None:
    write(0, epoch=3)
    write(99, epoch=3, origin=AppendOrigin.REPLICATION)
    write(5, epoch=1, origin=AppendOrigin.REPLICATION)
    assert write.state.entries[1].last_sequence == 5


def test_nothing_changes_before_commit(state: ProducerStateManager) -> None:
    pending = state.prepare(run_of(batch([b"v"], producer_id=1, epoch=0, sequence=0, transactional=True)), 1)
    assert (state.entries, state.ongoing) == ({}, {})
    assert (list(pending.entries), pending.started) == ([1], [(0, 1)])


def test_several_batches_of_a_producer_in_one_run(state: ProducerStateManager) -> None:
    parts = [batch([b"v"], base_offset=n, producer_id=1, epoch=0, sequence=n) for n in range(3)]
    state.commit(state.prepare(run_of(*parts), AppendOrigin.COORDINATOR))
    assert [entry[0] for entry in state.entries[1].batches] == [0, 1, 2]


def test_a_transaction_from_start_to_end(write: Writer) -> None:
    state = write.state
    write(0, 3, transactional=True)
    write(0, 2, pid=2, transactional=True)
    assert (state.first_unstable_offset, list(state.ongoing)) == (0, [0, 3])
    with refused(ErrorCode.INVALID_TXN_STATE):
        write(3, transactional=False)
    assert write.marker(ControlType.COMMIT) == [CompletedTxn(1, 0, 5, False)]
    assert state.first_unstable_offset == 0  # ended, but not below the high watermark yet
    state.high_watermark_moved(5)
    assert state.first_unstable_offset == 0
    state.high_watermark_moved(6)
    assert state.first_unstable_offset == 3
    done = write.marker(ControlType.ABORT, pid=2)
    assert done == [CompletedTxn(2, 3, 6, True)]
    state.high_watermark_moved(7)
    assert state.first_unstable_offset is None


def test_last_stable_offset_after(write: Writer) -> None:
    write(0, transactional=True)
    write(0, pid=2, transactional=True)
    assert write.state.last_stable_offset_after(CompletedTxn(1, 0, 2, True)) == 1
    write.marker(ControlType.ABORT, pid=2)
    assert write.state.last_stable_offset_after(CompletedTxn(1, 0, 3, True)) == 4


def test_markers(write: Writer) -> None:
    assert write.marker(ControlType.COMMIT, coordinator=5) == []  # an empty transaction
    with refused(ErrorCode.TRANSACTION_COORDINATOR_FENCED):
        write.marker(ControlType.COMMIT, coordinator=4)
    write.marker(ControlType.COMMIT, coordinator=4, origin=AppendOrigin.REPLICATION)
    write(0, epoch=2)
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        write.marker(ControlType.ABORT, epoch=1, coordinator=9)
    write.marker(ControlType.ABORT, epoch=3, coordinator=9)  # fences the older epoch
    assert (write.state.entries[1].epoch, write.state.entries[1].batches) == (3, [])
    with refused(ErrorCode.INVALID_PRODUCER_EPOCH):
        write(1, epoch=2)
    write(0, epoch=3)


def test_a_control_batch_without_a_marker_is_corrupt(state: ProducerStateManager) -> None:
    data = bytearray(batch([b""], keys=[b"\0"], producer_id=1, epoch=0))
    data[22] |= 0x20
    with pytest.raises(CorruptRecordError, match="marker"):
        state.prepare(run_of(bytes(data)), AppendOrigin.REPLICATION)


MARKER = end_txn_marker(1, 0, committed=True, coordinator_epoch=7, timestamp=START_MS)[61:]


@given(
    st.binary(max_size=40)
    | st.builds(
        lambda at, byte, end: (MARKER[:at] + bytes([byte]) + MARKER[at + 1 :])[:end],
        st.integers(0, len(MARKER) - 1), st.integers(0, 255), st.integers(0, len(MARKER)),
    )
)  # fmt: skip
@example(MARKER)
def test_any_marker_bytes_end_the_transaction_or_change_nothing(body: bytes) -> None:
    head = struct.pack(">qiibIhiqqqhii", 5, 49 + len(body), 0, 2, 0, 0x30, 0, 0, 0, 1, 0, -1, 1)
    home = Home(Path("/nowhere"), LOCAL_FS, ManualClock(), FileBudget())
    state = ProducerStateManager(home, snapshots=[])
    begun = run_of(batch([b"in it"], producer_id=1, epoch=0, sequence=0, transactional=True))
    state.commit(state.prepare(begun, AppendOrigin.REPLICATION))
    before = producer_snapshot.encode(state.entries.values())
    try:
        pending = state.prepare(run_of(head + body), AppendOrigin.REPLICATION)
    except (CorruptRecordError, KafkaError):
        assert body != MARKER
        assert producer_snapshot.encode(state.entries.values()) == before
        return
    state.commit(pending)
    for completed in pending.completed:
        assert (completed.producer_id, completed.first_offset, completed.last_offset) == (1, 0, 5)
        state.complete(completed)
    still_open = state.entries[1].txn_first_offset >= 0
    assert still_open is bool(state.ongoing) is not bool(pending.completed)
    assert not (body == MARKER and still_open)


def test_expiry(write: Writer) -> None:
    state = write.state
    write(0)
    write(0, pid=2, transactional=True)
    assert state.expire(START_MS + 86_399_999) == 0
    assert state.expire(START_MS + 86_400_000) == 1
    assert list(state.entries) == [2]  # an open transaction keeps its producer


def test_late_transactions(write: Writer) -> None:
    write(0, transactional=True)
    assert not write.state.has_late_transaction(START_MS + 1000, 1000)
    assert write.state.has_late_transaction(START_MS + 1001, 1000)


# ---- snapshots


def test_snapshot_bytes() -> None:
    entry = ProducerStateEntry(7, 2, 5, 1234, 40).with_batch(10, 44, 3, 1234)
    data = producer_snapshot.encode([entry])
    assert len(data) == 10 + 46
    assert data[:2] == b"\0\1"
    assert data[6:10] == b"\0\0\0\1"
    assert data[10:] == struct.pack(">qhiqiqiq", 7, 2, 10, 44, 3, 1234, 5, 40)
    (again,) = producer_snapshot.decode(data, "file")
    assert (again.producer_id, again.epoch, again.coordinator_epoch, again.txn_first_offset) == (7, 2, 5, 40)
    assert again.batches == [(10, 44, 3, 1234)]


def test_a_producer_without_batches() -> None:
    data = producer_snapshot.encode([ProducerStateEntry(7, 2, 5, 1234)])
    assert data[10:] == struct.pack(">qhiqiqiq", 7, 2, -1, -1, 0, 1234, 5, -1)
    assert producer_snapshot.decode(data, "file")[0].batches == []


@given(st.binary(max_size=120), st.integers(0, 55), st.integers(1, 255))
def test_corrupt_snapshots(junk: bytes, position: int, flip: int) -> None:
    with pytest.raises(CorruptSnapshotError):
        producer_snapshot.decode(junk, "file")
    good = bytearray(producer_snapshot.encode([ProducerStateEntry(7, 2, 5, 1234)]))
    good[position] ^= flip
    with pytest.raises(CorruptSnapshotError):
        producer_snapshot.decode(bytes(good), "file")
    with pytest.raises(CorruptSnapshotError):
        producer_snapshot.decode(bytes(good[:position]), "file")


def test_snapshots_are_taken_once_per_offset(home: Home, write: Writer) -> None:
    state = write.state
    assert not state.take_snapshot()
    write(0)
    write(1, transactional=True)
    assert state.take_snapshot()
    assert not state.take_snapshot()
    assert home.fs.listdir(home.path) == [snapshot_name(2)]
    again = ProducerStateManager(home)
    again.reload(0, 2, START_MS)
    assert (again.map_end_offset, again.entries[1].last_sequence, list(again.ongoing)) == (2, 1, [1])
    expired = ProducerStateManager(home, expiration_ms=0)
    expired.reload(0, 2, START_MS)
    assert list(expired.entries) == [1]  # its transaction is open


def test_the_newest_good_snapshot_within_the_log_is_loaded(home: Home, write: Writer) -> None:
    for sequence in range(4):
        write(sequence)
        write.state.take_snapshot()
    home.file(snapshot_name(3)).write_bytes(b"torn")
    state = ProducerStateManager(home)
    assert state.snapshots == [1, 2, 3, 4]
    state.reload(1, 3, START_MS)
    assert state.map_end_offset == 2
    assert state.entries[1].last_sequence == 1
    assert home.fs.listdir(home.path) == [snapshot_name(2)]
    state.restart_at(50)
    assert (home.fs.listdir(home.path), state.map_end_offset, len(state)) == ([], 50, 0)


@pytest.mark.parametrize(
    ("bases", "kept"), [([0, 2], [2, 5]), ([0, 3], [3, 5]), ([0, 2, 3], [2, 3, 5]), ([7], []), ([5], [5])]
)
def test_stray_snapshots(home: Home, bases: list[int], kept: list[int]) -> None:
    for offset in (2, 3, 4, 5):
        home.file(snapshot_name(offset)).write_bytes(producer_snapshot.encode([]))
    state = ProducerStateManager(home)
    state.remove_stray_snapshots(bases)
    assert state.snapshots == kept
    assert home.fs.listdir(home.path) == [snapshot_name(offset) for offset in kept]
