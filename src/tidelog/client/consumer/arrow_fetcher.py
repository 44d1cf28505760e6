"""Fetched records as Arrow batches: one answer is decoded on a thread while the next one is received.

    reader = ArrowFetcher(Fetcher(cluster, ranges), columns=("offset", "value"))
    while batches := await reader.poll(10):
        for piece in batches:
            piece.topic_partition, piece.batch

Receiving and decoding both leave the GIL, so that they overlap; neither touches a single record in Python. Small
answers are decoded there and then. What is decoded is handed out at once: a slow topic's next answer is never waited
for. Batches come in the order of their offsets, a few answers ahead of the caller. An answer that is large when it is
unpacked comes in several parts, and the next part is made when the one before it is taken.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from tidelog.client.consumer.fetcher import Fetched, Fetcher
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.net.pauses import breathe

if TYPE_CHECKING:
    import pyarrow as pa

#: Answers that may be decoded or wait for it, before the next one is asked for.
_AHEAD = 2
#: Fewer bytes are decoded sooner than a thread wakes up.
_WORTH_A_THREAD = 256 << 10


class ArrowBatch(NamedTuple):
    """The records of one partition that an answer or a part of it held (none, if all were aborted or not asked for)."""

    topic_partition: TopicPartition
    batch: pa.RecordBatch
    next_offset: int


#: What is decoded, and what makes the rest of it (None: that was all).
_Decoded = tuple[list[ArrowBatch], Iterator[ArrowBatch] | None]


class ArrowFetcher:
    """Hands out what a `Fetcher` fetches, decoded. Use from one task; close it."""

    def __init__(self, fetcher: Fetcher, *, columns: Sequence[str], view: bool = False) -> None:
        self.fetcher = fetcher
        self._columns = tuple(columns)
        self._view = view
        self._thread = ThreadPoolExecutor(1, "tidelog-decode")
        self._polling: asyncio.Task[list[Fetched]] | None = None
        self._decoding: deque[asyncio.Future[_Decoded]] = deque()

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
                await breathe()  # lets the request leave
            if self._decoding and self._decoding[0].done():
                batches, rest = self._decoding.popleft().result()
                if rest is not None:
                    self._decoding.appendleft(asyncio.get_running_loop().run_in_executor(self._thread, _decode, rest))
                return batches
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
            self._decoding.append(loop.run_in_executor(self._thread, _decode, self._parts(pieces)))
        else:
            decoded: asyncio.Future[_Decoded] = loop.create_future()
            decoded.set_result(_decode(self._parts(pieces)))
            self._decoding.append(decoded)

    def _parts(self, pieces: list[Fetched]) -> Iterator[ArrowBatch]:
        """The records of an answer as columns, made one part at a time when somebody takes it: a generator is the
        queue.
        """
        from tidelog.records.arrow import batches_in_parts

        for piece in pieces:
            for next_offset, batch in batches_in_parts(
                [piece.records],
                columns=self._columns,
                first_offset=piece.start,
                last_offset=None if piece.end is None else piece.end - 1,
                aborted=piece.aborted,
                view=self._view,
            ):
                yield ArrowBatch(piece.topic_partition, batch, next_offset)

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


def _decode(parts: Iterator[ArrowBatch]) -> _Decoded:
    """The next parts, until they are large together."""
    from tidelog.records.arrow import PART_BYTES

    batches, size = [], 0
    for part in parts:
        batches.append(part)
        size += part.batch.nbytes
        if size > PART_BYTES:
            return batches, parts
    return batches, None
