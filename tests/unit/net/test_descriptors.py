"""The last descriptors are kept for files."""

from __future__ import annotations

import resource

import pytest

from tidelog.net.descriptors import is_scarce


@pytest.mark.parametrize(
    ("limit", "last"), [(256, 191), (1024, 767), (1 << 20, (1 << 20) - 1025), (resource.RLIM_INFINITY, 1 << 30)]
)
def test_a_quarter_within_bounds(monkeypatch: pytest.MonkeyPatch, limit: int, last: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limit, limit))
    assert not is_scarce(last)
    assert is_scarce(last + 1) is (limit != resource.RLIM_INFINITY)
