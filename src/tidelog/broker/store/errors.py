"""The store's errors, named as ZooKeeper names them. `index` tells which operation of a multi failed."""

from __future__ import annotations

from tidelog.common.errors import StorageError, TidelogError


class StoreError(TidelogError):
    """An operation that the tree refused. Nothing of its multi was applied."""

    def __init__(self, path: str = "", detail: str = "") -> None:
        self.path = path
        self.index = 0
        super().__init__(f"{type(self).__name__} {path}{': ' + detail if detail else ''}")


class NoNodeError(StoreError):
    """The node, or the parent of the node to create, does not exist."""


class NodeExistsError(StoreError):
    """There is a node of that path."""


class BadVersionError(StoreError):
    """The node's version is not the expected one: somebody else changed it."""


class NotEmptyError(StoreError):
    """A node with children cannot be deleted."""


class NoChildrenForEphemeralsError(StoreError):
    """An ephemeral node can have no children."""


class InvalidPathError(StoreError):
    """Not an absolute, normalised path."""


class SessionExpiredError(StoreError):
    """The session is over; its ephemeral nodes are gone. Begin another one."""


class StoreLostError(StoreError):
    """The store's disk failed: nothing can be agreed on any more, and the broker must stop."""


class StoreFullError(StorageError):
    """The store's disk has no room for a change: it did not happen. The next one may, once there is room."""
