"""How commands reach a cluster: `--bootstrap-server`, a properties file, and the loop to run on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.properties import parse_properties

if TYPE_CHECKING:
    from tidelog.client.cluster_client import ClusterClient

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_SERVER = "localhost:9092"
SERVER_VARIABLE = "TIDELOG_BOOTSTRAP_SERVER"


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
    settings: dict[str, object] = {}
    if config_file is not None:
        settings.update(parse_properties(Path(config_file).read_text("utf-8")))
    if server is not None or "bootstrap.servers" not in settings:
        settings["bootstrap.servers"] = server or os.environ.get(SERVER_VARIABLE, DEFAULT_SERVER)
    settings.update({key: value for key, value in more.items() if value is not None})
    return settings


def run(settings: dict[str, object], work: Callable[[ClusterClient], Coroutine[Any, Any, T]]) -> T:
    """Connect, work, disconnect."""
    from tidelog.client.cluster_client import ClusterClient

    async def main() -> T:
        async with ClusterClient(settings) as cluster:
            return await work(cluster)

    try:
        return asyncio.run(main())
    except KafkaError as error:
        if error.code is not ErrorCode.NETWORK_EXCEPTION:
            raise
        hint = f"Is a broker running at {settings['bootstrap.servers']}? -b or ${SERVER_VARIABLE} names another."
        raise KafkaError(error.code, f"{error.message}. {hint}") from error


def parse_pairs(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """`key=value` options as a table."""
    pairs = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {text}: expected key=value")
        pairs[name] = value
    return pairs
