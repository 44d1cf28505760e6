"""Which event loops can carry connections. Small, because it is asked before anything else is imported or opened."""

from __future__ import annotations

import asyncio

from tidelog.common.errors import UsageError


def refuse_other_loops() -> None:
    """Raise UsageError unless the running loop is uvloop's.

    Connections are compiled classes: uvloop asks what they can do, asyncio's own loop which class they inherit from.
    Only the network cares: everything below it runs on any loop (`tidelog.testing.loop` has one with virtual time).
    """
    import uvloop

    loop = asyncio.get_running_loop()
    if not isinstance(loop, uvloop.Loop):
        raise UsageError(
            f"A broker runs on uvloop only, and this event loop is {type(loop).__qualname__}: "
            "start it by uvloop.run(main()), not asyncio.run(main())"
        )
