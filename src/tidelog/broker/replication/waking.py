"""Telling those who wait: records were appended, or the high watermark moved.

Whatever moves a log end offset or a high watermark ends in `on_moved`, the only place that wakes waiting requests:
fetches that wait for bytes, produces with acks=all and deletions that wait for other replicas. An append that does not
come here is seen by nobody until a time-out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.partition import Partition
    from tidelog.common.types import TopicPartition


class Waking:
    def __init__(self, purgatories: Purgatories) -> None:
        self._purgatories = purgatories

    def on_moved(self, partition: Partition) -> None:
        """Its end or its high watermark has."""
        self.wake(partition.tp)

    def wake(self, tp: TopicPartition) -> None:
        """Something about the partition has changed: let all who wait for it look again. Also when it is no longer
        here: then they find that out."""
        waiting = self._purgatories
        if waiting.fetch:
            waiting.fetch.check(tp)
        if waiting.produce:
            waiting.produce.check(tp)
        if waiting.delete_records:
            waiting.delete_records.check(tp)

    def on_log_start_moved(self, tp: TopicPartition) -> None:
        """A replica's log starts later than before: DeleteRecords waits for all of them."""
        if self._purgatories.delete_records:
            self._purgatories.delete_records.check(tp)
