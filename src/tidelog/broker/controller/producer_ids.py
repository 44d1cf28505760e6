"""Producer ids: given out one by one from blocks of a thousand, each of which the store gives to one broker only.

An idempotent producer is known by its id, for ever: brokers remember which of its batches they have, and an id that was
given twice would make one producer's records the duplicates of another's. So no id is given out before a node that says
so is durable. A block per write, instead of an id, makes that cheap; what is left of a block when a broker stops is
lost, which does no harm: there are 2^63 ids.
"""

from __future__ import annotations

from tidelog.broker.controller.changes import Changes
from tidelog.broker.store import paths
from tidelog.broker.store.api import Store
from tidelog.broker.store.errors import BadVersionError
from tidelog.broker.store.znodes import (
    PRODUCER_ID_BLOCK_SIZE,
    ProducerIdBlock,
    decode_producer_id_block,
    encode_producer_id_block,
)
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import MAX_INT64


async def allocate_block(store: Store, node_id: int, *, at_least: int = 0) -> ProducerIdBlock:
    """Take the next block, beginning at `at_least` or later. Compare and set: two brokers never get the same."""
    while True:
        data, stat = await store.get(paths.PRODUCER_ID_BLOCK)
        last = decode_producer_id_block(paths.PRODUCER_ID_BLOCK, data)
        first = max(0 if last is None else last.first + last.size, at_least)
        if first > MAX_INT64 - PRODUCER_ID_BLOCK_SIZE:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "Exhausted all producer ids")
        block = ProducerIdBlock(first, PRODUCER_ID_BLOCK_SIZE)
        try:
            await store.set(paths.PRODUCER_ID_BLOCK, encode_producer_id_block(block, node_id), stat.version)
        except BadVersionError:
            continue
        return block


class ProducerIds:
    """This broker's supply. Who asks while it is empty waits for the next block with all others that do."""

    def __init__(self, changes: Changes, store: Store, node_id: int) -> None:
        self._changes = changes
        self._store = store
        self._node_id = node_id
        self._next = 0
        self._end = 0
        #: No id below this is given out: what an adopted directory has seen already.
        self.floor = 0

    async def next(self) -> int:
        while self._next >= self._end:
            await self._changes.run("producer ids", self._refill)
        producer_id = self._next
        self._next += 1
        return producer_id

    async def _refill(self) -> None:
        """Take a block, unless somebody has done so meanwhile: a block that was taken is used."""
        if self._next >= self._end:
            block = await allocate_block(self._store, self._node_id, at_least=self.floor)
            self._next, self._end = block.first, block.first + block.size
