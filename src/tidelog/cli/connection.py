"""How commands reach a cluster: `--bootstrap-server`, a properties file, and the loop to run on.

A command names its cluster by `-b`, else the file of `-c`, else the environment, else localhost; so that `tidelog
topics list` just works beside `tidelog serve`, and a profile for another cluster is one variable.

Every command asks first whether anybody is there, and fails at once if not: most often the broker is not started, or
the address is another one. Who goes away later is waited for as long as the client does; but after two seconds of
nobody the command says whom it waits for, since silence looks like work.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tidelog.cli.properties_file import read_properties
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.net.pauses import pause

if TYPE_CHECKING:
    from tidelog.client.cluster.client import ClusterClient

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_SERVER = "localhost:9092"
SERVER_VARIABLE = "TIDELOG_BOOTSTRAP_SERVER"
WATCH_SECONDS = 0.5
#: How long nobody is reached before that is said.
PATIENCE_SECONDS = 2.0


class Interrupted(click.exceptions.Exit):
    """Ctrl-C.

    An exit, not an error: the shell gets 130, as from any program that a signal has ended.
    """

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGINT)


def connection_options(command: F) -> F:
    """`-b` and `-c`, which every command that talks to a cluster has."""
    command = click.option(
        "-c",
        "--command-config",
        "config_file",
        type=click.Path(exists=True, dir_okay=False),
        help="A properties file with client settings (security.protocol, sasl.…).",
    )(command)
    return click.option(
        "-b",
        "--bootstrap-server",
        "server",
        metavar="HOST:PORT",
        help=f"A broker of the cluster.  [default: ${SERVER_VARIABLE}, else {DEFAULT_SERVER}]",
    )(command)


def client_settings(server: str | None, config_file: str | None, **more: object) -> dict[str, object]:
    """The file's settings, under what the command line says; `more` are the command's own, None left out."""
    settings: dict[str, object] = {}
    if config_file is not None:
        settings.update(read_properties(config_file))
    if server is not None or "bootstrap.servers" not in settings:
        settings["bootstrap.servers"] = server or os.environ.get(SERVER_VARIABLE, DEFAULT_SERVER)
    settings.update({key: value for key, value in more.items() if value is not None})
    return settings


def run(settings: dict[str, object], work: Callable[[ClusterClient], Coroutine[Any, Any, T]]) -> T:
    """Connect, work, disconnect. Whom we wait for is said in a command's own words, not in those of the log.

    The first question is asked once. A client's own patience is for programs that start together with their brokers.
    """
    from tidelog.client.cluster.client import ClusterClient

    log = logging.getLogger("tidelog.client")
    level = log.level

    async def main() -> T:
        async with ClusterClient(settings) as cluster:
            watching = asyncio.create_task(_say_who_is_waited_for(cluster, settings))
            try:
                await cluster.refresh([])
                return await work(cluster)
            finally:
                watching.cancel()

    try:
        log.setLevel(logging.ERROR)
        return asyncio.run(main())
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            sys.stderr.write("\n")  # the terminal has shown ^C
        raise Interrupted from None
    except KafkaError as error:
        if error.code is not ErrorCode.NETWORK_EXCEPTION:
            raise
        text = error.message if error.message.endswith((".", "?")) else f"{error.message}."
        raise KafkaError(error.code, f"{text} -b or ${SERVER_VARIABLE} names another broker.") from error
    finally:
        log.setLevel(level)


async def _say_who_is_waited_for(cluster: ClusterClient, settings: dict[str, object]) -> None:
    """A line on standard error when nobody has been reached for a while; once each time that happens."""
    from tidelog.cli.output import Output

    silent = 0.0
    while True:
        await pause(WATCH_SECONDS)
        silent = 0.0 if cluster.is_connected else silent + WATCH_SECONDS
        if silent == PATIENCE_SECONDS:
            Output().remark(f"Waiting for a broker at {settings['bootstrap.servers']}; Ctrl-C gives up.")


def parse_pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """`key=value` options as a table."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text}: expected key=value")
        pairs[name] = value
    return pairs


def no_partition(topic: str, count: int, wanted: int) -> UsageError:
    """That the topic has other partitions than the wanted one."""
    present = "only partition 0" if count == 1 else f"partitions 0 to {count - 1}"
    return UsageError(f"{topic} has {present}, not {wanted}")
