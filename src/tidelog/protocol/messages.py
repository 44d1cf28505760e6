"""Every message of the wire and of Kafka's internal files, by name (`tidelog.protocol.messages.ProduceRequest`).

Nothing is read until a name is asked for: then the one schema file that declares it is parsed, and the classes of that
file appear here. The types are in `messages.pyi`, which `tools/render_messages.py` renders from the schemas.
"""

from __future__ import annotations

import os
from typing import Any

from tidelog.protocol._catalog import MESSAGE_FILES
from tidelog.protocol.message import Message, Structure, message_class
from tidelog.protocol.parser import parse

__all__ = ["Message", "Structure", *MESSAGE_FILES]


def __getattr__(name: str) -> Any:
    path = MESSAGE_FILES.get(name)
    if path is None:
        raise AttributeError(f"module {__name__!r} has no message {name!r}")
    data = __spec__.loader.get_data(os.path.join(os.path.dirname(__file__), "schemas", path))  # also from a zip file
    for schema in parse(data.decode(), path).messages:
        globals().setdefault(schema.name, message_class(schema, __name__))  # two threads may race: the first wins
    return globals()[name]


def __dir__() -> list[str]:
    return __all__
