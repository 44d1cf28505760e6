"""Words of the protocol: numbers and texts that brokers use for kinds, states and types.

A broker may be newer than we are, and know words that we do not. Such a one is read as UNKNOWN, so that one new word in
a list does not fail the whole answer. It cannot be sent: nobody knows what it would say.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Self


class NumberWord(IntEnum):
    """A word that the protocol writes as a number; 0 is UNKNOWN in all of Kafka's lists of them."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        return cls(0)


class TextWord(StrEnum):
    """A word that the protocol writes out. Letters may be of either case: brokers have changed their mind on that."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        found = [member for member in cls if member.value.lower() == str(value).lower()]
        return found[0] if found else cls["UNKNOWN"]
