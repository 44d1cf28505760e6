"""Deleting topics: Kafka's TopicDeletionManager, for replicas that are all within reach.

A deletion cannot be one step: logs lie on disks, nodes in the store, and either may fail while the other is done. So it
is decided first, durably, by a node under `/admin/delete_topics`; from then on the topic is gone for every client, and
what is left is cleaning up, which may be repeated as often as it takes:

    decided (node made) → out of everybody's metadata → replicas stopped and deleted → nodes of the topic and of its
    configs removed, and the node of the decision with them, as one

A controller that takes office finds the decisions that another could not carry out, and goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tidelog.broker.controller import topic_plans as plans
from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.context import ControllerContext
from tidelog.broker.controller.propagation import BrokerRequests
from tidelog.broker.controller.topic_plans import Deletion
from tidelog.broker.metadata.images import TopicImage
from tidelog.broker.store import paths
from tidelog.broker.store.api import Create, Delete, Operation, Store
from tidelog.broker.store.errors import StoreFullError

logger = logging.getLogger(__name__)


class TopicDeletions:
    """Steps of the controller's changes: each is called within one."""

    def __init__(self, store: Store, context: ControllerContext, requests: BrokerRequests, changes: Changes) -> None:
        self._store = store
        self._context = context
        self._requests = requests
        self._changes = changes

    async def delete(self, names: Sequence[str], ids: Sequence[bytes]) -> list[Deletion]:
        """Delete topics, by name or by id; what became of each."""
        await self.finish()
        planned = plans.plan_deletions(names, ids, self._context)
        images = [deletion.image for deletion in planned if deletion.image is not None]
        if images:
            await self._store.multi([Create(paths.delete_topic(image.name)) for image in images])
            gone = [image.name for image in images]
            with self._changes.applying("The deletion of topics"):
                self._context.remove(gone)
                await self._requests.update_metadata(deleted=gone)
            self._context.doomed.update((image.name, image) for image in images)
            try:
                await self.finish()
            except StoreFullError as error:  # decided and durable: what is left to write is made up for
                logger.error("The deletion of topics is to be finished: %s", error)
        return planned

    async def finish(self) -> None:
        """Bring to their end the deletions that were decided. Called before whatever could use one of the names."""
        doomed = self._context.doomed
        if not doomed:
            return
        # The replicas of all topics go together: a broker writes its checkpoints, which name every partition that it
        # has, once for many deletions instead of once per topic.
        with self._changes.applying("The deletion of replicas"):
            images = [image for image in doomed.values() if image is not None]
            await self._requests.delete_replicas([state for image in images for state in image.partitions])
        for name, image in list(doomed.items()):
            await self._remove_nodes(name, image)
            del doomed[name]

    async def _remove_nodes(self, name: str, image: TopicImage | None) -> None:
        """The last step. `image` is None where the topic's own nodes are gone already."""
        operations: list[Operation] = [Delete(paths.delete_topic(name))]
        if image is not None:
            has_config = await self._store.exists(paths.topic_config(name)) is not None
            operations += plans.delete_operations(image, has_config=has_config)
        await self._store.multi(operations)
        self._requests.topic_config(name, None)
