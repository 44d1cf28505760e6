"""What a producer was told to write, what it said became of it, and what is in the log: everything that must not be.

`read_log` reads a partition with a plain Fetch of its own, past any client that is tested here; `Ledger` numbers what
is sent and keeps what was promised.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from support.blocking_wire import BlockingWire
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.records.format.batch import iter_batches

FETCH_VERSION = 11
EVERYTHING = 1 << 24


class Logged(NamedTuple):
    """A record as it lies in the log."""

    offset: int
    key: bytes | None
    value: bytes


def read_log(address: str, topic: str, partition: int, *, committed: bool = False) -> list[Logged]:
    """All records of a partition; only those of committed transactions (and of none), if that is asked for."""
    found: list[Logged] = []
    with BlockingWire(address) as wire:
        offset, aborting = 0, set[int]()
        while True:
            answer = _fetch(wire, topic, partition, offset, committed)
            end = answer.last_stable_offset if committed else answer.high_watermark
            starts = sorted((one.first_offset, one.producer_id) for one in answer.aborted_transactions or ())
            for batch in iter_batches(bytes(answer.records or b""), check_crc=True):
                while starts and starts[0][0] <= batch.last_offset:
                    aborting.add(starts.pop(0)[1])
                offset = batch.next_offset
                if batch.is_control:
                    aborting.discard(batch.producer_id)
                elif not (committed and batch.is_transactional and batch.producer_id in aborting):
                    found += [Logged(one.offset, one.key, bytes(one.value or b"")) for one in batch.records()]
            if offset >= end:
                return found


def _fetch(wire: BlockingWire, topic: str, partition: int, offset: int, committed: bool) -> Any:
    place = m.FetchRequest.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=EVERYTHING)
    request = m.FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=EVERYTHING,
        isolation_level=int(committed),
        topics=[m.FetchRequest.FetchTopic(topic=topic, partitions=[place])],
    )
    answer = wire.ask(ApiKey.FETCH, FETCH_VERSION, request).responses[0].partitions[0]
    assert answer.error_code == 0, answer
    return answer


@dataclass
class Ledger:
    """Numbers go out in order to each partition; what is heard of them may come from any thread."""

    topic: str
    partitions: int
    sent: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    written: dict[int, tuple[int, int]] = field(default_factory=dict)
    failed: dict[int, Exception] = field(default_factory=dict)
    heard: list[int] = field(default_factory=list)
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, producer: Any, count: int = 1) -> None:
        """So many more records, round the partitions."""
        for _ in range(count):
            number, self._count = self._count, self._count + 1
            partition = number % self.partitions
            self.sent[partition].append(number)
            producer.send(self.topic, b"%d" % number, partition=partition, on_delivery=self._teller(number))

    def _teller(self, number: int) -> Any:
        def told(metadata: Any, error: Exception | None) -> None:
            with self._lock:
                self.heard.append(number)
                if error is not None:
                    self.failed[number] = error
                else:
                    self.written[number] = (metadata.partition, metadata.offset)

        return told

    def findings(self, address: str) -> dict[str, list[str]]:
        """Everything that is wrong, by kind; a record that failed may be in the log or not."""
        log = {number: read_log(address, self.topic, number) for number in range(self.partitions)}
        return compare(self.sent, self.written, self.failed, self.heard, log)


def compare(
    sent: Mapping[int, Sequence[int]],
    written: Mapping[int, tuple[int, int]],
    failed: Mapping[int, Exception],
    heard: Sequence[int],
    log: Mapping[int, Sequence[Logged]],
) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    known = {number for numbers in sent.values() for number in numbers}
    places = {(part, one.offset): int(one.value) for part, records in log.items() for one in records}
    times = Counter(places.values())
    found["lost"] += [str(number) for number in written if not times[number]]
    found["duplicated"] += [f"{number} x{count}" for number, count in times.items() if count > 1]
    found["invented"] += [str(number) for number in times if number not in known]
    found["elsewhere"] += [f"{n} not at {place}" for n, place in written.items() if places.get(place) != n]
    told = Counter(heard)
    found["told twice"] += [str(number) for number, count in told.items() if count > 1]
    found["never told"] += [str(number) for number in known if not told[number]]
    for part, records in log.items():
        numbers = [int(one.value) for one in records]
        found["reordered"] += [f"{b} after {a} in {part}" for a, b in pairwise(numbers) if b < a]
    for part, numbers in sent.items():
        mine = set(numbers)
        good = [number for number in heard if number in mine and number not in failed]
        found["told out of order"] += [f"{b} after {a} of {part}" for a, b in pairwise(good) if b < a]
    return {kind: entries for kind, entries in found.items() if entries}
