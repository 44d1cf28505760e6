"""Clients that were dropped without `close`: a ResourceWarning that says so, as Python's own files and sockets give.

A blocking client is a thread and sockets, a member of a group, perhaps records that are not sent yet. Nobody can end
those any more when the client itself is gone, so the client ends them when it goes: the faces have a `__del__`, and
nothing that runs in the background holds a face. It does not wait there: the garbage collector may call it anywhere,
also on the client's own thread.

The warning is for whoever looks for it: Python shows a ResourceWarning with `-W default`, `-X dev` and in tests. What a
whole program loses by it is worth a word to everybody: see `ExitNotice`.
"""

from __future__ import annotations

import atexit
import logging
import warnings
import weakref
from collections.abc import Callable

logger = logging.getLogger("tidelog.client")


def warn_unclosed(client: object, consequence: str) -> None:
    """The source lets `-X tracemalloc` tell where the client was made."""
    kind = type(client)
    block = "async with" if kind.__module__.endswith(".aio") else "with"
    text = f"unclosed {kind.__name__}: {consequence}; call close(), or use it in a `{block}` block"
    warnings.warn(text, ResourceWarning, stacklevel=3, source=client)


class ExitNotice:
    """For a producer that a program ends without closing: the log says how many records were lost by that.

    They are, as with every client of Kafka's: a batch waits for `linger.ms`, and the thread that would send it ends
    with the program. It is the first thing that goes wrong in many a script, and usually nobody is told.
    """

    def __init__(self, count: Callable[[], int]) -> None:
        """`count` is a bound method; its object is not kept alive by this."""
        self._count = weakref.WeakMethod(count)
        atexit.register(self._tell)

    def cancel(self) -> None:
        """There is nothing to be lost any more."""
        atexit.unregister(self._tell)

    def _tell(self) -> None:
        count = self._count()
        lost = 0 if count is None else count()
        if lost:
            logger.warning(
                "the program ends with %d %s not acknowledged, lost perhaps: close() the producer, or use `with`",
                lost,
                "record" if lost == 1 else "records",
            )
