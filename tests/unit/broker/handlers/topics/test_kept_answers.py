"""Encoded answers: right for one state of the cache, and for who may see the same."""

from __future__ import annotations

from tidelog.broker.handlers.encoded import EncodedBody
from tidelog.broker.handlers.topics.kept_answers import MAX_KEPT, AnswerKey, KeptAnswers
from tidelog.broker.requests._session import EVERYTHING, View

ASKED = AnswerKey(12, "PLAINTEXT", EVERYTHING, ("t",), False)


def test_an_answer_is_given_to_those_who_ask_the_same_until_something_changes() -> None:
    kept, body = KeptAnswers(), EncodedBody(b"bytes")
    assert kept.get(1, ASKED) is None
    kept.keep(1, ASKED, body)
    assert kept.get(1, ASKED) is body
    for other in (
        ASKED._replace(version=11),
        ASKED._replace(listener="SSL"),
        ASKED._replace(view=View("everything")),
        ASKED._replace(names=None),
        ASKED._replace(operations=True),
    ):
        assert kept.get(1, other) is None
    assert kept.get(2, ASKED) is None
    assert kept.get(1, ASKED) is None


def test_an_answer_that_was_built_while_the_cache_moved_on_is_for_its_asker_alone() -> None:
    kept = KeptAnswers()
    kept.get(1, ASKED)
    kept.get(2, ASKED)
    kept.keep(1, ASKED, EncodedBody(b"of version 1"))
    assert kept.get(2, ASKED) is None


def test_names_are_anybodys_choice_and_few_are_kept() -> None:
    kept = KeptAnswers()
    kept.get(1, ASKED)
    for number in range(2 * MAX_KEPT):
        kept.keep(1, ASKED._replace(names=(str(number),)), EncodedBody(b""))
    assert len(kept.answers) == MAX_KEPT
