"""A disk under a running broker that can be stopped at any operation, and then shows what a power loss leaves of it."""

from __future__ import annotations

import errno
import shutil
import threading
from pathlib import Path

from tidelog.broker.store.local import FILE_NAME
from tidelog.testing.crash_disk import CrashDisk
from tidelog.testing.fs import PowerLoss, Survival
from tidelog.testing.fs_hooks import HookedFileSystem, Operation

_HARMLESS = frozenset({"open", "read"})


class PerishableFileSystem(HookedFileSystem):
    """Does everything for real below `root`, whose directories are there already, until it is told to `die`."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.root = root
        self.dead = False
        #: How many changes it still takes; None: any number.
        self.left: int | None = None
        self._disk = CrashDisk(root)
        self._disk.load()
        self._lock = threading.RLock()
        self._renames: list[tuple[Path, Path]] = []

    def before(self, operation: Operation) -> None:
        if operation.kind in _HARMLESS:
            return
        if self.left is not None and not self.dead and operation.kind != "write_back":
            if self.left == 0:
                self.die()
            else:
                self.left -= 1
        if self.dead:
            raise OSError(errno.EIO, "the process is gone", str(operation.path))

    def after(self, operation: Operation) -> None:
        if operation.kind in _HARMLESS:
            return
        with self._lock:
            try:
                self._disk.apply(operation)
            except KeyError:  # another thread renamed the directory meanwhile
                self._disk.apply(operation._replace(path=self._renamed(operation.path)))
            if operation.kind == "rename" and operation.target is not None:
                self._renames.insert(0, (operation.path, operation.target))

    def _renamed(self, path: Path) -> Path:
        source, target = next((source, target) for source, target in self._renames if path.is_relative_to(source))
        return target / path.relative_to(source)

    def die(self) -> None:
        """The process ends here: what was written stays, nothing more comes."""
        if not self.dead:
            self.left = None
            self.flush_maps()
            self.dead = True

    def lose_power(self, survival: Survival | PowerLoss) -> None:
        """Leave below `root` what the machine finds when it starts again; the store syncs what it answers."""
        assert self.dead
        scratch = self.root.with_name(f"{self.root.name}-found")
        self._disk.materialise(survival, scratch)
        for path in self.root.glob(f"*/{FILE_NAME}*"):
            (scratch / path.relative_to(self.root).parent).mkdir(exist_ok=True)
            shutil.copy2(path, scratch / path.relative_to(self.root))
        shutil.rmtree(self.root)
        scratch.rename(self.root)
