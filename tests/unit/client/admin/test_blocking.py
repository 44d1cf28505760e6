"""The blocking Admin: the same as the other, waited for; and its types are those of the other."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tidelog.client.admin import aio
from tidelog.client.admin.blocking import Admin
from tidelog.common.errors import UsageError
from tidelog.testing import Broker

ROOT = Path(__file__).resolve().parents[4]


def test_every_method_is_there_with_its_parameters_and_text() -> None:
    for name, method in inspect.getmembers(aio.Admin, inspect.iscoroutinefunction):
        if not name.startswith("_") and name != "close":
            derived = getattr(Admin, name)
            assert inspect.signature(derived) == inspect.signature(method)
            assert derived.__doc__ == method.__doc__
            assert not inspect.iscoroutinefunction(derived)


def test_the_types_are_up_to_date() -> None:
    tool = ROOT / "tools" / "render_blocking_admin.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_several_threads_may_use_it() -> None:
    with Broker() as broker, Admin({"bootstrap.servers": broker.address}) as admin:
        names = [f"t{number}" for number in range(8)]
        threads = [threading.Thread(target=admin.create_topic, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert admin.topics() == names


def test_a_closed_admin_says_so_and_may_be_closed_again() -> None:
    admin = Admin(bootstrap_servers="127.0.0.1:1")
    admin.close()
    admin.close()
    with pytest.raises(UsageError, match="closed"):
        admin.topics()


def test_mistakes_are_told_at_once() -> None:
    with pytest.raises(UsageError, match="did you mean bootstrap_servers"):
        Admin(bootstrap_server="x:1")
    with Admin(bootstrap_servers="127.0.0.1:1") as admin, pytest.raises(TypeError, match="partitons"):
        admin.create_topic("a", partitons=3)  # type: ignore[call-arg]  # the mistake is the test
