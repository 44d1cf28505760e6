"""Which logs there are, in which of the broker's directories: what every other part of the manager looks things up in.

A partition has at most one log that serves, and while it is moved to another directory a second one beside it, its
*future* replica (Kafka's word; its directory ends with `-future`), which copies from the first and takes its place when
it has everything. Directories that have failed stay in the list, without a log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from os.path import dirname
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tidelog.common.errors import ErrorCode, KafkaError, StorageError
from tidelog.common.types import TopicPartition
from tidelog.log.directory.log_dir import LogDir

if TYPE_CHECKING:
    from tidelog.log.partition.partition_log import PartitionLog


class LogRegistry:
    """See the module's text. It looks nothing up on disk."""

    def __init__(self, dirs: Sequence[LogDir]) -> None:
        self.dirs = list(dirs)
        self.logs: dict[TopicPartition, PartitionLog] = {}
        #: Replicas that are being moved to another directory, beside their current ones.
        self.future: dict[TopicPartition, PartitionLog] = {}
        #: Directories of replicas that the cluster does not know, left for the operator.
        self.stray: list[Path] = []
        #: How many partitions lie in each directory.
        self.partition_counts: Counter[Path] = Counter()

    @property
    def live_dirs(self) -> list[LogDir]:
        return [directory for directory in self.dirs if directory.online]

    @property
    def offline_dirs(self) -> list[LogDir]:
        return [directory for directory in self.dirs if not directory.online]

    def require_live(self) -> None:
        """Without a directory a broker has nothing to serve from: better not to start."""
        if not self.live_dirs:
            reasons = "; ".join(f"{directory.path}: {directory.error}" for directory in self.dirs)
            raise StorageError(f"no log directory is usable: {reasons}")

    def kind(self, future: bool) -> dict[TopicPartition, PartitionLog]:
        """The logs that serve, or those that are being made of them."""
        return self.future if future else self.logs

    def all_logs(self) -> Iterator[PartitionLog]:
        """Every log, those that are being moved included; logs may come and go meanwhile."""
        yield from list(self.logs.values())
        yield from list(self.future.values())

    def dir_of(self, log: PartitionLog) -> LogDir:
        return self.dir_at(log.dir.parent)

    def dir_at(self, path: Path) -> LogDir:
        """The directory of that path, online or not; raises LOG_DIR_NOT_FOUND, as AlterReplicaLogDirs answers."""
        for directory in self.dirs:
            if directory.path == path:
                return directory
        raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path} is not among log.dirs")

    def logs_in(self, directory: LogDir) -> dict[TopicPartition, PartitionLog]:
        """What a directory's checkpoints speak of. Of a partition that is moved within it, the future replica."""
        root = str(directory.path)  # text: a path's parent is a path, and there may be thousands
        return {log.topic_partition: log for log in self.all_logs() if dirname(log.dir) == root}

    def by_load(self, defaults: Mapping[str, object]) -> list[LogDir]:
        """The directories that serve, the one with the fewest partitions first; cordoned ones when all are."""
        open_ones = [directory for directory in self.live_dirs if not is_cordoned(directory, defaults)]
        return sorted(open_ones or self.live_dirs, key=lambda directory: self.partition_counts[directory.path])


def is_cordoned(directory: LogDir, defaults: Mapping[str, object]) -> bool:
    """Whether a directory gets no new partitions (`cordoned.log.dirs`, KIP-1066)."""
    named = cast("Sequence[str]", defaults.get("cordoned.log.dirs") or ())
    return "*" in named or directory.path in map(Path, named)
