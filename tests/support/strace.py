"""What a real process did to the disk, by `strace`, as a journal that a crash can be replayed from.

This sees the system calls themselves, so it also catches what goes past Tidelog's file system seam. It does not see
what is written through maps: files of these endings must be left out of the remains (a start rebuilds them).
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from support.patience import eventually
from tidelog.testing.fs import Operation

CALLS = (
    "open,openat,creat,write,pwrite64,pwritev,pwritev2,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,"
    "ftruncate,fsync,fdatasync"
)
_LINE = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")
_PATH = re.compile(r"<((?:\\x[0-9a-f]{2})+)>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')
_LAST_NUMBER = re.compile(r"(\d+)\Z")


def command(output: Path, *program: str) -> list[str]:
    """`program` under strace: all strings in hexadecimal and whole, file descriptors with their paths."""
    return ["strace", "-f", "-qq", "-y", "-xx", "-s", "1000000", "-e", f"trace={CALLS}", "-o", str(output), *program]


def available() -> bool:
    """Whether strace is there and allowed to trace (containers may forbid it)."""
    try:
        probe = ["strace", "-qq", "-o", "/dev/null", sys.executable, "-c", ""]
        return subprocess.run(probe, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


class Moved(NamedTuple):
    """One system call that took bytes out of a file."""

    call: str
    size: int


#: Every call by which bytes of a file could reach a program or a socket.
READS = "read,readv,pread64,preadv,preadv2,sendfile,splice,copy_file_range,mmap"


def watcher(output: Path, *program: str, inject: str | None = None) -> list[str]:
    """`program` with its reads watched, one output file per thread; it stays the caller's own child, with its signals.

    `inject` makes calls fail: "sendfile:error=ENOSYS".
    """
    faults = ["-e", f"inject={inject}"] if inject else []
    return [
        "strace", "-D", "-ff", "--seccomp-bpf", "-y", "-s", "0", "-e", f"trace={READS}", *faults, "-e", "signal=none",
        "-o", str(output), *program,
    ]  # fmt: skip


def moved(output: Path, pid: int, suffix: str) -> list[Moved]:
    """What the process, which has ended, did with files of this ending, all its threads together."""
    main = output.with_name(f"{output.name}.{pid}")
    eventually(lambda: "+++ exited with" in main.read_text())  # the tracer may be a moment behind
    lines = [line for path in output.parent.glob(f"{output.name}.*") for line in path.read_text().splitlines()]
    matches = [match for line in lines if f"{suffix}>" in line and (match := _LINE.match(line))]
    return [Moved(match[1], int(match[3])) for match in matches]


def journal(trace: Path, root: Path) -> Iterator[Operation | str]:
    """The operations below `root` in order, and what was printed to stdout (as text) in between."""
    known: set[Path] = {root}
    for line in trace.read_text().splitlines():
        match = _LINE.match(line)
        if match is None or int(match[3]) < 0:
            continue
        call, arguments = match[1], match[2]
        if call == "write" and arguments.startswith("1<"):
            yield b"".join(map(_bytes, _TEXT.findall(arguments))).decode()
            continue
        for operation in _operations(call, arguments, known):
            if operation.path.is_relative_to(root):
                yield operation


def _operations(call: str, arguments: str, known: set[Path]) -> Iterator[Operation]:
    if call in ("open", "openat", "creat"):
        path = Path(_bytes(_TEXT.findall(arguments)[0]).decode())
        if "O_CREAT" in arguments and path not in known:
            known.add(path)
            yield Operation("create", path)
    elif call.startswith(("mkdir", "rename", "unlink", "rmdir")):
        paths = [Path(_bytes(text).decode()) for text in _TEXT.findall(arguments)]
        kind = "rename" if call.startswith("rename") else call.removesuffix("at")
        known.discard(paths[0])
        if kind in ("mkdir", "rename"):
            known.add(paths[-1])
        yield Operation(kind, paths[0], paths[1] if kind == "rename" else None)
    else:
        found = _PATH.search(arguments)
        if found is None:
            return
        path = Path(_bytes(found[1]).decode())
        if call in ("fsync", "fdatasync"):
            yield Operation("sync_dir" if path.is_dir() else "sync", path)
        elif call == "ftruncate":
            yield Operation("truncate", path, position=_last(arguments))
        elif call.startswith("pwrite"):
            data = b"".join(map(_bytes, _TEXT.findall(arguments)))
            if call == "pwritev2":  # has flags behind the position
                arguments = arguments.rpartition(",")[0]
            yield Operation("write", path, position=_last(arguments), data=data)


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _last(arguments: str) -> int:
    match = _LAST_NUMBER.search(arguments)
    if match is None:
        raise ValueError(f"no number at the end of {arguments[-80:]!r}")
    return int(match[1])
