"""What the controller knows: Kafka's ControllerContext.

It is the controller's own, though a broker runs in the same process whose metadata cache says nearly the same. The two
differ in what they are for and in when they change. The context is what decisions are made from: it is read from the
store when the controller takes office, and after that changes with every write that the store has taken, in the same
step. The cache is what clients are told, and changes when an UpdateMetadata arrives, which on other brokers is later.
A controller that decided from the cache would decide from what it has told others, not from what is true.

Only the controller's changes touch it, and they run one at a time: nothing here needs a lock, and whatever a change has
read still holds when it writes.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.broker.metadata.images import BrokerImage, PartitionState, TopicImage
from tidelog.broker.metadata.topics import TopicTable


class ControllerContext(TopicTable):
    """Topics are in the table until their deletion is decided; then in `doomed`, until the last trace is gone."""

    def __init__(self) -> None:
        super().__init__()
        #: Counts the controllers of the cluster. In every message, and in every partition's state: who wrote it.
        self.epoch = 0
        #: Those with a node under `/brokers/ids`: they can lead, and they are told of every change.
        self.brokers: dict[int, BrokerImage] = {}
        #: Deletions that are in the store and could not be brought to their end yet: before the next change, or at the
        #: next start, they are. None: of the topic itself nothing is left.
        self.doomed: dict[str, TopicImage | None] = {}

    def set_brokers(self, brokers: Iterable[BrokerImage]) -> None:
        self.brokers = {broker.node_id: broker for broker in brokers}

    def put_states(self, states: Iterable[PartitionState]) -> list[TopicImage]:
        """Take in new states of partitions; the new images of their topics."""
        changed: dict[str, list[PartitionState]] = {}
        for state in states:
            partitions = changed.get(state.topic)
            if partitions is None:  # once per topic: an election may be about ten thousand partitions of one
                partitions = changed[state.topic] = list(self.topics[state.topic].partitions)
            partitions[state.partition] = state
        images = [self.topics[name]._replace(partitions=partitions) for name, partitions in changed.items()]
        self.put(images)
        return images
