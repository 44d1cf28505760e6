"""The `tidelog` command: a table of sub-commands, each imported only when it is used.

To add one, write a click command (or group) in its own module and add a line to `COMMANDS`. The help text of the line
is what `tidelog --help` shows, so that showing the list imports nothing. A command that must start in no time
(`serve`) may also name a `quick` function: it gets the raw arguments before click is even imported, and returns the
exit status, or None to let click do it (`--help`, mistakes).

What goes wrong becomes an exit status here and nowhere else. Commands raise: `UsageError` for what the caller can mend,
any other `TidelogError` or `OSError` for what failed, and return 1 when they worked but found something wrong (`log
verify`).

The library itself shows nothing of its log. Commands show warnings on standard error, by their text alone; `serve` has
a log of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    import click


class Subcommand(NamedTuple):
    """A sub-command: where it lives and what it says of itself.

    A table of texts instead of imports: `tidelog --help` imports click and nothing of ours, and a broken command does
    not break the others.
    """

    name: str
    target: str  # "module:attribute"
    help: str
    section: str
    quick: str | None = None  # "module:function(arguments) -> exit status | None"


COMMANDS: tuple[Subcommand, ...] = (
    Subcommand(
        "serve",
        "tidelog.cli.serve:serve_command",
        "Run a broker.",
        "Broker",
        quick="tidelog.cli.serve:quick",
    ),
    Subcommand("topics", "tidelog.cli.topics:topics", "Create, list, describe and delete topics.", "Cluster"),
    Subcommand("produce", "tidelog.cli.produce:produce", "Write lines of standard input to a topic.", "Records"),
    Subcommand("consume", "tidelog.cli.consume:consume", "Print the records of a topic.", "Records"),
    Subcommand("log", "tidelog.cli.log_group:log", "Look into Kafka log directories, offline.", "Storage"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the console script's entry point."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    status = _quick(words)
    if status is not None:
        return status
    return _through_click(words)


def _quick(words: list[str]) -> int | None:
    """The status of a command that read its arguments by itself; None where there is no such command, or it
    declined.
    """
    for entry in COMMANDS:
        if words and entry.name == words[0] and entry.quick is not None:
            run = cast("Callable[[list[str]], int | None]", load(entry.quick))
            return run(words[1:])
    return None


def _through_click(words: list[str]) -> int:
    """Everything else. click is told not to exit by itself (`standalone_mode=False`), so that its exceptions and ours
    end in one place.
    """
    import click

    from tidelog.common.errors import TidelogError, UsageError

    try:
        with warnings_shown():
            result = root_command().main(words, prog_name="tidelog", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Point stdout elsewhere, or Python complains while it exits.
        sys.stdout = None
        return 0
    except (TidelogError, OSError) as error:
        label = "error: " if os.environ.get("NO_COLOR") else click.style("error: ", fg="red", bold=True)
        click.echo(f"{label}{error}", err=True)
        return 2 if isinstance(error, UsageError) else 1


@contextmanager
def warnings_shown() -> Iterator[None]:
    """Show warnings of ours as Python shows them where nobody has set up logging; where somebody has, do nothing."""
    import logging

    log, handler = logging.getLogger("tidelog"), logging.lastResort
    if handler is None or logging.getLogger().handlers:
        yield
        return
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def load(target: str) -> object:
    """The object that `"module:attribute"` names."""
    module, _, attribute = target.partition(":")
    return getattr(import_module(module), attribute)


def root_command() -> click.Group:
    """The click group over `COMMANDS`, built when it is needed (importing click takes a third of our start-up)."""
    import click

    from tidelog import __version__

    class LazyGroup(click.Group):
        """A group that knows its commands' names and help by the table, and imports a command when it is called."""

        def list_commands(self, context: click.Context) -> list[str]:
            """In the table's order, which is that of the help."""
            return [entry.name for entry in COMMANDS]

        def get_command(self, context: click.Context, name: str) -> click.Command | None:
            """Import the command; this is where the time goes."""
            for entry in COMMANDS:
                if entry.name == name:
                    return cast("click.Command", load(entry.target))
            return None

        def resolve_command(
            self, context: click.Context, words: list[str]
        ) -> tuple[str | None, click.Command | None, list[str]]:
            """A misspelt command is answered with the nearest one."""
            try:
                return super().resolve_command(context, words)
            except click.UsageError as error:
                from difflib import get_close_matches

                close = get_close_matches(words[0], self.list_commands(context), 1)
                hint = f"Did you mean '{close[0]}'?" if close else "`tidelog --help` shows what there is."
                raise click.UsageError(f"{error.message} {hint}", context) from error

        def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
            """The help's list, by section, from the table alone."""
            for section in dict.fromkeys(entry.section for entry in COMMANDS):
                with formatter.section(section):
                    formatter.write_dl([(entry.name, entry.help) for entry in COMMANDS if entry.section == section])

    options: dict[str, Any] = {"context_settings": {"help_option_names": ["-h", "--help"]}}
    group = LazyGroup(
        "tidelog",
        help="Kafka's commit log for the Python world: broker, log tools, clients and data pipeline.",
        epilog="`tidelog COMMAND --help` says more, with examples.",
        **options,
    )
    return click.version_option(__version__, prog_name="tidelog")(group)


if __name__ == "__main__":
    sys.exit(main())
