"""Which names a topic may have."""

from __future__ import annotations

import pytest

from tidelog.broker.metadata.names import check_collision, check_topic_name, is_valid_topic_name
from tidelog.common.errors import ErrorCode, KafkaError


@pytest.mark.parametrize("name", ["a", "A-b_c.d", "0", "x" * 249])
def test_good_names(name):
    assert is_valid_topic_name(name)
    check_topic_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "a b", "a/b", "ä", "a\n"])
def test_bad_names(name):
    assert not is_valid_topic_name(name)
    with pytest.raises(KafkaError) as caught:
        check_topic_name(name)
    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_names_that_differ_in_dots_and_underscores_only_collide():
    check_collision("a.b", ["a-b", "a.b"])
    with pytest.raises(KafkaError, match="collides with existing topic: a_b"):
        check_collision("a.b", ["x", "a_b"])
