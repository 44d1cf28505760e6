"""A pytest plugin: how each test ended, line by line, in the file that `MUTANT_JOURNAL` names.

A test that takes the whole process with it (a time-out, a crash of the kernel) cannot be reported by pytest. In the
journal it is the one that began and did not end.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest


def _note(**line: str) -> None:
    with Path(os.environ["MUTANT_JOURNAL"]).open("a") as journal:
        journal.write(json.dumps(line) + "\n")


def _first_line(report: pytest.TestReport | pytest.CollectReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else report.longreprtext
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def pytest_runtest_logstart(nodeid: str) -> None:
    _note(event="began", test=nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _note(event="failed", test=report.nodeid, error=_first_line(report))


def pytest_runtest_logfinish(nodeid: str) -> None:
    _note(event="ended", test=nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        last = report.longreprtext.strip().splitlines()[-1]
        _note(event="uncollected", test=report.nodeid, error=last.removeprefix("E").strip())
