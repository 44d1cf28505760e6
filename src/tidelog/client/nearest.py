"""What was probably meant by a name that nobody knows: topics and configs that are spelt nearly so.

Names that differ by case, or by the signs between their words, are as near as can be: `order_items` is what somebody
means who asks for `Order.Items`.
"""

from __future__ import annotations

from collections.abc import Iterable

#: How many names are offered, and how much of them must be in common with what was asked for.
_OFFERED, _LIKENESS = 3, 0.75


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """Names that are near, the nearest first."""
    from difflib import get_close_matches  # only for whoever made a mistake

    plain = {_plain(other): other for other in known}
    return [plain[found] for found in get_close_matches(_plain(name), plain, _OFFERED, _LIKENESS)]


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """`did you mean orders or order?`, or None if no name is near."""
    close = nearest(name, known)
    return f"did you mean {' or '.join(close)}?" if close else None


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
