"""Seeded faults: each of these small changes to the code must turn a test red, and the right one.

    python tools/mutants.py                # all
    python tools/mutants.py index lso      # those whose name contains a word
    python tools/mutants.py --from 70      # go on with the 70th; --to ends with one
    python tools/mutants.py --jobs 2       # two at a time, each in a copy of its own

The faults are put, one at a time, into a copy of the source tree; the tests that guard that place run against the
copy, up to the first that fails. It is printed with the first line of its error: read it. A fault is

- killed, when a test fails with it and passes, alone, without it. A test that hangs ("timed out") or takes the process
  with it ("crashed") must do so twice, the second time alone, since a busy machine can do that as well;
- SUSPICIOUS, when it is not so, or when the test could not even be loaded, or fell over a name that is not there: the
  fault is badly written then, and shows nothing;
- SURVIVED, when all its tests pass.

The exit status is 1 unless all are killed. A compiled module is built anew in the copy, so the faults in the kernel
take longer. The lists are in `mutants_of_*.py`, by subject.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from mutant import Mutant
from mutant_tree import ROOT, Ending, Failure, Tree
from mutants_of_bad_moments import BAD_MOMENTS
from mutants_of_clients import CLIENTS
from mutants_of_control import CONTROL
from mutants_of_disks import DISKS
from mutants_of_durability import DURABILITY
from mutants_of_formats import FORMATS
from mutants_of_groups import GROUPS
from mutants_of_logs import LOGS
from mutants_of_reading import READING
from mutants_of_requests import REQUESTS
from mutants_of_spark import SPARK
from mutants_of_tools import TOOLS

MUTANTS = [
    *CONTROL,
    *GROUPS,
    *DURABILITY,
    *DISKS,
    *LOGS,
    *FORMATS,
    *REQUESTS,
    *CLIENTS,
    *BAD_MOMENTS,
    *READING,
    *SPARK,
    *TOOLS,
]


def misplaced(source: Path) -> list[str]:
    """The faults whose place in the code, or whose guarding tests, are not there."""
    tests = ROOT / "tests"
    return [
        mutant.name
        for mutant in MUTANTS
        if mutant.misplaced((source / mutant.file).read_text())
        or not all((tests / name.partition("::")[0]).exists() for name in mutant.tests.split())
    ]


class Trials:
    """Tries faults in some trees, each of which holds one at a time."""

    def __init__(self, trees: list[Tree]) -> None:
        self._trees: SimpleQueue[Tree] = SimpleQueue()
        for tree in trees:
            self._trees.put(tree)
        self._alone: dict[str, Failure | None] = {}  # tests that were run by themselves without a fault

    def verdict(self, mutant: Mutant) -> tuple[str, str]:
        """Whether it is killed, and by what."""
        tree = self._trees.get()
        try:
            return self._verdict(tree, mutant)
        finally:
            self._trees.put(tree)

    def _verdict(self, tree: Tree, mutant: Mutant) -> tuple[str, str]:
        with tree.planted(mutant):
            failure = tree.first_failure(mutant.tests.split())
            if failure is None:
                return "SURVIVED", mutant.tests
            again = failure if failure.ending is Ending.FAILED else tree.first_failure([failure.test])
        if failure.ending is Ending.DID_NOT_RUN:
            return "SUSPICIOUS", str(failure)
        if again is None:
            return "SUSPICIOUS", f"{failure}; passes alone with the fault"
        if failure.test not in self._alone:
            self._alone[failure.test] = tree.first_failure([failure.test])
        if (sound := self._alone[failure.test]) is not None:
            return "SUSPICIOUS", f"{failure}; fails without the fault too: {sound.error}"
        return "killed", str(failure)


def main() -> None:
    arguments = argparse.ArgumentParser(description="Put seeded faults into the code and see that tests notice them.")
    arguments.add_argument("words", nargs="*", help="only faults whose name contains one of these")
    arguments.add_argument("--from", type=int, default=1, dest="first", metavar="N", help="go on with the Nth of them")
    arguments.add_argument("--to", type=int, default=None, dest="last", metavar="N", help="end with the Nth of them")
    arguments.add_argument("--jobs", type=int, default=1, help="how many are tried at the same time")
    arguments.add_argument("--time-limit", type=int, default=180, help="seconds after which a test counts as hanging")
    given = arguments.parse_args()
    if lost := misplaced(ROOT / "src" / "tidelog"):
        sys.exit(f"not in their places in the code any more: {', '.join(lost)}; bring these faults up to date")
    chosen = [mutant for mutant in MUTANTS if not given.words or any(word in mutant.name for word in given.words)]
    counts: Counter[str] = Counter()

    def attempt(numbered: tuple[int, Mutant]) -> None:
        number, mutant = numbered
        started = time.monotonic()
        verdict, why = trials.verdict(mutant)
        counts[verdict] += 1
        took = f"{time.monotonic() - started:.0f} s"
        print(f"[{number:3d}/{len(chosen)}] {verdict:10s} {mutant.name} ({took})\n          {why}", flush=True)

    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(given.jobs) as threads:
        trials = Trials([Tree(Path(scratch) / str(number), given.time_limit) for number in range(given.jobs)])
        list(threads.map(attempt, list(enumerate(chosen, 1))[given.first - 1 : given.last]))
    failed = counts["SURVIVED"] + counts["SUSPICIOUS"]
    print(f"{counts['killed']} killed, {counts['SUSPICIOUS']} suspicious, {counts['SURVIVED']} survived")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
