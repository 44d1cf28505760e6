"""`.kafka_cleanshutdown`: the last thing a clean stop writes, the first thing a start removes.

    {"version":0,"brokerEpoch":42}

Its presence is what counts (older brokers left it empty): with it, the log need not be scanned. It is removed before
anything else happens, so that a crash during the start does not look like a clean stop. Ours ends with a line end,
which Kafka overlooks and does not write: so a start sees whether it was Kafka that stopped last.
"""

from __future__ import annotations

import json
from pathlib import Path

from tidelog.common.fs import FileSystem
from tidelog.log.names import CLEAN_SHUTDOWN_FILE

NO_BROKER_EPOCH = -1


def exists(fs: FileSystem, directory: Path) -> bool:
    return fs.exists(directory / CLEAN_SHUTDOWN_FILE)


def read_broker_epoch(fs: FileSystem, directory: Path) -> int:
    """The broker epoch at the clean stop, or -1 when the marker is missing, empty or not understood."""
    try:
        content = json.loads(fs.read_bytes(directory / CLEAN_SHUTDOWN_FILE))
        return int(content["brokerEpoch"]) if content["version"] == 0 else NO_BROKER_EPOCH
    except (FileNotFoundError, ValueError, KeyError, TypeError, OverflowError):
        return NO_BROKER_EPOCH


def is_kafkas(fs: FileSystem, directory: Path) -> bool:
    """Whether there is a marker, and it is an Apache Kafka's."""
    return exists(fs, directory) and not fs.read_bytes(directory / CLEAN_SHUTDOWN_FILE).endswith(b"\n")


def write(fs: FileSystem, directory: Path, broker_epoch: int = NO_BROKER_EPOCH) -> None:
    content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":")) + "\n"
    fs.write_atomic(directory / CLEAN_SHUTDOWN_FILE, content.encode())


def remove(fs: FileSystem, directory: Path) -> None:
    fs.unlink(directory / CLEAN_SHUTDOWN_FILE, missing_ok=True)
    fs.sync_dir(directory)
