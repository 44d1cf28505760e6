"""What the broker serves: one row per API, in key order. The table is the coverage map.

A handler is a function `handle(ctx: RequestContext, request) -> response | None`, plain or `async`. Its module is
imported when the first request of its kind arrives, so that a broker starts without them. `None` means that the
request has no answer (Produce with acks=0).

ApiVersions advertises exactly these rows: a row is added when its handler fully serves every version that it names.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, NamedTuple

from tidelog.broker.handlers.context import RequestContext
from tidelog.protocol.api import ApiKey

HandlerFunction = Callable[[RequestContext, Any], "Awaitable[Any] | Any"]


class Handler(NamedTuple):
    key: ApiKey
    min_version: int
    max_version: int
    target: str
    """`module:function`, the module relative to this package (absolute when it begins with `tidelog.`)."""


HANDLERS: tuple[Handler, ...] = (
    Handler(ApiKey.PRODUCE, 0, 13, "produce:handle"),
    Handler(ApiKey.FETCH, 0, 18, "fetch:handle"),
    Handler(ApiKey.LIST_OFFSETS, 0, 11, "list_offsets:handle"),
    Handler(ApiKey.API_VERSIONS, 0, 4, "api_versions:handle"),
    Handler(ApiKey.DELETE_RECORDS, 0, 2, "delete_records:handle"),
    Handler(ApiKey.OFFSET_FOR_LEADER_EPOCH, 0, 4, "offset_for_leader_epoch:handle"),
    Handler(ApiKey.DESCRIBE_PRODUCERS, 0, 0, "describe_producers:handle"),
)


@cache
def handler_for(key: int) -> Handler | None:
    """The row that serves an API key."""
    return next((row for row in HANDLERS if row.key == key), None)


@cache
def load(target: str) -> HandlerFunction:
    """The function that a row names."""
    module, _, name = target.partition(":")
    path = module if module.startswith("tidelog.") else f"{__name__}.{module}"
    function: HandlerFunction = getattr(importlib.import_module(path), name)
    return function
