"""What a schema file says, as values.

A message is a tree of structs. The root struct belongs to a range of versions; every field belongs to a sub-range of
it, and says in which of those it may be null. From a *flexible* version on (Kafka's KIP-482) lengths are unsigned
varints of length + 1 ("compact"), and each struct ends with a section of tagged fields.

Invariants that the parser establishes and the compilers rely on:

- `Field.versions` and `Field.nullable` are clipped to the versions of the message (`nullable` may be empty);
- a tagged field is tagged in all of its versions, and these are all flexible;
- `Field.struct` is set exactly when the type, or the array's element type, is a struct;
- struct names are unique within a message, and a struct that is used twice is the same object.
"""

from __future__ import annotations

from tidelog.common.named_tuple import NamedTuple

# name → (struct format, size in bytes) of the types that always take the same space
FIXED = {
    "bool": ("?", 1),
    "int8": ("b", 1),
    "int16": ("h", 2),
    "uint16": ("H", 2),
    "int32": ("i", 4),
    "uint32": ("I", 4),
    "int64": ("q", 8),
    "float64": ("d", 8),
    "uuid": ("16s", 16),
}
VARIABLE = ("string", "bytes", "records")
NO_UUID = bytes(16)


class Versions(NamedTuple):
    """An inclusive range; empty when `first > last`."""

    first: int
    last: int

    def __contains__(self, version: int) -> bool:  # type: ignore[override]  # a range of numbers, not a pair
        return self.first <= version <= self.last

    def __bool__(self) -> bool:
        return self.first <= self.last

    def clip(self, outer: Versions) -> Versions:
        """What both ranges have in common: a field that says `3+` ends with its message, and one within a struct that
        is there since version 5 begins no earlier.
        """
        return Versions(max(self.first, outer.first), min(self.last, outer.last))

    def __str__(self) -> str:
        return f"{self.first}-{self.last}" if self.first < self.last else str(self.first) if self else "none"


NO_VERSIONS = Versions(0, -1)


class Struct:
    """A name and its fields, in the order in which they are written.

    Fields are added after the object was made, because a struct may be declared before its fields are read, and because
    two fields of the same struct share the one object: the generated class is the same then, too.
    """

    __slots__ = ("fields", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.fields: list[Field] = []


class Field(NamedTuple):
    """A field as all versions see it. Kafka's rules for what is not there, which both generators follow:

    - A version that lacks the field reads as the default, so that code above sees one shape of a message, whatever the
      version.
    - Writing anything but the default to a version that lacks it is an error, unless the field is *ignorable*: then
      what is lost is known to be harmless (a hint, a statistic).
    - A tagged field that has its default is not written at all. That is the other half of why defaults are part of the
      protocol: they must never change once a version is out.
    """

    name: str
    type: str  # one of FIXED, VARIABLE, or a struct's name; the element's type when `array`
    array: bool
    versions: Versions
    nullable: Versions
    default: object  # the Python value; () stands for a new list, a struct's name for a new struct
    tag: int | None
    ignorable: bool
    struct: Struct | None

    @property
    def fresh_default(self) -> str | None:
        """Source text that makes a new mutable default value, or None when the default is an immutable value."""
        if self.default is None:
            return None
        if self.array:
            return "[]"
        return f"{self.struct.name}()" if self.struct else None


class MessageSchema(NamedTuple):
    """One message in all of its versions; `kind` says which half of an API it is, or that it is plain data."""

    name: str
    versions: Versions
    flexible: Versions
    root: Struct
    structs: list[Struct]  # all nested ones, inner before outer
    kind: str  # "request", "response" or "data"


class Api(NamedTuple):
    """The head of a schema file of an API."""

    key: int
    name: str
    versions: Versions
    flexible: Versions
    listeners: tuple[str, ...]
    latest_stable: int


class SchemaFile(NamedTuple):
    """What one file declares: the two halves of an API, or any number of data messages."""

    path: str
    api: Api | None
    messages: list[MessageSchema]
