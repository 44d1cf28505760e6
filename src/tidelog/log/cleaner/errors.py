"""How a pass of the cleaner ends early."""

from __future__ import annotations


class CleaningAborted(Exception):
    """The log was truncated, moved or deleted while it was being cleaned; what was written goes."""
