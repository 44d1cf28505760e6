"""docs/guide/producer.md: its code runs as it stands there."""

from __future__ import annotations

import pytest

from support.guides import run_guide
from tidelog.testing import Broker


def test_the_code_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        assert run_guide("producer", broker.address, everything=False) == 8
    printed = capsys.readouterr().out
    assert "2 rows" in printed
    assert "written" in printed
