"""The command table: every entry loads, and none is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from tidelog.cli import main as cli
from tidelog.cli.serve import Arguments, build_config
from tidelog.common.config import ConfigError
from tidelog.common.errors import UsageError


@pytest.mark.parametrize("entry", cli.COMMANDS, ids=lambda entry: entry.name)
def test_every_entry_names_a_command(entry: cli.Entry) -> None:
    assert isinstance(cli.load(entry.target), click.Command)
    if entry.quick is not None:
        assert callable(cli.load(entry.quick))


def test_help_lists_every_command_and_imports_none() -> None:
    code = (
        "import sys; from tidelog.cli.main import main; status = main(['--help']);"
        "loaded = [m for m in sys.modules if m.startswith('tidelog.') or m == 'rich'];"
        "print('LOADED', *sorted(loaded)); sys.exit(status)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for entry in cli.COMMANDS:
        assert entry.name in result.stdout
        assert entry.help in " ".join(result.stdout.split())
    loaded = result.stdout.split("LOADED")[1].split()
    common = {"tidelog.common", "tidelog.common.errors", "tidelog.common.named_tuple"}
    assert set(loaded) <= {"tidelog.cli", "tidelog.cli.main", *common}


def test_a_wrong_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["no-such-command"]) == 2
    assert "No such command" in capsys.readouterr().err


def test_a_typo_is_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["topcis"]) == 2
    assert "Did you mean 'topics'?" in capsys.readouterr().err
    assert cli.main(["xyzzy"]) == 2
    assert "`tidelog --help` shows what there is" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tidelog")


def test_python_runs_the_package_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "tidelog", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("tidelog, version")
    done = subprocess.run([sys.executable, "-m", "tidelog", "topcis"], capture_output=True, text=True)
    assert (done.returncode, "Did you mean 'topics'?" in done.stderr) == (2, True)


def test_commands_show_warnings_of_the_library(tmp_path: Path) -> None:
    """The library alone is silent (see `unit/client/test_silence.py`)."""
    script = (
        "import logging, sys\n"
        "from tidelog.cli import main as cli\n"
        "import tidelog.log\n"
        "with cli.warnings_shown():\n"
        "    logging.getLogger('tidelog.log.x').warning('seen')\n"
        "    logging.getLogger('tidelog.log.x').info('not seen')\n"
        "logging.getLogger('tidelog.log.x').warning('over')\n"
        "sys.exit(cli.main(['log', 'stat', sys.argv[1]]))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "seen"
    assert "over" not in done.stderr


def arguments_of(tmp_path: Path, text: bytes) -> Arguments:
    (tmp_path / "server.properties").write_bytes(text)
    arguments = Arguments()
    arguments.properties = str(tmp_path / "server.properties")
    return arguments


@pytest.mark.parametrize("coding", ["utf-8", "latin-1"])
def test_a_properties_file_may_be_written_as_java_does(tmp_path: Path, coding: str) -> None:
    arguments = arguments_of(tmp_path, "# Größe\nlog.dirs=/größe\nnum.partitions=3\n".encode(coding))
    assert build_config(arguments).raw == {"log.dirs": "/größe", "num.partitions": "3"}


def test_what_is_no_properties_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"server\.properties is no properties file: \\users is no character"):
        build_config(arguments_of(tmp_path, rb"log.dirs=C:\users\kafka"))


def test_a_node_that_is_no_broker_is_refused(tmp_path: Path) -> None:
    text = b"process.roles=controller\nlisteners=CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER\n"
    with pytest.raises(ConfigError, match="add the broker role"):
        build_config(arguments_of(tmp_path, text))


def test_a_broker_may_open_as_many_files_as_the_system_allows() -> None:
    """A shell gives 1,024; a process may ask for more, up to its hard limit."""
    script = (
        "import resource as r\n"
        "from tidelog.cli.serve import use_all_descriptors\n"
        "r.setrlimit(r.RLIMIT_NOFILE, (256, 512))\n"
        "use_all_descriptors()\n"
        "print(*r.getrlimit(r.RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["512", "512"]
