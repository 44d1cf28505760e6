"""What came of each item of a batch: its value, or the error that it met.

A request for many things may succeed for some and fail for others, and neither must hide the other. So every call for
many answers with `Outcomes`, a dictionary from item to value or `KafkaError`:

    made = admin.create_topics([NewTopic("a"), NewTopic("b", partitions=-7)])
    made.ok             {"a": CreatedTopic(...)}
    made.failed         {"b": KafkaError(...)}
    made.of("a")        the value; raises what went wrong with this one
    made.result()       the values of all; raises if any has failed

The calls for one item, as `create_topic`, are `of` of a batch of one. A list that is gathered from every broker has no
items to hang an error on; it raises `PartialError` with what the others have said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

from tidelog.common.errors import KafkaError

K = TypeVar("K")
V = TypeVar("V")

#: What an answer says of each item.
Answers = Iterable[tuple[K, V | KafkaError]]


class Outcomes(dict[K, V | KafkaError], Generic[K, V]):
    """Item → value or KafkaError, in the order in which the items were given.

    A plain dictionary otherwise: `outcomes[item]` is the value or the error, unraised, for whoever goes through all.
    """

    @property
    def ok(self) -> dict[K, V]:
        """What succeeded."""
        return {key: found for key, found in self.items() if not isinstance(found, KafkaError)}

    @property
    def failed(self) -> dict[K, KafkaError]:
        """What did not, and why."""
        return {key: found for key, found in self.items() if isinstance(found, KafkaError)}

    def of(self, key: K) -> V:
        """This item's value; its error is raised."""
        found = self[key]
        if isinstance(found, KafkaError):
            raise found
        return found

    def result(self) -> dict[K, V]:
        """All values, if there is no error; else the first one is raised, and says how many more there are."""
        failed = list(self.failed.values())
        if not failed:
            return self.ok
        if len(failed) > 1:
            failed[0].add_note(f"{len(failed)} of {len(self)} failed: `failed` of the outcomes has them all")
        raise failed[0]


class PartialError(KafkaError):
    """Some brokers could not be asked. `found` is what the others have said, `failed` the error of each that did not.

    The code is that of the first failure, so that it is as retriable as that.
    """

    def __init__(self, what: str, found: Any, failed: Mapping[int, KafkaError]) -> None:
        self.found = found
        self.failed = dict(failed)
        first = next(iter(failed.values()))
        brokers = ", ".join(map(str, failed))
        text = f"{what}: broker {brokers} did not answer ({first.message}); what the others said is in `found`"
        super().__init__(first.code, text)
