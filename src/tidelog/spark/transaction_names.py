"""The names of the sink's transactions: whose they are can be read from them, exactly (pure).

    tidelog-spark/<query>/<batch>/<partition>/<attempt>

A name is used once. A query's id may contain slashes, the three parts behind it never do: read from the right, a name
belongs to one query only. (`tidelog-spark/sales/eu/7/0/x` is of `sales/eu`; no batch of `sales` is called so.)
"""

from __future__ import annotations

import re

from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple

PREFIX = "tidelog-spark/"
#: What the id of a batch job begins with, in the place of a query's.
JOB = "job-"
_NAME = re.compile(rf"{PREFIX}(?P<query>.+)/(?P<batch>\d+)/(?P<partition>\d+)/(?P<attempt>[^/]+)")
_LONGEST_QUERY = 200


class TransactionName(NamedTuple):
    query: str
    batch: int
    partition: int
    attempt: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.query}/{self.batch}/{self.partition}/{self.attempt}"

    @staticmethod
    def parse(text: str) -> TransactionName | None:
        """What a transactional id says, or None if it is not one of ours."""
        found = _NAME.fullmatch(text)
        if found is None:
            return None
        return TransactionName(found["query"], int(found["batch"]), int(found["partition"]), found["attempt"])


def checked_query_id(text: str) -> str:
    """A user's queryId, if it can be one: it must not be mistaken for anything else among the decisions."""
    if not text or len(text) > _LONGEST_QUERY or not text.isprintable():
        raise UsageError(f"option queryId must have 1 to {_LONGEST_QUERY} printable characters, not {text!r}")
    for reserved in (JOB, PREFIX):
        if text.startswith(reserved):
            raise UsageError(f"option queryId must not begin with {reserved!r}: the sink's own names do")
    return text
