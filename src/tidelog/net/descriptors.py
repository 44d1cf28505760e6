"""How many of the process's descriptors connections may take: anybody may open some, and logs cannot go on without.

A new descriptor gets the lowest free number, so its number tells how many there are.
"""

from __future__ import annotations

import resource

LEAST_RESERVE, LARGEST_RESERVE = 64, 1024


def is_scarce(descriptor: int) -> bool:
    """Whether a connection's new descriptor is one of those that are kept for files: a quarter, within bounds."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    reserve = min(max(LEAST_RESERVE, soft // 4), LARGEST_RESERVE)
    return soft != resource.RLIM_INFINITY and descriptor >= soft - reserve
