"""Config nodes of the store: of topics, brokers, groups, users, clients, addresses and client metrics.

Each change is one step of the controller: read what is stored, decide what it shall be (a pure function of that), write
it by the version that was read, tell of it, apply it. Nothing comes in between, and nothing is written that was not
checked against what it replaces.

How others learn of it is Kafka's way: beside the change, in the same write, a note with the entity's path is made under
`/config/changes`, numbered by the store. Brokers watch that one node instead of a node per topic, and read again what
the notes name. A note says nothing of the values, so one that is read twice or late does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.loading import readable_config
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import Create, Delete, Operation, SetData, Stat, Store
from tidelog.broker.store.tree import ancestors

Decide = Callable[[dict[str, str]], Mapping[str, str]]
"""What is stored → what shall be. Raises KafkaError, and then nothing is changed."""

Node = tuple[bytes, Stat]

#: How many notes of changes are kept: brokers that read them have done so long before.
NOTES = 10


class EntityConfigs:
    def __init__(self, changes: Changes, store: Store) -> None:
        self._changes = changes
        self._store = store

    async def change(
        self, path: str, decide: Decide, apply: Callable[[Mapping[str, str]], None], *, validate_only: bool = False
    ) -> None:
        """Change what is set for the entity at `path`, durably and at once."""

        async def step() -> None:
            values = await self.write(path, decide, drop_empty=True, validate_only=validate_only)
            if values is not None:
                with self._changes.applying(f"The config of {path}"):
                    apply(values)

        await self._changes.run(f"configs at {path}", step)

    async def write(
        self,
        path: str,
        decide: Decide,
        *,
        also: Sequence[Operation] = (),
        drop_empty: bool = False,
        validate_only: bool = False,
    ) -> Mapping[str, str] | None:
        """Within a step: read, decide, write. Returns what is set now; None if it was only checked.

        `drop_empty`: an entity with nothing set has no node. Names of groups, users and clients are anybody's choice,
        and must not pile up.
        """
        above = list(ancestors(path))
        *parents, found = await self._store.get_many([*above, path])
        values = decide({} if found is None else readable_config(path, found[0]) or {})
        if validate_only:
            return None
        operations: list[Operation]
        if values or not drop_empty:
            data = znodes.encode_config(values)
            operations = [Create(p) for p, there in zip(above, parents, strict=True) if there is None]
            operations.append(Create(path, data) if found is None else SetData(path, data, found[1].version))
        elif found is None:
            return values
        else:
            operations = _removal(path, found, [*zip(above, parents, strict=True)])
        operations += [*also, *await self._note(path)]
        await self._store.multi(operations)
        return values

    async def _note(self, path: str) -> list[Operation]:
        """Tell whoever watches what to read again, and forget old notes."""
        notes = await self._store.children(paths.CONFIG_CHANGES)
        entity = path.removeprefix("/config/")
        return [
            *(Delete(f"{paths.CONFIG_CHANGES}/{name}") for name in notes[:-NOTES]),
            Create(f"{paths.CONFIG_CHANGES}/config_change_", znodes.encode_config_change(entity), sequential=True),
        ]


def _removal(path: str, node: Node, above: Sequence[tuple[str, Node | None]]) -> list[Operation]:
    """Take a node away, and those above it that were made for its sake; one that others lie below is emptied."""
    if node[1].children:
        return [SetData(path, znodes.encode_config({}), node[1].version)]
    operations: list[Operation] = [Delete(path, node[1].version)]
    for parent, item in reversed(above):
        if item is None or parent in paths.PERSISTENT or item[1].children > 1 or readable_config(parent, item[0]) != {}:
            break
        operations.append(Delete(parent, item[1].version))
    return operations
