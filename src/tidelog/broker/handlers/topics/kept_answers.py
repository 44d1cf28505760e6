"""Answers of Metadata that are kept encoded: the same bytes go to every client until something changes.

A cluster of some thousand partitions has answers of a hundred kilobytes, and each of its clients asks for one every
five minutes (`metadata.max.age.ms`) and after every move of a leader, all at the same time. The cache of the metadata
counts its changes; an answer is right for one count and is dropped with the next.
"""

from __future__ import annotations

from tidelog.broker.handlers.encoded import EncodedBody
from tidelog.broker.requests._session import View
from tidelog.common.named_tuple import NamedTuple

#: More different questions than this are not remembered: names in a request are anybody's choice.
MAX_KEPT = 64


class AnswerKey(NamedTuple):
    """Everything that an answer depends on besides the cache."""

    version: int
    listener: str
    view: View
    names: tuple[str, ...] | None
    operations: bool


class KeptAnswers:
    """Encoded answers of one version of the metadata cache. All go at once with the first question after a change:
    there is nothing to be gained by knowing which of them it touched.
    """

    def __init__(self) -> None:
        self.version = -1
        self.answers: dict[AnswerKey, EncodedBody] = {}

    def get(self, version: int, asked: AnswerKey) -> EncodedBody | None:
        if version != self.version:
            self.version = version
            self.answers.clear()
        return self.answers.get(asked)

    def keep(self, version: int, asked: AnswerKey, body: EncodedBody) -> None:
        """Unless the cache has moved on while the answer was built: then it is right for the one who asked alone."""
        if version == self.version and len(self.answers) < MAX_KEPT:
            self.answers[asked] = body
