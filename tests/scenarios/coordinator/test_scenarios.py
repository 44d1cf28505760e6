"""Every scenario file does what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenarios.coordinator.driver import play

FILES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_scenario(path: Path, request: pytest.FixtureRequest) -> None:
    actual = play(path)
    if request.config.getoption("--rewrite"):
        path.write_text(actual)
    assert actual == path.read_text()


def test_there_are_scenarios() -> None:
    assert len(FILES) >= 10
