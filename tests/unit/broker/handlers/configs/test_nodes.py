"""Whose configs a request asks for: a broker answers for itself alone."""

from __future__ import annotations

import pytest

from tidelog.broker.handlers.configs.nodes import check_node
from tidelog.common.errors import ErrorCode, KafkaError


def test_our_own_id_is_ours() -> None:
    check_node(3, "3")


@pytest.mark.parametrize(
    ("name", "text"),
    [("three", "Node id must be an integer, but it is: three"), ("4", "expected 3 or empty string, but received 4")],
)
def test_any_other_is_refused(name: str, text: str) -> None:
    with pytest.raises(KafkaError, match=text) as refused:
        check_node(3, name, "or empty string, ")
    assert refused.value.code is ErrorCode.INVALID_REQUEST
