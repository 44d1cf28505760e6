"""The batch at rest: one directory per partition, byte for byte as Apache Kafka writes it. Synchronous; no sockets.

Reading order, from one file to all of them:

    names, topic_keys, config        every file name; every topic key; the parsed configuration of one log
    home, file_budget, file_slice    where a log lives; open files within a budget; counted references for zero copy
    data_file, _index, txn_index     the .log file, the two sparse indexes, the aborted transactions
    segment, segments                one segment = data and its indexes; the ordered set of them
    producer_state, leader_epochs    what dedupe, fencing and truncation need to know
    local_log, partition_log         the files of a partition; its watermarks, appends and reads
    loader, recovery                 open a directory after a clean stop or a crash
    retention, cleaner               delete policy; compaction
    log_dir, manager                 one root directory; all logs of a broker
    reader, verify, statistics       read-only: `from tidelog.log import LogDirectory`

Formats: docs/formats/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.log.reader import LogDirectory, PartitionReader

__all__ = ["LogDirectory", "PartitionReader"]


def __getattr__(name: str) -> Any:
    """The public readers are loaded when first asked for: a broker starts without them."""
    if name in __all__:
        from tidelog.log import reader

        return getattr(reader, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
