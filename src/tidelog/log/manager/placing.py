"""Taking into service what a start found: which log is whose, and which of two is the partition's.

A directory may hold the remains of a topic that was deleted while this broker was down (its topic id tells), and a move
between directories that was cut off leaves a partition in two of them. Nothing of another topic is ever deleted here:
it is set aside as stray. A copy that is not needed goes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tidelog.common.errors import StorageError
from tidelog.log.config import LogConfig
from tidelog.log.directory.log_dir import LogDir
from tidelog.log.manager.loading import Found
from tidelog.log.manager.registry import LogRegistry
from tidelog.log.manager.retirement import Retirement
from tidelog.log.names import DirName

if TYPE_CHECKING:
    from tidelog.log.partition.partition_log import PartitionLog

logger = logging.getLogger(__name__)


def adopt(
    registry: LogRegistry,
    retirement: Retirement,
    directory: LogDir,
    found: Found | BaseException,
    config_for: Callable[[str], LogConfig],
    topic_ids: Mapping[str, bytes],
) -> None:
    """Take over what was found in a directory; raises what its loading has raised."""
    if isinstance(found, BaseException):
        raise found
    for path, name in found.to_remove:
        retirement.remove_later(path, config_for(name.topic_partition.topic).file_delete_delay_ms)
    registry.stray += found.stray
    for name, log in found.logs:
        registry.partition_counts[directory.path] += 1
        _place(registry, retirement, name, log, topic_ids.get(name.topic_partition.topic))
    directory.loaded = True


def _place(
    registry: LogRegistry, retirement: Retirement, name: DirName, log: PartitionLog, topic_id: bytes | None
) -> None:
    """Take a log that was found into service, unless it is another topic's, or a copy that is not needed."""
    tp, future = name.topic_partition, name.kind == "future"
    if topic_id is not None and log.topic_id is not None and log.topic_id != topic_id:
        logger.warning("%s belongs to another topic of that name, and is set aside", log.dir)
        retirement.set_aside(tp, log, delete=future)
        return
    logs = registry.kind(future)
    other = logs.setdefault(tp, log)
    if other is not log:
        logs[tp], spare = choose(other, log)
        logger.warning("%s lies in %s as well as in %s, which has more", tp, spare.dir, logs[tp].dir)
        retirement.set_aside(tp, spare, delete=True)


def choose(one: PartitionLog, other: PartitionLog) -> tuple[PartitionLog, PartitionLog]:
    """(the one to serve, the one to spare) of two logs of a partition.

    A move between directories that was cut off leaves both. The copy had everything when it took the present log's
    place, so what one of them has more was written later, or it is what a power loss took from the other.
    """
    if one.topic_id is None or one.topic_id != other.topic_id:
        raise StorageError(
            f"{one.topic_partition} lies in {one.dir} and in {other.dir}, and they do not say that they belong to the "
            "same topic: remove one of them"
        )
    first, second = sorted((one, other), key=_progress, reverse=True)
    return first, second


def _progress(log: PartitionLog) -> tuple[int, int, int]:
    """How far a log got: a later leader's records count more than more records of an earlier one."""
    return log.leader_epochs.latest_epoch, log.log_end_offset, log.log_start_offset
