"""The asyncio clients: `Producer`, `Consumer` and `Admin` whose calls are awaited.

    from tidelog import aio

    async with aio.Producer(bootstrap_servers="localhost:9092") as producer:
        await producer.send("greetings", b"hello")

Their sockets are on the caller's own loop, asyncio's or uvloop; there is no thread behind them. Each is imported with
its first use.
"""

TYPE_CHECKING = False  # for type checkers it is true; at run time nothing is imported here
if TYPE_CHECKING:
    from tidelog.client.admin.aio import Admin
    from tidelog.client.consumer.aio import Consumer
    from tidelog.client.producer.aio import Producer

__all__ = ["Admin", "Consumer", "Producer"]


def __getattr__(name: str) -> object:
    """Import a client with its first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module 'tidelog.aio' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"tidelog.client.{name.lower()}.aio"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
