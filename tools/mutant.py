"""A seeded fault: a small change to the code, and the tests that must notice it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str  # below src/tidelog
    sound: str
    broken: str
    tests: str  # below tests/, by blanks: files, or tests in them (file::test); folders only while one looks for a file

    def misplaced(self, source: str) -> bool:
        """Whether its place in the code is not there (once)."""
        return source.count(self.sound) != 1
