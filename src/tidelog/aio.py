"""The asyncio clients: `Producer`, `Consumer` and `Admin` whose calls are awaited.

    from tidelog import aio

    async with aio.Producer(bootstrap_servers="localhost:9092") as producer:
        await producer.send("greetings", b"hello")

Their sockets are on the caller's own loop, asyncio's or uvloop; there is no thread behind them. Each is imported with
its first use.
"""

from __future__ import annotations

_HOMES = {
    "Admin": "tidelog.client.admin.aio",
    "Consumer": "tidelog.client.consumer.aio",
    "Producer": "tidelog.client.producer.aio",
}


def __getattr__(name: str) -> object:
    """Import a client with its first use (PEP 562)."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tidelog.aio' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
