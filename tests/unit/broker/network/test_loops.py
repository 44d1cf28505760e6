"""Connections need uvloop, and whoever brings another loop is told how to start."""

from __future__ import annotations

import asyncio

import pytest
import uvloop

from tidelog.broker.network.loops import refuse_other_loops
from tidelog.common.errors import UsageError
from tidelog.testing.loop import VirtualLoop


async def ask() -> None:
    refuse_other_loops()


def test_uvloop_is_taken() -> None:
    uvloop.run(ask())


@pytest.mark.parametrize("loop_factory", [None, VirtualLoop])
def test_any_other_is_refused(loop_factory: type[VirtualLoop] | None) -> None:
    with (
        asyncio.Runner(loop_factory=loop_factory) as runner,
        pytest.raises(UsageError, match=r"uvloop\.run\(main\(\)\)"),
    ):
        runner.run(ask())
