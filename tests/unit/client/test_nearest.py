"""Names that are near enough to be offered."""

from __future__ import annotations

import pytest

from tidelog.client.nearest import did_you_mean, nearest


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("orders", ["orders"]),
        ("ORDERS", ["orders"]),
        ("ordres", ["orders"]),
        ("order.items", ["order_items"]),
        ("orderitem", ["order_items"]),
        ("payments", []),
        ("", []),
    ],
)
def test_names_that_are_near(name: str, offered: list[str]) -> None:
    assert nearest(name, ["orders", "order_items", "audit"]) == offered


def test_how_they_are_offered() -> None:
    assert did_you_mean("order1", ["order2", "order3", "audit"]) in (
        "did you mean order2 or order3?",
        "did you mean order3 or order2?",
    )
    assert did_you_mean("order", []) is None
