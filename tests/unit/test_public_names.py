"""`import tidelog` imports nothing else; every public name is there when it is asked for."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tidelog
from tidelog import aio


def test_importing_the_package_imports_nothing() -> None:
    script = (
        "import sys; before = set(sys.modules); import tidelog, tidelog.aio; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['tidelog', 'tidelog.aio']"


@pytest.mark.parametrize("name", tidelog.__all__)
def test_public_names_are_there(name: str) -> None:
    assert getattr(tidelog, name) is not None
    assert name in dir(tidelog)


def test_type_checkers_are_told_of_the_same_names() -> None:
    stub = Path(tidelog.__file__).with_name("__init__.pyi").read_text()
    told = re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)
    assert {name: home for home, name in told} == tidelog._HOMES


@pytest.mark.parametrize("name", aio.__all__)
def test_the_asyncio_clients_are_there(name: str) -> None:
    client = getattr(aio, name)
    assert client.__name__ == name
    assert client is not getattr(tidelog, name), "it is another face of the same core"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'tidelog' has no attribute 'Produser'"):
        tidelog.Produser  # noqa: B018 - the look-up is what is tested
    with pytest.raises(AttributeError, match=r"module 'tidelog\.aio' has no attribute 'Produser'"):
        aio.Produser  # noqa: B018 - the look-up is what is tested
