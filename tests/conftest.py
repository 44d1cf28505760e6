"""Rules for every test: Java-dependent ones skip loudly (and fail under CI) where Java is missing."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, settings

from support.kafka import require_java

#: How long an example takes on a busy machine says nothing about the property. The short forms try the same examples
#: each time, so that a change is judged by what it changes; the long ones look for new ones.
settings.register_profile("repeatable", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.register_profile("searching", settings.get_profile("repeatable"), derandomize=False)


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell's background job is born deaf to Ctrl-C, and so would be every program that a test starts.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("searching" if config.getoption("--soak") else "repeatable")


@pytest.fixture(autouse=True)
def _java_is_there(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("java"):
        require_java()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="rewrite the expected output of scenario files")
    parser.addoption("--soak", action="store_true", help="run the long forms (make soak)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--soak"):
        return
    skip = pytest.mark.skip(reason="long form: make soak")
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(skip)
