"""A partition's directory and the seams by which its files are reached.

All segments of a partition share one `Home`; renaming the directory (deletion, `-future` swap) changes one path here,
and no open file notices. It is what Kafka hands from class to class as `dir`, with the clock, the file system and the
list of what is not durable beside it.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from tidelog.common.clock import Clock
from tidelog.common.errors import StorageError
from tidelog.common.fs import FileSystem
from tidelog.log.segment._handles import FileBudget
from tidelog.log.segment.unsynced import Unsynced


class Home:
    """`with home:` turns an error of the disk into a StorageError: who owns the log directory takes it offline."""

    __slots__ = ("clock", "failed", "files", "fs", "path", "renaming", "unsynced")

    def __init__(self, path: Path, fs: FileSystem, clock: Clock, files: FileBudget) -> None:
        self.path = path
        self.fs = fs
        self.clock = clock
        self.files = files
        self.unsynced = Unsynced()
        #: Why a sync failed. None may be tried after it: the kernel may have dropped what it could not write.
        self.failed: OSError | None = None
        #: The directory is about to have another name, or has it, and `path` may not say so yet.
        self.renaming = False

    def file(self, name: str) -> Path:
        """Where a file of this name is now. Not to be kept: the directory may get another name at any time."""
        return self.path / name

    def rename(self, path: Path, *, sync: bool = True) -> None:
        """Move the directory; the new name is durable on return, unless the caller syncs many at once."""
        self.renaming = True
        try:
            self.fs.rename(self.path, path)
            self.path = path
        finally:
            self.renaming = False
        if sync:
            self.fs.sync_dir(path.parent)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            raise self.failure(error) from error

    def failure(self, error: OSError) -> StorageError:
        """What to raise `from error`, where a `with` would cost too much."""
        return StorageError(f"{self.path}: {error}")
