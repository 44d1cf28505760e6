"""The one set of broker keys, and the short forms in which the modules beside this one declare them.

A declaration says everything about its key: `integer("num.partitions", 1, at_least(1), doc="…")`. Names, types,
defaults and limits are those of Apache Kafka 4.x; keys that only 3.9 knows (ZooKeeper mode among them) are declared
too, so that any `server.properties` is understood.
"""

from __future__ import annotations

import sys
from typing import TypeVar

from tidelog.common.config import ConfigDef, Key, Type, Update, Validator

BROKER_KEYS = ConfigDef("Broker")

PER_BROKER = Update.PER_BROKER
CLUSTER_WIDE = Update.CLUSTER_WIDE
MAX_DOUBLE = sys.float_info.max

GZIP_LEVEL = Validator(lambda value: value == -1 or 1 <= value <= 9, "Value must be between 1 and 9, or equal to -1")

_I = TypeVar("_I", int, int | None)
_S = TypeVar("_S", str, str | None)
_L = TypeVar("_L", list[str], list[str] | None)


def one_of_any_case(*choices: str) -> Validator:
    lowered = {choice.lower() for choice in choices}
    return Validator(
        lambda value: value.lower() in lowered, f"String must be one of (case insensitive): {', '.join(choices)}"
    )


def integer(
    name: str, default: _I, validator: Validator | None = None, *, update: Update = Update.READ_ONLY, doc: str
) -> Key[_I]:
    return BROKER_KEYS.define(name, Type.INT, default, validator, update=update, doc=doc)


def short(
    name: str, default: _I, validator: Validator | None = None, *, update: Update = Update.READ_ONLY, doc: str
) -> Key[_I]:
    return BROKER_KEYS.define(name, Type.SHORT, default, validator, update=update, doc=doc)


def long(
    name: str, default: _I, validator: Validator | None = None, *, update: Update = Update.READ_ONLY, doc: str
) -> Key[_I]:
    return BROKER_KEYS.define(name, Type.LONG, default, validator, update=update, doc=doc)


def double(
    name: str, default: float, validator: Validator | None = None, *, update: Update = Update.READ_ONLY, doc: str
) -> Key[float]:
    return BROKER_KEYS.define(name, Type.DOUBLE, default, validator, update=update, doc=doc)


def boolean(name: str, default: bool, *, update: Update = Update.READ_ONLY, doc: str) -> Key[bool]:
    return BROKER_KEYS.define(name, Type.BOOLEAN, default, update=update, doc=doc)


def string(
    name: str, default: _S, validator: Validator | None = None, *, update: Update = Update.READ_ONLY, doc: str
) -> Key[_S]:
    return BROKER_KEYS.define(name, Type.STRING, default, validator, update=update, doc=doc)


def class_name(name: str, default: _S, *, update: Update = Update.READ_ONLY, doc: str) -> Key[_S]:
    return BROKER_KEYS.define(name, Type.CLASS, default, update=update, doc=doc)


def password(name: str, default: _S, *, update: Update = Update.READ_ONLY, doc: str) -> Key[_S]:
    return BROKER_KEYS.define(name, Type.PASSWORD, default, update=update, doc=doc)


def strings(
    name: str, default: _L, validator: Validator | None = None, *, update: Update = Update.READ_ONLY, doc: str
) -> Key[_L]:
    return BROKER_KEYS.define(name, Type.LIST, default, validator, update=update, doc=doc)
