"""The command table: every entry loads, and none is loaded before it is used."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from tidelog.cli import main as cli


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
