"""Whom a quota is for: the node of each kind of entity, and what is none."""

from __future__ import annotations

import pytest

from tidelog.broker.quotas.entities import entity_path
from tidelog.common.errors import ErrorCode, KafkaError


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        ({"user": "CN=a b"}, "/config/users/CN%3Da%20b"),
        ({"user": None}, "/config/users/<default>"),
        ({"client-id": "c"}, "/config/clients/c"),
        ({"client-id": None, "user": "u"}, "/config/users/u/clients/<default>"),
        ({"ip": "::1"}, "/config/ips/%3A%3A1"),
    ],
)
def test_every_entity_has_one_node(entity, path):
    assert entity_path(entity) == path


@pytest.mark.parametrize(
    "entity", [{}, {"user": ""}, {"ip": "localhost"}, {"ip": "::1", "user": "u"}, {"group": "g"}], ids=str
)
def test_what_is_no_entity(entity):
    with pytest.raises(KafkaError) as caught:
        entity_path(entity)
    assert caught.value.code is ErrorCode.INVALID_REQUEST
