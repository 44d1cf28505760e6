"""`tidelog serve`: run a broker until it is told to stop.

It starts in a tenth of a second, so nothing is imported that is not needed: `quick` reads the ordinary arguments by
itself and leaves `--help` and mistakes to click, which explains them better.

A broker started by a test is started thousands of times, and a person who types `serve` waits for "ready": both pay for
every import. So the arguments are read by hand here, the garbage collector is off while modules are loaded, and what
was loaded is frozen, so that no later collection looks through it.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from tidelog.common.errors import TidelogError, UsageError

if TYPE_CHECKING:
    import click

    from tidelog.broker.config.broker_config import BrokerConfig

DEFAULT_DATA_DIR = "tidelog-data"
DEFAULT_LISTEN = "127.0.0.1:9092"
#: More open files than this nobody needs, and some systems that say "unlimited" grant no more.
MOST_DESCRIPTORS = 1 << 20
#: Options that take a value, and the field that they fill.
_VALUES = {"--data-dir": "data_dir", "--listen": "listen", "--http": "http", "--set": "settings"}


class Arguments:
    """What the command line says; no dataclass, as that module alone takes a twentieth of the time to start."""

    def __init__(self) -> None:
        self.properties: str | None = None
        self.data_dir: str | None = None
        self.listen: str | None = None
        self.http: str | None = None
        self.settings: list[str] = []
        self.accept_defaults = False


def quick(words: list[str]) -> int | None:
    """Serve, if the arguments are plain; None hands them to click.

    Returns the exit status, 2 for what the caller can mend. The collector stays off until the broker serves: there are
    no cycles to find in modules that have just been loaded, and looking for them takes a noticeable part of the start.
    """
    arguments = parse(words)
    if arguments is None:
        return None
    gc.disable()  # nothing to collect while we only import; `serve` switches it on again
    try:
        return serve(arguments)
    except (TidelogError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2 if isinstance(error, UsageError) else 1


def parse(words: list[str]) -> Arguments | None:
    """The ordinary arguments; None for anything unusual: help, an unknown option, a value that is missing. click reads
    those again and says what is wrong, slowly and well.
    """
    arguments = Arguments()
    pending = iter(words)
    for word in pending:
        name, equals, value = word.partition("=")
        if word == "--accept-defaults":
            arguments.accept_defaults = True
        elif name in _VALUES:
            given = value if equals else next(pending, None)
            if given is None:
                return None
            if name == "--set":
                arguments.settings.append(given)
            else:
                setattr(arguments, _VALUES[name], given)
        elif word.startswith("-") or arguments.properties is not None:
            return None
        else:
            arguments.properties = word
    return arguments


def serve(arguments: Arguments) -> int:
    """Run a broker; returns the exit status."""
    from tidelog.broker import config as keys
    from tidelog.broker.logging_setup import configure

    config = build_config(arguments)
    configure(config[keys.TIDELOG_LOG_LEVEL], config[keys.TIDELOG_LOG_FORMAT])
    import uvloop

    use_all_descriptors()
    failure: BaseException | None = uvloop.run(_run(config))
    if failure is not None:
        sys.stderr.write(f"error: the broker has ended: {failure}\n")
    return 0 if failure is None else 1


def use_all_descriptors() -> None:
    """Raise the limit of open files as far as the system lets us, as a JVM does: a shell's 1,024 is for small ones."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MOST_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def build_config(arguments: Arguments) -> BrokerConfig:
    """The file's values, under those of the command line.

    `--set` goes over all else, as it is the most particular. A file without `log.dirs` keeps Kafka's default, and only
    a start without a file makes `./tidelog-data`: whoever gives a `server.properties` wants what Kafka would do with
    it.
    """
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.cli.properties_file import read_properties

    raw: dict[str, str] = {}
    if arguments.properties is not None:
        raw = read_properties(arguments.properties)
    if arguments.data_dir is not None or not (raw.get("log.dirs") or raw.get("log.dir") or arguments.properties):
        raw["log.dirs"] = arguments.data_dir or DEFAULT_DATA_DIR
    if arguments.listen is not None or "listeners" not in raw:
        _listen(raw, arguments)
    for setting in arguments.settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"--set {setting}: expected key=value")
        raw[name.strip()] = value.strip()
    if arguments.http is not None:
        raw["tidelog.http.listener"] = arguments.http
    if arguments.accept_defaults:
        raw["tidelog.adopt.accept.defaults"] = "true"
    return BrokerConfig(raw)


def _listen(raw: dict[str, str], arguments: Arguments) -> None:
    """One plain listener, instead of whatever the file says of listeners."""
    if arguments.listen is None and arguments.properties is not None:
        return  # the file leaves it to Kafka's default
    host, colon, port = (arguments.listen or DEFAULT_LISTEN).rpartition(":")
    if not colon or not port.isdigit():
        raise UsageError(f"--listen {arguments.listen}: expected HOST:PORT, such as 127.0.0.1:9092 (port 0: any)")
    raw["listeners"] = f"PLAINTEXT://{host}:{port}"
    for name in ("advertised.listeners", "inter.broker.listener.name", "listener.security.protocol.map"):
        raw.pop(name, None)


async def _run(config: BrokerConfig) -> BaseException | None:
    """Start, say so, wait, stop; returns why it had to end, if it had.

    "ready" is written when requests are answered, not when the port is open, and by `os.write`, past any buffer:
    whoever started the broker waits for that line. A second one, in the same breath, says where `/health` and
    `/metrics` are, if they were asked for. There is nothing else on standard output; logs go to standard error.
    """
    from tidelog.broker.server import Broker

    broker = Broker(config)
    broker.stop_on_signals()
    await broker.start()
    gc.enable()
    gc.freeze()  # what is here now stays: never look through it again
    gc.set_threshold(10_000, 20, 20)  # requests leave no cycles; looking for them so often costs a tenth of a commit
    said = f"tidelog ready {broker.address}\n"
    if broker.http is not None:
        said += f"tidelog http {broker.http.address}\n"
    os.write(sys.stdout.fileno(), said.encode())
    await broker.wait_ended()
    await broker.stop()
    return broker.failure


def command() -> click.Command:
    """The same command for click: its help, and its explanations of mistakes."""
    import click

    @click.command("serve")
    @click.argument("properties", required=False, type=click.Path(exists=True, dir_okay=False))
    @click.option("--data-dir", metavar="DIR", help=f"Where the logs are kept.  [default: ./{DEFAULT_DATA_DIR}]")
    @click.option("--listen", metavar="HOST:PORT", help=f"Port 0 picks a free one.  [default: {DEFAULT_LISTEN}]")
    @click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="Set any broker key; may be repeated.")
    @click.option("--http", metavar="HOST:PORT", help="Serve /metrics (Prometheus) and /health there; port 0: any.")
    @click.option("--accept-defaults", is_flag=True, help="Keep adopted topics of unknown config by the defaults.")
    def serve_command(**options: object) -> int:
        """Run a broker.

        PROPERTIES is a Kafka server.properties, taken as it is. Without one, a broker of its own is made in
        ./tidelog-data. The first line on standard output is "tidelog ready HOST:PORT", a second one "tidelog http
        HOST:PORT" if there is --http; SIGTERM or Ctrl-C stop it cleanly. On a stopped Apache Kafka's log directory, its
        topics are served.

        \b
        Examples:
          tidelog serve
          tidelog serve --data-dir /var/lib/tidelog --listen 0.0.0.0:9092
          tidelog serve server.properties --set log.retention.hours=24
        """
        arguments = Arguments()
        for name, value in options.items():
            setattr(arguments, name, list(value) if isinstance(value, tuple) else value)
        return serve(arguments)

    return serve_command


def __getattr__(name: str) -> object:
    """`serve_command` is made when click asks for it."""
    if name == "serve_command":
        return command()
    raise AttributeError(name)
