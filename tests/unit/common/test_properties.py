"""Properties files, as Java reads and writes them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.common.properties import parse_properties, render_properties


def test_properties_as_java_writes_them() -> None:
    text = "# comment\n! another\n a = b\nc:d\ne f\nlong=one,\\\n   two\nuni=\\u00e9\nempty=\nlast=x\nlast=y"
    assert parse_properties(text) == {
        "a": "b", "c": "d", "e": "f", "long": "one,two", "uni": "é", "empty": "", "last": "y",
    }  # fmt: skip


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=5))
def test_properties_round_trip(values: dict[str, str]) -> None:
    assert parse_properties(render_properties(values, "comment")) == values
