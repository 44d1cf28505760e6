"""The seam to randomness: whoever needs chance is handed an `Rng`, so that a simulation can replay it."""

from __future__ import annotations

import random

Rng = random.Random


def system_rng() -> Rng:
    """Unpredictable randomness from the operating system."""
    return random.SystemRandom()


def seeded_rng(seed: int) -> Rng:
    """Repeatable randomness for tests and simulation."""
    return random.Random(seed)
