"""Every handler gets the services of its room: the table, which mypy cannot follow, is held to the annotations."""

from __future__ import annotations

import inspect

import pytest

from tidelog.broker.handlers import HANDLERS, Handler, load

SERVICES = {
    "records": "RecordServices",
    "groups": "GroupServices",
    "transactions": "TransactionServices",
    "topics": "TopicServices",
    "configs": "ConfigServices",
    "cluster": "ClusterServices",
    "security": "SecurityServices",
}


@pytest.mark.parametrize("row", HANDLERS, ids=lambda row: row.key.name)
def test_a_handler_takes_what_the_dispatcher_gives(row: Handler) -> None:
    given = inspect.signature(load(row.target)).parameters
    assert list(given) == ["services", "ctx", "request"]
    assert [given[name].annotation for name in ("services", "ctx")] == [SERVICES[row.room], "RequestContext"]


def test_a_stepped_handler_is_a_coroutine() -> None:
    assert [row.key.name for row in HANDLERS if row.stepped and not inspect.iscoroutinefunction(load(row.target))] == []


def test_a_rooms_services_are_made_once(broker) -> None:
    services = broker.server.services
    for room, name in SERVICES.items():
        assert type(services.of(room)).__name__ == name
        assert services.of(room) is services.of(room)
