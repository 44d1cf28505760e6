"""What a clean stop vouches for is on the disk, name by name and byte by byte: a power loss right after it changes
nothing.

`test_crash_points.py` cuts at every operation and looks at what a log makes of the rest, which can make up for a lot
(an index is built anew, a snapshot replaced by an older one and a longer replay). Here nothing may be made up for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.crash import Scenario
from support.managed_logs import append, end_transaction
from tidelog.log.config import LogConfig
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.testing.fs import Survival

SEGMENTS = LogConfig.from_topic({"internal.segment.bytes": 300, "segment.index.bytes": 120, "index.interval.bytes": 64})


def nothing(log: PartitionLog) -> None:
    """The names alone: they were made, and that is all there is."""


def plain(log: PartitionLog) -> None:
    for number in range(6):
        append(log, [(b"%d" % number, b"x" * 60)])


def transactions(log: PartitionLog) -> None:
    """One is aborted: its segment gets a `.txnindex`; every roll leaves a producer snapshot."""
    for number in range(4):
        append(log, [(b"%d" % number, b"x" * 60)], producer_id=1, sequence=number, transactional=True)
        end_transaction(log, 1, committed=number % 2 == 0)


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def check_nothing_is_lost(scenario: Scenario, scratch: Path, but: tuple[str, ...] = ()) -> None:
    """The strictest disk: what was not synced is gone. Files that end with `but` may have other bytes."""
    *_, last = scenario.fs.crashes()
    last.materialise(Survival.SYNCED, scratch)
    expected, found = tree(scenario.root), tree(scratch)
    assert sorted(found) == sorted(expected)
    assert {name for name in found if found[name] != expected[name] and not name.endswith(but)} == set()


@pytest.mark.parametrize("write", [plain, transactions])
def test_a_stop(tmp_path: Path, write: Callable[[PartitionLog], None]) -> None:
    scenario = Scenario(tmp_path / "disk", SEGMENTS)
    write(scenario.log)
    assert len(scenario.log.segments) > 2
    scenario.stop()
    check_nothing_is_lost(scenario, tmp_path / "found")


@pytest.mark.parametrize("write", [nothing, plain, transactions])
@pytest.mark.parametrize("then", ["killed", "flushed and killed", "flushed, rolled and killed"])
def test_a_stop_after_a_kill(tmp_path: Path, write: Callable[[PartitionLog], None], then: str) -> None:
    """What the recovery has found was in the page cache, perhaps nowhere else."""
    scenario = Scenario(tmp_path / "disk", SEGMENTS)
    write(scenario.log)
    if "flushed" in then:
        scenario.flush()
        scenario.manager.checkpoint()
    may_differ: tuple[str, ...] = ()
    if "rolled" in then:  # the snapshot of the producers is new, and nothing has to be replayed over it
        scenario.log.roll()
        may_differ = (".index", ".timeindex")  # cut behind the recovery point: a start notices that they are not
    scenario.kill()
    scenario.stop()
    check_nothing_is_lost(scenario, tmp_path / "found", may_differ)


def test_a_flush_vouches_for_the_name_of_a_first_aborted_transaction(tmp_path: Path) -> None:
    """The segment's other files had their names synced long ago."""
    scenario = Scenario(tmp_path / "disk", LogConfig.from_topic({}))
    append(scenario.log, [(b"a", b"x")], producer_id=1, sequence=0, transactional=True)
    scenario.flush()
    assert not scenario.log.home.unsynced
    end_transaction(scenario.log, 1, committed=False)
    scenario.flush()
    *_, last = scenario.fs.crashes()
    last.materialise(Survival.SYNCED, tmp_path / "found")
    expected, found = tree(scenario.root), tree(tmp_path / "found")
    (name,) = (name for name in expected if name.endswith(".txnindex"))
    assert found[name] == expected[name]
