"""A partition's directory and the seams by which its files are reached.

All segments of a partition share one `Home`; renaming the directory (deletion, `-future` swap) changes one path here,
and no open file notices.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tidelog.common.clock import Clock
from tidelog.common.fs import FileSystem
from tidelog.log._handles import FileBudget


@dataclass(slots=True)
class Home:
    path: Path
    fs: FileSystem
    clock: Clock
    files: FileBudget

    def file(self, name: str) -> Path:
        return self.path / name

    def rename(self, path: Path) -> None:
        """Move the directory; the new name is durable on return."""
        self.fs.rename(self.path, path)
        self.path = path
        self.fs.sync_dir(path.parent)
