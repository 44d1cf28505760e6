"""What every handler sees of the cluster: brokers, topics, leaders. Held by the event loop; images are replaced whole.

It is changed by UpdateMetadata and by nothing else, wherever the controller is: also the broker that is the controller
learns of its own decisions this way, so that there is one path to test, and nobody sees a decision before it is in the
store.

`version` grows with every change, so that whoever keeps something made from the cache (encoded Metadata answers, fetch
sessions' topic ids) knows when it is out of date.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.metadata.control_messages import UpdateMetadata
from tidelog.broker.metadata.images import BrokerImage, TopicImage
from tidelog.broker.metadata.topics import TopicTable
from tidelog.common.types import NO_NODE

ChangeCallback = Callable[[list[TopicImage], list[TopicImage]], None]

#: How many names of deleted topics are remembered.
DELETED_NAMES = 1000


class MetadataCache(TopicTable):
    """A table of topics, with the brokers beside it. `cluster_id` is settled once, when the broker starts."""

    def __init__(self) -> None:
        super().__init__()
        self.cluster_id = ""
        self.controller_id = NO_NODE
        self.controller_epoch = 0
        self.brokers: dict[int, BrokerImage] = {}
        self.version = 0
        #: Names of deleted topics, the newest last, as far as nobody has used them again.
        self._deleted: dict[str, None] = {}
        self._callbacks: list[ChangeCallback] = []

    def was_deleted(self, name: str) -> bool:
        """Whether there was a topic of this name, not long ago, and is none now. A Metadata request that brings it
        back (`auto.create.topics.enable`) still answers that there is none, once: the client is to notice."""
        return name in self._deleted

    def is_alive(self, node_id: int) -> bool:
        return node_id in self.brokers

    def on_change(self, callback: ChangeCallback) -> None:
        """Call back with (changed or new topics, deleted topics) after each change of topics."""
        self._callbacks.append(callback)

    def update(self, message: UpdateMetadata) -> None:
        """Take in what the controller says. Whether it still is the controller was looked at by who received it."""
        self.controller_id = message.controller_id
        self.controller_epoch = message.controller_epoch
        self.brokers = {broker.node_id: broker for broker in message.brokers}
        gone = self.remove(message.deleted)
        self._deleted.update((image.name, None) for image in gone)
        while len(self._deleted) > DELETED_NAMES:
            del self._deleted[next(iter(self._deleted))]
        changed = list(message.topics)
        self.put(changed)
        for image in changed:
            self._deleted.pop(image.name, None)
        self.version += 1
        if changed or gone:
            for callback in self._callbacks:
                callback(changed, gone)
