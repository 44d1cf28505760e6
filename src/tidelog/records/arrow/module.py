"""pyarrow, imported when somebody needs it: it costs 150 ms and is an extra.

A broker and most commands do without its hundred megabytes; whoever needs it is told how to get it.
"""

from __future__ import annotations

from typing import Any

from tidelog.common.errors import UsageError


def require_pyarrow() -> Any:
    """The pyarrow module, or an error that says how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise UsageError("this needs pyarrow: pip install 'tidelog[arrow]'") from error
    return pyarrow
