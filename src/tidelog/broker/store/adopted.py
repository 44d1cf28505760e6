"""What was taken over from an Apache Kafka, written down in the store: `/tidelog/adopted`.

Kafka may serve the directories again, and they may come back. What it changed meanwhile is the difference between its
metadata log then, which is noted here, and now; what was changed here is not in either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import Create, Operation, SetData, Store
from tidelog.common.named_tuple import NamedTuple

VERSION = 2


class Note(NamedTuple):
    """`log` names the files of the metadata log that was read, with their sizes; "" where there was none."""

    #: Topics whose configs nobody knows.
    unknown: Sequence[str] = ()
    log: str = ""
    #: Kafka's topics and their ids, as text.
    topics: Mapping[str, str] = MappingProxyType({})
    #: Node of the store → the values that Kafka had for it.
    configs: Mapping[str, Mapping[str, str]] = MappingProxyType({})
    version: int = VERSION


async def read_note(store: Store) -> Note | None:
    """The note of the last adoption; None when nothing has ever been adopted."""
    found = (await store.get_many([paths.ADOPTED]))[0]
    if found is None:
        return None
    values = znodes.decode_json(paths.ADOPTED, found[0])
    return Note(
        values["unknown_configs"],
        values.get("metadata_log", ""),
        values.get("topics", {}),
        values.get("configs", {}),
        values["version"],
    )


async def note_operations(store: Store, note: Note) -> list[Operation]:
    data = znodes.encode_json(
        {
            "version": VERSION,
            "unknown_configs": sorted(note.unknown),
            "metadata_log": note.log,
            "topics": dict(note.topics),
            "configs": {path: dict(values) for path, values in note.configs.items()},
        }
    )
    if await store.exists(paths.ADOPTED) is not None:
        return [SetData(paths.ADOPTED, data)]
    parent = paths.ADOPTED.rpartition("/")[0]
    parents = [] if await store.exists(parent) is not None else [Create(parent)]
    return [*parents, Create(paths.ADOPTED, data)]


async def forget_unknown(store: Store, topic: str) -> list[Operation]:
    """What a change of a topic's configs writes along: somebody has set them, so they are known from now on.

    The controller adds these operations to those of the change itself: both happen or none. Without that, a crash in
    between would leave a topic that is configured and guarded, or worse, one that is neither.
    """
    note = await read_note(store)
    if note is None or topic not in note.unknown:
        return []
    return await note_operations(store, note._replace(unknown=[name for name in note.unknown if name != topic]))
