"""docs/guide/consumer.md: its code runs as it stands."""

from __future__ import annotations

import pytest

from support.guides import run_guide
from tidelog.testing import Broker


def test_the_code_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        assert run_guide("consumer", broker.address, everything=False) >= 11
    shown = capsys.readouterr().out
    assert "order 99" in shown
    assert "\n40\n" in shown
    assert "True " in shown
    assert "got [TopicPartition(topic='purchases', partition=0)]" in shown
    assert "not there: purchasse" in shown
    assert "TopicPartition(topic='purchases-misspelt', partition=0)" in shown
