"""`tidelog log`: look into, check, repair and compact Kafka log directories without a broker.

Commands that only read (dump, verify, stat) work beside a running broker. Those that write (reindex, compact) take the
directory's lock, as a broker does, and refuse if somebody has it.
"""

from __future__ import annotations

import click

from tidelog.cli.main import load

#: name → (module:command, help), imported when used.
_TABLE: dict[str, tuple[str, str]] = {
    "dump": ("tidelog.cli.log_dump:dump", "Show batches, records, indexes, snapshots and checkpoints."),
    "verify": ("tidelog.cli.log_verify:verify", "Check checksums, offsets, indexes and snapshots."),
    "stat": ("tidelog.cli.log_stat:stat", "Show sizes, counts, times, compression and keys."),
    "reindex": ("tidelog.cli.log_reindex:reindex", "Build the indexes anew from the data."),
    "compact": ("tidelog.cli.log_compact:compact", "Keep only the last record of every key."),
}


class _LogGroup(click.Group):
    """The group of `main.py` once more, for the commands below `log`: names and help by a table, imports on use."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(_TABLE)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in _TABLE:
            return None
        command = load(_TABLE[name][0])
        if not isinstance(command, click.Command):
            raise TypeError(f"{_TABLE[name][0]} is no command")
        return command

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _TABLE.items()])


@click.group("log", cls=_LogGroup, epilog="All of them also work on directories that Apache Kafka wrote.")
def log() -> None:
    """Look into, check, repair and compact Kafka log directories, without a broker.

    PATH is a log directory (what log.dirs names), one partition's directory in it, or a single file.
    """
