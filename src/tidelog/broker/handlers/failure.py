"""The answer to a request whose handler failed: the error, in every place where the response has room for one.

Some responses begin with an error code, others have one per topic, partition, group or resource, and it depends on the
version. So the answer is made from the schemas: where the version has a code at the top it goes there; otherwise the
response repeats what was asked for, entry by entry, down to the level that has a code. An entry of a response
stands for the entry of the request in the array of the same name or, as names differ, in the first one (`topic_data` is
answered by `responses`); what identifies it is copied by name (`ALIASES` where names differ).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tidelog.broker.handlers.records._fetch import FetchAnswer, FetchAsk, FetchedPartition
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey, response_class
from tidelog.protocol.message import Message, Structure
from tidelog.protocol.schema import Field, Struct

CODES = ("error_code", "partition_error_code")
#: Fields by which an entry of a response says whom it speaks of.
IDENTITIES = frozenset(
    {
        *("name", "topic", "topic_name", "topic_id", "index", "partition", "partition_index", "partition_id"),
        *("group_id", "key", "transactional_id", "producer_id", "user"),
        *("resource_type", "resource_name", "entity", "entity_type", "entity_name"),
    }
)
#: Field of a response → names that the request may have for the same thing.
ALIASES = {
    "partition_index": ("partition", "index"),
    "partition_id": ("partition",),
    "topic_name": ("name", "topic"),
    "user": ("name",),
}
#: What says "unknown" in an answer, where that is not the field's default.
UNKNOWN = {
    "base_offset": -1,
    "high_watermark": -1,
    "low_watermark": -1,
    "committed_offset": -1,
    "node_id": -1,
    "port": -1,
    "error_message": None,
}
#: The same for what stands beside an error of the whole response.
UNKNOWN_AT_THE_TOP: dict[ApiKey, tuple[str, Any]] = {
    ApiKey.JOIN_GROUP: ("protocol_name", None),
    ApiKey.INIT_PRODUCER_ID: ("producer_epoch", -1),
}


def _users(request: Any) -> list[Any]:
    """Users that a request changes: each is answered once, deletions first."""
    return list({entry.name: entry for entry in (*request.deletions, *request.upsertions)}.values())


#: Responses whose entries do not stand for those of one array of the request.
ASKED: dict[ApiKey, Callable[[Any], list[Any]]] = {
    ApiKey.DELETE_TOPICS: lambda request: request.topics or request.topic_names,
    ApiKey.ALTER_REPLICA_LOG_DIRS: lambda request: [topic for entry in request.dirs for topic in entry.topics],
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _users,
    ApiKey.DESCRIBE_LOG_DIRS: lambda request: [],  # an entry per directory: nobody asked for one
}


def failed(key: ApiKey, version: int, request: Any, code: ErrorCode) -> Message | FetchAnswer:
    """The answer to `request` that says `code` of everything in it.

    Kafka makes these by hand, one per request. The rule behind them is the same everywhere, so that one function does
    for all; the tables above are where Kafka's own answers differ from it.
    """
    if isinstance(request, FetchAsk):
        return _failed_fetch(request, code)
    cls = response_class(key)
    response = cls()
    if _has_code(cls._schema_, version):
        _set_code(response, cls._schema_, version, code)
        name, value = UNKNOWN_AT_THE_TOP.get(key, ("", None))
        for field in cls._schema_.fields:
            if field.name == name and (value is not None or version in field.nullable):
                setattr(response, name, value)
        return response
    asked = ASKED.get(key)
    for field in cls._schema_.fields:
        if version in field.versions and _has_room(field, version):
            entries = _counterpart(field, request, version) if asked is None else asked(request)
            setattr(response, field.name, _entries(cls, field, entries, version, code))
    return response


def _failed_fetch(request: FetchAsk, code: ErrorCode) -> FetchAnswer:
    """Before topic ids a failed Fetch names every partition."""
    answer = FetchAnswer(code, request.session_id)
    if not request.uses_ids:
        answer.topics = [
            (name or "", topic_id, [FetchedPartition(fetch.index, code) for fetch in fetches])
            for name, topic_id, fetches in request.topics
        ]
    return answer


# -- what a response has room for ----------------------------------------------------------------------------------


def _has_code(struct: Struct, version: int) -> bool:
    """Whether a structure has an error code of its own in this version."""
    return any(field.name in CODES and version in field.versions for field in struct.fields)


def _has_room(field: Field, version: int) -> bool:
    """Whether entries of this array can carry an error, themselves or further down."""
    if field.struct is None or not field.array:
        return False
    return _has_code(field.struct, version) or any(
        version in inner.versions and _has_room(inner, version) for inner in field.struct.fields
    )


def _set_code(entry: Structure, struct: Struct, version: int, code: ErrorCode) -> None:
    """Put the code in, and what says "unknown" into the fields beside it."""
    for field in struct.fields:
        if version not in field.versions:
            continue
        if field.name in CODES:
            setattr(entry, field.name, code)
        elif field.name in UNKNOWN and (UNKNOWN[field.name] is not None or version in field.nullable):
            setattr(entry, field.name, UNKNOWN[field.name])


# -- from what was asked to what is answered -----------------------------------------------------------------------


def _counterpart(field: Field, asked: Any, version: int) -> Iterable[Any]:
    """What the entries of a response's array stand for: the request's array of that name, or its first one."""
    arrays = [one for one in asked._schema_.fields if one.array and version in one.versions]
    named = [one for one in arrays if one.name == field.name]
    return getattr(asked, (named or arrays)[0].name) or () if arrays else ()


def _entries(cls: type[Message], field: Field, asked: Iterable[Any], version: int, code: ErrorCode) -> list[Structure]:
    """One entry per thing asked for, down to the level that has room for a code."""
    assert field.struct is not None
    made = cls._structs_[field.struct.name]
    out = []
    for one in asked:
        entry = made()
        _identify(cls, entry, field.struct, one, version)
        _set_code(entry, field.struct, version, code)
        if not _has_code(field.struct, version):
            for inner in field.struct.fields:
                if version in inner.versions and _has_room(inner, version):
                    below = _entries(cls, inner, _counterpart(inner, one, version), version, code)
                    setattr(entry, inner.name, below)
        out.append(entry)
    return out


def _identify(cls: type[Message], entry: Structure, struct: Struct, asked: Any, version: int) -> None:
    """Say of whom the entry speaks."""
    if not isinstance(asked, Structure):  # a name or a number: it goes to the first field of its kind
        kinds = ("string",) if isinstance(asked, str) else ("int32",)
        name = next(field.name for field in struct.fields if field.type in kinds and field.name in IDENTITIES)
        setattr(entry, name, asked)
        return
    given = {field.name for field in asked._schema_.fields if version in field.versions}
    for field in struct.fields:
        source = next((name for name in (field.name, *ALIASES.get(field.name, ())) if name in given), None)
        if field.name not in IDENTITIES or version not in field.versions or source is None:
            continue
        value = getattr(asked, source)
        if value is None and version not in field.nullable:
            continue
        if field.struct is not None and field.array:
            value = [_copy(cls, field.struct, one, version) for one in value]
        setattr(entry, field.name, value)


def _copy(cls: type[Message], struct: Struct, asked: Any, version: int) -> Structure:
    """A structure of the response that repeats one of the request: the parts of a quota's entity."""
    made = cls._structs_[struct.name]()
    _identify(cls, made, struct, asked, version)
    return made
