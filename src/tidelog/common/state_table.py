"""A state machine as a table: every transition that exists, and why, in one place per machine.

The table is the rule (a transition that is not in it raises) and the documentation
(`docs/reference/state-machines.md` is rendered from it by `tools/render_state_machines.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

S = TypeVar("S", bound=Enum)


class Row(NamedTuple, Generic[S]):
    """In `source`, when `event` happens, the machine goes to `target`."""

    source: S
    event: str
    target: S


class IllegalTransition(Exception):
    """A transition that the machine's table does not have: a bug in the machine, never a client's fault."""


class StateTable(Generic[S]):
    """The rows of one machine. A `source` of None in the diagram is the birth of the machine."""

    def __init__(self, title: str, initial: S, rows: Iterable[Row[S]], *, final: Iterable[S] = ()) -> None:
        self.title = title
        self.initial = initial
        self.rows = tuple(rows)
        self.final = frozenset(final)
        self._targets: dict[S, set[S]] = {}
        for row in self.rows:
            self._targets.setdefault(row.source, set()).add(row.target)

    def allows(self, source: S, target: S) -> bool:
        return target in self._targets.get(source, ())

    def check(self, source: S, target: S) -> S:
        """Return `target`; raise if there is no way from `source` to it. Staying is a transition, too: a row has to
        allow it.
        """
        if not self.allows(source, target):
            raise IllegalTransition(f"{self.title}: no transition from {source.value} to {target.value}")
        return target

    def states(self) -> list[S]:
        """All states of the machine's enum, in the order in which it lists them."""
        return list(type(self.initial))

    def markdown(self) -> str:
        """The page's section: a diagram and the table of transitions."""
        name = {state: "".join(part.capitalize() for part in state.name.split("_")) for state in self.states()}
        lines = [f"## {self.title}", "", "```mermaid", "stateDiagram-v2", f"    [*] --> {name[self.initial]}"]
        for row in self.rows:
            event = row.event.replace(":", ",")  # a second colon would end the label
            lines.append(f"    {name[row.source]} --> {name[row.target]}: {event}")
        lines += [f"    {name[state]} --> [*]" for state in self.states() if state in self.final]
        lines += ["```", "", "| state | when | next state |", "|---|---|---|"]
        lines += [f"| {name[row.source]} | {row.event} | {name[row.target]} |" for row in self.rows]
        return "\n".join([*lines, ""])
