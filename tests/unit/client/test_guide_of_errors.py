"""docs/guide/errors.md: its code runs, prints what it says, and names each stage that there is."""

from __future__ import annotations

import re

import pytest

from support.guides import GUIDES, run_guide
from tidelog.net.stages import Stage
from tidelog.testing import Broker


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_the_guide_runs(capfd: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        assert run_guide("errors", broker.address, everything=True) == 9
    printed = capfd.readouterr().out
    assert "there is no setting linger: did you mean linger_ms?" in printed
    assert "Must set acks to all to use the idempotent producer" in printed
    assert re.search(
        r"cannot connect to 127\.0\.0\.1:1 \(TCP\): Connection refused \(given up .+\)\. Is a broker run", printed
    )
    assert "timeout='500ms': a time-out is a number of seconds, as timeout=0.5" in printed
    assert "poll was not called yet: the first one connects" in printed
    assert "\nTrue\n" in printed, "a topic that was asked for is made"
    assert "not there: ordres" in printed
    assert re.search(r"made in process \d+, before the fork: make a new one in each child", printed)


def test_every_stage_is_explained() -> None:
    table = re.findall(r"^\| ([\w ]+) \| .+ \| .+ \|$", (GUIDES / "errors.md").read_text(), re.MULTILINE)
    assert [stage.value for stage in Stage if stage.value not in table] == []
