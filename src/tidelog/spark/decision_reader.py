"""Reading the decisions topic as of now, whatever other queries have left open in it.

Up to the last stable offset the broker tells what was aborted. Behind it somebody's transaction is open (a driver that
was killed in the middle of a decision leaves one until it times out), and nobody waits for its end: from there on the
records are read uncommitted, and a transaction counts if its commit marker is there too. What is open at the end is no
decision yet. Nothing of the reader's own query can be open: it has taken over the query's transactional id before, and
that ended whatever there was. The cleaner never goes beyond the last stable offset, so no marker is missing there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.consumer.fetcher import Fetched, Fetcher, FetchRange
from tidelog.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, beginning_offsets, end_offsets
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.control import parse_end_txn_marker

#: How long a broker may take for the next records of the topic.
_PATIENCE = 60.0

Entries = dict[bytes, bytes | None]


async def read_entries(cluster: ClusterClient, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Entries]:
    """The newest value of each key, by partition; None where it was removed."""
    places = list(partitions)
    starts, stable = await asyncio.gather(
        beginning_offsets(cluster, places), end_offsets(cluster, places, isolation=READ_COMMITTED)
    )
    ends = await end_offsets(cluster, places)
    found: dict[TopicPartition, Entries] = {tp: {} for tp in places}
    for piece in await _fetch(cluster, {tp: (starts[tp], stable[tp]) for tp in places}, READ_COMMITTED):
        _take_committed(piece, found[piece.topic_partition])
    pending: dict[TopicPartition, dict[int, Entries]] = {tp: {} for tp in places}
    for piece in await _fetch(cluster, {tp: (stable[tp], ends[tp]) for tp in places}, READ_UNCOMMITTED):
        tp = piece.topic_partition
        _take_marked(piece, found[tp], pending[tp])
    return found


async def _fetch(
    cluster: ClusterClient, ranges: Mapping[TopicPartition, tuple[int, int]], isolation: int
) -> list[Fetched]:
    """All pieces of the ranges, kept: the topic is small, as compaction leaves one record per query."""
    wanted = {tp: FetchRange(start, end) for tp, (start, end) in ranges.items() if start < end}
    fetcher = Fetcher(cluster, wanted, isolation=isolation)
    fetched: list[Fetched] = []
    try:
        while not fetcher.done:
            pieces = await fetcher.poll(_PATIENCE)
            if not pieces and not fetcher.done:
                name = next(iter(wanted)).topic
                raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{name} could not be read to its end")
            fetched += pieces
    finally:
        await fetcher.close()
    return fetched


def _take_committed(piece: Fetched, entries: Entries) -> None:
    """Later records win, within and across pieces; markers and aborted records are left out by the kernel."""
    from tidelog.records.arrow import batches_to_arrow

    last = None if piece.end is None else piece.end - 1
    rows = batches_to_arrow(
        piece.records, columns=("key", "value"), first_offset=piece.start, last_offset=last, aborted=piece.aborted
    )
    keys, values = rows.column(0).to_pylist(), rows.column(1).to_pylist()
    entries.update((key or b"", value) for key, value in zip(keys, values, strict=True))


def _take_marked(piece: Fetched, entries: Entries, pending: dict[int, Entries]) -> None:
    """Few records, and seldom any. `pending` holds what each producer has written since its last marker."""
    for batch in iter_batches(piece.records):
        if batch.base_offset < piece.start or (piece.end is not None and batch.base_offset >= piece.end):
            continue
        if batch.is_control:
            marker = parse_end_txn_marker(batch)
            written = pending.pop(batch.producer_id, {})
            if marker is not None and marker.committed:
                entries.update(written)
        else:
            place = pending.setdefault(batch.producer_id, {}) if batch.is_transactional else entries
            place.update({record.key or b"": record.value for record in batch.records()})
