"""`meta.properties`: to which node of which cluster a log directory belongs.

    version=1                                   version=0
    cluster.id=wdTmzvVIQ_mSY4sn3v8x3w           cluster.id=wdTmzvVIQ_mSY4sn3v8x3w
    node.id=1                                   broker.id=1
    directory.id=4cWyXfxUQJ6KBl7nyWjiGw

Version 1 is what a KRaft broker (and Tidelog by itself) writes, version 0 what a broker of a ZooKeeper cluster writes;
`directory.id` may be absent from both. It keeps an operator from starting a broker on somebody else's data.

The directory's own id (KIP-858) tells directories apart whatever path they are mounted at: a controller knows by it
which replica was lost with which disk, and a copy of a directory that was mounted beside the original is found out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidelog.common.errors import StorageError
from tidelog.common.fs import FileSystem
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.properties import parse_properties, render_properties
from tidelog.common.uuids import uuid_from_text, uuid_to_text
from tidelog.log.names import META_PROPERTIES_FILE

ZOOKEEPER_VERSION, CURRENT_VERSION = 0, 1
_NODE_KEY = {ZOOKEEPER_VERSION: "broker.id", CURRENT_VERSION: "node.id"}


class MetaPropertiesError(StorageError):
    """The file does not parse, or does not belong to this node; the text says which file and why."""


class MetaProperties(NamedTuple):
    """What a directory says of itself. Version 0 may lack everything: then it belongs to whoever starts on it."""

    cluster_id: str | None
    node_id: int | None
    directory_id: bytes | None = None
    version: int = CURRENT_VERSION

    def encode(self) -> bytes:
        """The file's bytes. The node's id has another name in each version, and the same meaning."""
        values = {"version": str(self.version)}
        if self.cluster_id is not None:
            values["cluster.id"] = self.cluster_id
        if self.node_id is not None:
            values[_NODE_KEY[self.version]] = str(self.node_id)
        if self.directory_id is not None:
            values["directory.id"] = uuid_to_text(self.directory_id)
        return render_properties(values).encode()


def decode(data: bytes, origin: str) -> MetaProperties:
    """Read a file's bytes; raises MetaPropertiesError with the file's name, as an operator has to mend it."""
    try:
        values = parse_properties(data.decode("latin-1"))
    except ValueError as error:
        raise MetaPropertiesError(f"{origin}: {error}") from error
    version = _number(values.get("version", "0"), origin)
    if version not in _NODE_KEY:
        raise MetaPropertiesError(f"{origin}: expected version 0 or 1, found {version}")
    node = values.get(_NODE_KEY[version])
    directory = values.get("directory.id")
    if version == CURRENT_VERSION and (node is None or "cluster.id" not in values):
        raise MetaPropertiesError(f"{origin}: version 1 needs cluster.id and node.id")
    try:
        directory_id = uuid_from_text(directory) if directory is not None else None
    except ValueError as error:
        raise MetaPropertiesError(f"{origin}: directory.id is {error}") from error
    return MetaProperties(
        values.get("cluster.id"), None if node is None else _number(node, origin), directory_id, version
    )


def _number(text: str, origin: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise MetaPropertiesError(f"{origin}: expected a number, found {text!r}") from None


def read(fs: FileSystem, directory: Path) -> MetaProperties | None:
    """What the directory says of itself; None when it says nothing yet."""
    path = directory / META_PROPERTIES_FILE
    try:
        data = fs.read_bytes(path)
    except FileNotFoundError:
        return None
    return decode(data, str(path))


def write(fs: FileSystem, directory: Path, properties: MetaProperties) -> None:
    fs.write_atomic(directory / META_PROPERTIES_FILE, properties.encode())


def check(found: Mapping[Path, MetaProperties], node_id: int | None = None, cluster_id: str | None = None) -> None:
    """All directories must belong to the same node of the same cluster, and no two may be the same directory.

    A directory that does not say is nobody's yet and fits everywhere. Node and cluster may be unknown to the caller too
    (a first look, before the cluster is known): then the directories are only compared with each other.
    """
    directories: dict[bytes, Path] = {}
    for path, properties in found.items():
        if None not in (node_id, properties.node_id) and properties.node_id != node_id:
            raise MetaPropertiesError(f"{path} belongs to node {properties.node_id}, not to node {node_id}")
        if None not in (cluster_id, properties.cluster_id) and properties.cluster_id != cluster_id:
            raise MetaPropertiesError(f"{path} belongs to cluster {properties.cluster_id}, not to cluster {cluster_id}")
        node_id = properties.node_id if node_id is None else node_id
        cluster_id = properties.cluster_id if cluster_id is None else cluster_id
        if properties.directory_id is not None:
            other = directories.setdefault(properties.directory_id, path)
            if other != path:
                raise MetaPropertiesError(f"{other} and {path} have the same directory.id: one is a copy of the other")
