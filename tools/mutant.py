"""A seeded fault: a small change to the code, and the tests that must notice it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str  # below src/tidelog
    sound: str
    broken: str
    tests: str  # folders or files below tests/, by blanks
