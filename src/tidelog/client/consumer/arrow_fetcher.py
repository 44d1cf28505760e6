"""Fetched records as Arrow batches: one answer is decoded on a thread while the next one is received.

    reader = ArrowFetcher(Fetcher(cluster, ranges), columns=("offset", "value"))
    while batches := await reader.poll(10):
        for piece in batches:
            piece.topic_partition, piece.batch

Receiving and decoding both leave the GIL, so that they overlap; neither touches a single record in Python. Small
answers are decoded there and then. What is decoded is handed out at once: a slow topic's next answer is never waited
for. Batches come in the order of their offsets, a few answers ahead of the caller.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tidelog.client.consumer.fetcher import Fetched, Fetcher
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

#: Answers that may be decoded or wait for it, before the next one is asked for.
_AHEAD = 2
#: Fewer bytes are decoded sooner than a thread wakes up.
_WORTH_A_THREAD = 256 << 10


class ArrowBatch(NamedTuple):
    """The records of one partition that one answer held (none, if all of them were aborted or not asked for)."""

    topic_partition: TopicPartition
    batch: pa.RecordBatch
    next_offset: int


class ArrowFetcher:
    """Hands out what a `Fetcher` fetches, decoded. Use from one task; close it."""

    def __init__(self, fetcher: Fetcher, *, columns: Sequence[str], view: bool = False) -> None:
        self.fetcher = fetcher
        self._columns = tuple(columns)
        self._view = view
        self._thread = ThreadPoolExecutor(1, "tidelog-decode")
        self._polling: asyncio.Task[list[Fetched]] | None = None
        self._decoding: deque[asyncio.Future[list[ArrowBatch]]] = deque()

    @property
    def done(self) -> bool:
        """Whether everything was handed out."""
        return self.fetcher.done and not self._decoding and self._polling is None

    async def poll(self, timeout: float) -> list[ArrowBatch]:
        """The batches of the next answer; an empty list when all is read or the time is up. Errors as `Fetcher`'s."""
        deadline = self.fetcher.clock.monotonic() + timeout
        while True:
            self._take_answer()
            left = deadline - self.fetcher.clock.monotonic()
            if self._polling is None and not self.fetcher.done and len(self._decoding) < _AHEAD and left > 0:
                self._polling = asyncio.ensure_future(self.fetcher.poll(left))
                await asyncio.sleep(0)  # lets the request leave
            if self._decoding and self._decoding[0].done():
                return self._decoding.popleft().result()
            under_way: list[asyncio.Future[Any]] = list(self._decoding)[:1]
            if self._polling is not None:
                under_way.append(self._polling)
            if not under_way or left <= 0:
                return []
            await asyncio.wait(under_way, timeout=left, return_when=asyncio.FIRST_COMPLETED)

    def _take_answer(self) -> None:
        """Give an answer that has come to the decoder. What is wrong with it is raised once all before it is out."""
        if self._polling is None or not self._polling.done() or (self._polling.exception() and self._decoding):
            return
        answer, self._polling = self._polling, None
        pieces = answer.result()
        if not pieces:
            return
        loop = asyncio.get_running_loop()
        if sum(len(piece.records) for piece in pieces) >= _WORTH_A_THREAD:
            self._decoding.append(loop.run_in_executor(self._thread, self._decode, pieces))
        else:
            decoded: asyncio.Future[list[ArrowBatch]] = loop.create_future()
            decoded.set_result(self._decode(pieces))
            self._decoding.append(decoded)

    def _decode(self, pieces: list[Fetched]) -> list[ArrowBatch]:
        from tidelog.records.arrow import batches_to_arrow

        return [
            ArrowBatch(
                piece.topic_partition,
                batches_to_arrow(
                    piece.records,
                    columns=self._columns,
                    first_offset=piece.start,
                    last_offset=None if piece.end is None else piece.end - 1,
                    aborted=piece.aborted,
                    view=self._view,
                ),
                piece.next_offset,
            )
            for piece in pieces
        ]

    async def close(self) -> None:
        """Drop what was not handed out, and the fetches under way."""
        under_way: list[asyncio.Future[Any]] = [*self._decoding, *([] if self._polling is None else [self._polling])]
        self._decoding.clear()
        self._polling = None
        for future in under_way:
            future.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        self._thread.shutdown()
        await self.fetcher.close()
