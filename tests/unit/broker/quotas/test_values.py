"""Quotas and their values: what is refused, what a change leaves, what is read back."""

from __future__ import annotations

import math

import pytest

from tidelog.broker.quotas.values import check_changes, numbers, plan_quotas
from tidelog.common.errors import ErrorCode, KafkaError


@pytest.mark.parametrize(
    ("entity", "key", "value"),
    [
        ({"user": "u"}, "connection_creation_rate", 1.0),
        ({"ip": None}, "producer_byte_rate", 1.0),
        ({"user": "u"}, "unheard_of", None),
        ({"user": "u"}, "producer_byte_rate", 0.0),
        ({"user": "u"}, "producer_byte_rate", 1.5),
        ({"user": "u"}, "request_percentage", math.inf),
        ({"user": "u"}, "request_percentage", math.nan),
    ],
)
def test_what_is_refused(entity, key, value):
    with pytest.raises(KafkaError) as caught:
        check_changes(entity, {key: value})
    assert caught.value.code is ErrorCode.INVALID_REQUEST


def test_a_change_keeps_what_it_does_not_name():
    changes = {"request_percentage": 1.5, "consumer_byte_rate": None}
    check_changes({"user": "u"}, changes)
    stored = {"producer_byte_rate": "7", "consumer_byte_rate": "8", "SCRAM-SHA-256": "salt=…"}
    planned = plan_quotas(stored, changes)
    assert planned == {"producer_byte_rate": "7", "SCRAM-SHA-256": "salt=…", "request_percentage": "1.5"}
    assert numbers("/config/users/u", planned | {"bad": "x"}) == {"producer_byte_rate": 7.0, "request_percentage": 1.5}
