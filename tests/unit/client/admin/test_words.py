"""Words that are newer than we are: they do not fail the answer that has them."""

from __future__ import annotations

import pytest

from tidelog.client.admin.acl_types import AclOperation
from tidelog.client.admin.config_values import ConfigSource, ConfigType, ValueType
from tidelog.client.admin.group_values import GroupState, GroupType
from tidelog.client.admin.transactions import TransactionState
from tidelog.client.admin.words import NumberWord, TextWord


@pytest.mark.parametrize("kind", [AclOperation, ConfigSource, ConfigType, ValueType])
def test_a_new_number_is_unknown(kind: type[NumberWord]) -> None:
    assert kind(99).name == "UNKNOWN"
    assert [kind(int(word)) for word in kind] == list(kind)


@pytest.mark.parametrize("kind", [GroupState, GroupType, TransactionState])
def test_a_new_text_is_unknown_and_its_case_does_not_matter(kind: type[TextWord]) -> None:
    assert kind("SomethingNew").name == "UNKNOWN"
    assert [kind(str(word).upper()) for word in kind] == list(kind)
