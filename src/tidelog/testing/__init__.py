"""Doubles for tests, shipped with Tidelog: a broker in the test's process, and disks and clocks that do as told.

from tidelog.testing import Broker      # or the pytest fixture `tidelog`

broker.py           a real broker on a thread of its own
pytest_plugin.py    the `tidelog` fixture
clock.py            a clock that is moved by hand, and one that shows a loop's time
loop.py             an event loop with virtual time and without threads: hours in a second, the same ones each time
fs.py fs_hooks.py crash_disk.py survival.py     disks that record, fail, or forget what was not synced
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.testing.broker import Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> Any:
    """`Broker` is imported when it is asked for: the plugin is loaded with every pytest run."""
    if name == "Broker":
        from tidelog.testing.broker import Broker

        return Broker
    raise AttributeError(name)
