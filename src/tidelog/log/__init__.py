"""The batch at rest: one directory per partition, byte for byte as Apache Kafka writes it. Synchronous; no sockets.

Reading order, from one file to all of them:

    names, topic_keys, config        every file name; every topic key; the parsed configuration of one log
    segment/                         one segment: the .log file, its indexes, aborted transactions, counted open files
    producers/, leader_epochs        what dedupe, fencing and truncation need to know
    recovery/                        open a directory after a clean stop or a crash
    partition/                       the log of a partition: its watermarks, appends, reads; flushing and retention
    cleaner/                         compaction
    directory/                       one root directory, and what lies in it besides logs
    manager/                         all logs of a broker
    reading/                         read-only: `from tidelog.log import LogDirectory`

One thread owns a log and alone changes it; others read files that never change under them, and sync. Whatever takes
long is a job: made by the owner, run anywhere, put into force by the owner. An `OSError` of the disk becomes a
`StorageError` at the edge of a log, and takes the log directory offline at the edge of the manager.

Formats: docs/formats/.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.log.reading.reader import LogDirectory, PartitionReader

# Whether and where a log is shown is the program's choice.
logging.getLogger("tidelog").addHandler(logging.NullHandler())

__all__ = ["LogDirectory", "PartitionReader"]


def __getattr__(name: str) -> Any:
    """The public readers are loaded when first asked for: a broker starts without them."""
    if name in __all__:
        from tidelog.log.reading import reader

        return getattr(reader, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
