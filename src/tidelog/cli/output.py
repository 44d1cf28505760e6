"""How every command prints.

On a terminal: tables and colours, by `rich` (no colours, and nothing in bold, where `NO_COLOR` is set). In a pipe:
plain aligned columns, so that grep, awk and people read them.
Under `--json`: one JSON object per line, nothing else. Progress bars and remarks go to stderr, and the bars only when
that is a terminal. `rich` is imported when something is drawn, not before.

Why not one form for all: a table needs the widths of its columns before its first line, so that it can only be printed
when all rows are there; a pipe wants the first line at once. A person wants times and sizes to be readable, a program
wants numbers: JSON has the numbers.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

#: Wider than any table.
WIDEST = 100_000
#: With more rows than this the parts of a wide table would be too far from each other to be read together.
STACKED_ROWS = 30

F = TypeVar("F", bound=Callable[..., Any])

#: Words that are drawn in colour wherever they stand alone in a cell.
STYLES = {"ok": "green", "yes": "green", "warning": "yellow", "error": "bold red", "corrupt": "bold red"}


def json_option(command: F) -> F:
    """The `--json` option that every command offers."""
    import click

    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")(command)


class Output:
    """Where a command's results go.

    Made once per command, which knows by then whether `--json` was given. Whether standard output is a terminal is
    looked at once: a command does not change its form half way.
    """

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self.terminal = sys.stdout.isatty()

    def rows(self, columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
        """A table. Under `--json` each row is an object keyed by the columns' names in snake case."""
        if self.as_json:
            names = [snake(column) for column in columns]
            for row in rows:
                self.json(dict(zip(names, row, strict=True)))
        elif self.terminal:
            self._rich_table(columns, rows, title)
        else:
            _plain_table(columns, rows, title)

    def record(self, fields: Mapping[str, object], *, title: str | None = None) -> None:
        """Names and values under each other; under `--json` one object."""
        if self.as_json:
            self.json(fields)
        elif self.terminal:
            self._rich_table(None, list(fields.items()), title)
        else:
            _plain_table(None, list(fields.items()), title)

    def json(self, value: Mapping[str, object]) -> None:
        """One object, one line. Bytes become text or base64, anything else that JSON has no form for its text."""
        sys.stdout.write(json.dumps(value, default=_encode, ensure_ascii=False) + "\n")

    def line(self, text: str, *, style: str | None = None) -> None:
        """A line of plain output (nothing under `--json`: there, say it in a field)."""
        if self.as_json:
            return
        if style and self.terminal:
            self._console().print(text, style=style, markup=False, highlight=False, soft_wrap=True)
        else:
            sys.stdout.write(text + "\n")

    def remark(self, text: str) -> None:
        """Something for the person, not for the pipe.

        Hints ("there is nothing behind the end"), counts at the end of a run, and whom one is waiting for. Never
        results.
        """
        sys.stderr.write(text + "\n")

    @contextmanager
    def progress(self, description: str, total: int) -> Iterator[Callable[[int], None]]:
        """A progress bar in bytes on stderr; yields the function that advances it."""
        if self.as_json or not sys.stderr.isatty() or total <= 0:
            yield lambda count: None
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )

        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        console = Console(stderr=True, color_system=_colors())
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task(description, total=total)
            yield lambda count: bar.advance(task, count)

    def _console(self) -> Console:
        """Made when something is drawn: rich looks at the terminal's width and colours then."""
        from rich.console import Console

        return Console(file=sys.stdout, color_system=_colors())

    def _rich_table(self, columns: Sequence[str] | None, rows: Iterable[Sequence[object]], title: str | None) -> None:
        """A drawn table without the columns that say nothing. Where that is too wide, its columns come in parts, one
        under the other, each behind the first column; where that cannot help, a line of pairs per row.
        """
        if title:
            self.line(title, style="bold")
        rows = [list(row) for row in rows]
        names = list(columns) if columns is not None else ["", ""]
        shown = [index for index in range(len(names)) if not rows or any(row[index] is not None for row in rows)]
        console = self._console()
        if columns is None:
            console.print(_table(names, rows, shown, header=False))
            return
        unbounded = console.options.update(width=WIDEST)
        parts: list[list[int]] = []
        for index in shown:
            if parts and _fits(console, _table(names, rows, [*parts[-1], index]), unbounded):
                parts[-1].append(index)
            else:
                parts.append([shown[0], index] if parts else [index])
        whole = all(_fits(console, _table(names, rows, part), unbounded) for part in parts)
        if len(parts) > 1 and (not whole or len(rows) > STACKED_ROWS):
            for row in rows:
                self.line(pairs((names[index], row[index]) for index in shown))
            return
        for part in parts:
            console.print(_table(names, rows, part))


def _colors() -> Literal["auto"] | None:
    """None where somebody wants no colours (no-color.org); rich alone would still print in bold then."""
    return None if os.environ.get("NO_COLOR") else "auto"


def _table(
    names: Sequence[str], rows: Sequence[Sequence[object]], shown: Sequence[int], *, header: bool = True
) -> Table:
    """Some columns of a table, as rich draws it."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_header=header, header_style="bold")
    for index in shown:
        justify: Literal["right", "left"] = "right" if _numeric(row[index] for row in rows) else "left"
        table.add_column(names[index], justify=justify, overflow="fold")
    for row in rows:
        cells = [display(row[index]) for index in shown]
        table.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in cells))
    return table


def _fits(console: Console, table: Table, unbounded: ConsoleOptions) -> bool:
    return console.measure(table, options=unbounded).maximum <= console.width


def _plain_table(columns: Sequence[str] | None, rows: Iterable[Sequence[object]], title: str | None) -> None:
    """Columns aligned by blanks, numbers to the right, nothing after the last cell: what `column -t` would make
    of it.
    """
    if title:
        sys.stdout.write(title + "\n")
    values = list(rows)
    lines = [[display(cell) for cell in row] for row in values]
    if columns is not None:
        lines.insert(0, list(columns))
    if not lines:
        return
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    numeric = [_numeric(row[index] for row in values) for index in range(len(widths))]
    for line in lines:
        cells = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def _numeric(cells: Iterable[object]) -> bool:
    """Whether a column holds numbers, with gaps or without."""
    kinds = {type(cell) for cell in cells}
    return bool(kinds & {int, float}) and kinds <= {int, float, type(None)}


def pairs(fields: Iterable[tuple[str, object]]) -> str:
    """`base_offset=5 codec=none`: a row as a line of its own."""
    return " ".join(f"{snake(name)}={display(value)}" for name, value in fields)


def counted(number: int, noun: str) -> str:
    """`1 partition`, `3 partitions`, `2 batches`."""
    plural = f"{noun}es" if noun.endswith("ch") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def snake(name: str) -> str:
    """A column's title as a key of JSON: `Base offset` is `base_offset`."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def display(value: object) -> str:
    """A value as a person reads it in a cell."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return text_of(bytes(value))
    return str(value)


def text_of(data: bytes, limit: int = 60) -> str:
    """Bytes as text where they are text, as hexadecimal where they are not; long ones are cut."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = ""
    if text.isprintable() and (text or not data):
        return text if len(text) <= limit else f"{text[: limit - 1]}…"
    shown = data[: limit // 2].hex()
    return f"0x{shown}" if len(data) <= limit // 2 else f"0x{shown}…"


def json_bytes(data: bytes | None) -> object:
    """Bytes in JSON: a string where they are UTF-8, else an object with their base64.

    `produce --json` understands both forms, so that what one command prints the other can read. Keys and values are
    nearly always text; base64 for all would make them unreadable for the sake of the few that are not.
    """
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _encode(value: object) -> object:
    """What `json` asks for values that it does not know."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return json_bytes(bytes(value))
    return str(value)


def size_text(count: int) -> str:
    """1536 → `1.5 KiB`."""
    if count < 1024:
        return f"{count} B"
    size = float(count)
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if size < 1024 or unit == "TiB":
            return f"{size:.1f} {unit}"
    raise AssertionError("unreachable")


def time_text(time_ms: int | None) -> str | None:
    """Milliseconds since the epoch as ISO text in UTC; None for "no timestamp"."""
    if time_ms is None or time_ms < 0:
        return None
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=time_ms)
    except OverflowError:
        return f"{time_ms} ms"
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time_ms % 1000:03d}Z"
