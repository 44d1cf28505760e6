"""Which segments a partition's directory holds, also while (or after) somebody stopped in the middle of replacing some.

    new   .cleaned ──► .swap ──────────────► plain name
    old                     └─► .deleted

While a `.cleaned` file of a replacement is left, the old segments are all there and count. Once all of its files are
`.swap` it is decided: these count, and old ones beside them do not any more. Between the renames neither the old nor
the new file has the plain name, and after a crash that lasts until a broker recovers the directory. (The loader follows
the same rules.)
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tidelog.common.fs import FileSystem
from tidelog.common.named_tuple import NamedTuple
from tidelog.log.names import CLEANED, LOG, SWAP, split_name

_SUFFIXES = ("", SWAP, CLEANED)
#: A directory in which names change every time that it is looked at is taken as it is after so many looks.
_LOOKS = 50


class SegmentFile(NamedTuple):
    base_offset: int
    suffix: str


def list_segments(fs: FileSystem, directory: Path, end_of: Callable[[SegmentFile], int]) -> list[SegmentFile]:
    """The segments that count now, in order. `end_of` tells the offset behind a segment that has `.swap`."""
    for _ in range(_LOOKS):
        names = _steady_names(fs, directory)
        try:
            return _counting(names, end_of)
        except FileNotFoundError:  # renamed while it was looked at
            continue
    return _counting(_steady_names(fs, directory), end_of)


def _steady_names(fs: FileSystem, directory: Path) -> frozenset[SegmentFile]:
    """A listing that comes out the same twice: a name that changes during one may be missing from it."""
    seen = _names(fs, directory)
    for _ in range(_LOOKS):
        again = _names(fs, directory)
        if again == seen:
            break
        seen = again
    return seen


def _names(fs: FileSystem, directory: Path) -> frozenset[SegmentFile]:
    parsed = (split_name(name) for name in fs.listdir(directory))
    return frozenset(
        SegmentFile(name[0], name[2]) for name in parsed if name is not None and name[1] == LOG and name[2] in _SUFFIXES
    )


def _counting(names: frozenset[SegmentFile], end_of: Callable[[SegmentFile], int]) -> list[SegmentFile]:
    plain = {name for name in names if not name.suffix}
    swapped = {name for name in names if name.suffix == SWAP}
    undecided = [name.base_offset for name in names if name.suffix == CLEANED]
    if undecided:
        swapped = {name for name in swapped if name.base_offset < min(undecided)}
    if not swapped:
        return sorted(plain)
    end = max(max(end_of(name), name.base_offset + 1) for name in swapped)  # one may be empty
    first = min(name.base_offset for name in swapped)
    return sorted({name for name in plain if not first <= name.base_offset < end} | swapped)
