"""docs/guide/admin.md: its code runs, and its table names methods that are there."""

from __future__ import annotations

import re

import pytest

from support.guides import GUIDES, run_guide
from tidelog.client.admin import aio
from tidelog.client.admin.blocking import Admin
from tidelog.testing import Broker

ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) ?\|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall((GUIDES / "admin.md").read_text())


def test_the_code_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        assert run_guide("admin", broker.address, everything=False) >= 8
    printed = capsys.readouterr().out
    assert "['audits', 'returns']" in printed
    assert "No Authorizer is configured" in printed
    assert "Tidelog's brokers have none yet" in printed


def test_the_methods_of_the_table_are_there() -> None:
    named = {name for _, ours, single in rows() for name in re.findall(r"`(\w+)`", ours + single)}
    assert len(rows()) > 60
    public = {name for name in dir(Admin) if not name.startswith("_")}
    assert named == public
    assert public == {name for name in dir(aio.Admin) if not name.startswith("_")} - {"over"}
