"""`tidelog serve` as a process: the ready line, signals, exit status, mistakes, `/metrics` and `/health`."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from support.ports import free_port

TIDELOG = [sys.executable, "-m", "tidelog.cli.main", "serve"]


@pytest.fixture
def serve(tmp_path):
    """`serve(*arguments) → (process, first line)`; whatever still runs at the end is killed."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [*TIDELOG, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
        )
        processes.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def ready_port(line: str) -> int:
    assert line.startswith("tidelog ready 127.0.0.1:"), line
    return int(line.rpartition(":")[2])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_ready_then_stopped_cleanly(serve, tmp_path, number):
    process, line = serve("--listen", "127.0.0.1:0")
    socket.create_connection(("127.0.0.1", ready_port(line))).close()
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "")
    assert "has stopped" in err
    left = set(os.listdir(tmp_path / "tidelog-data"))
    assert {".kafka_cleanshutdown", "meta.properties", "tidelog.store"} <= left
    assert "tidelog.store-wal" not in left


def test_a_properties_file_its_unknown_keys_and_json_logs(serve, tmp_path):
    port = free_port()
    (tmp_path / "server.properties").write_text(
        f"broker.id=7\nlog.dirs={tmp_path / 'logs'}\nlisteners=PLAINTEXT://127.0.0.1:{port}\nzookeeper.connect=z:2181\n"
        "tidelog.log.format=json\nfoo.bar=1\nbaz=2\n"
    )
    process, line = serve("server.properties", "--set", "num.partitions=3")
    assert ready_port(line) == port
    process.terminate()
    _, err = process.communicate(timeout=120)
    lines = [json.loads(text) for text in err.splitlines()]
    warnings = [entry["message"] for entry in lines if entry["level"] == "WARN"]
    assert "Unknown configuration keys, ignored: foo.bar, baz" in warnings
    assert any("zookeeper.connect" in text for text in warnings)
    assert "broker.id=7" in (tmp_path / "logs" / "meta.properties").read_text().replace("node.id", "broker.id")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--set", "num.partitions=none"), "Not a number of type INT"),
        (("--set", "listeners=SSL://127.0.0.1:0"), "PLAINTEXT only"),
        (
            ("--set", "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
            "enforces no ACLs",
        ),
        (("nowhere.properties",), "nowhere.properties"),
        (("--set", "process.roles=controller"), "A Tidelog node is a broker"),
    ],
)
def test_what_cannot_be_is_said(serve, arguments, says):
    process, line = serve("--listen", "127.0.0.1:0", *arguments)
    _, err = process.communicate(timeout=120)
    assert line == ""
    assert process.returncode in (1, 2)
    assert says in err
    assert "Traceback" not in err


def test_two_brokers_on_one_directory(serve):
    serve("--listen", "127.0.0.1:0")
    process, line = serve("--listen", "127.0.0.1:0")
    _, err = process.communicate(timeout=120)
    assert (line, process.returncode) == ("", 1)
    assert "in use" in err
    assert "has stopped" not in err  # it never was one


@pytest.mark.parametrize("option", ["--listen", "--http"])
def test_a_port_that_is_taken(serve, option):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        others = () if option == "--listen" else ("--listen", "127.0.0.1:0")
        process, line = serve(option, address, *others)
        _, err = process.communicate(timeout=120)
    assert (line, process.returncode) == ("", 1)
    assert "Cannot listen on" in err
    assert address in err
    assert f"({option}) to another address" in err
    assert "Traceback" not in err


def test_an_address_of_another_machine(serve):
    process, line = serve("--listen", "203.0.113.1:9092")
    _, err = process.communicate(timeout=120)
    assert (line, process.returncode) == ("", 1)
    assert "Cannot listen on PLAINTEXT://203.0.113.1:9092" in err
    assert "Set listeners (--listen) to an address of this machine" in err


def test_metrics_and_health(serve):
    port = free_port()
    process, _ = serve("--listen", "127.0.0.1:0", "--http", f"127.0.0.1:{port}")
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=60) as answer:
        health = json.load(answer)
    assert (health["status"], health["node"]) == ("ok", 1)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    assert "tidelog_partitions 0.0" in text
    assert "tidelog_connections 0.0" in text
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/else", timeout=60)
    process.terminate()
    process.communicate(timeout=120)
    assert process.returncode == 0


def test_a_port_of_http_that_is_left_to_the_system_is_told(serve):
    process, line = serve("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0")
    ready_port(line)
    assert process.stdout is not None
    said = process.stdout.readline().split()
    assert said[:2] == ["tidelog", "http"]
    with urllib.request.urlopen(f"http://{said[2]}/health", timeout=60) as answer:
        assert json.load(answer)["status"] == "ok"
    process.terminate()
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "")
    assert f"/metrics and /health are at http://{said[2]}" in err


def test_the_reference_page_is_what_the_declarations_say():
    script = Path(__file__).resolve().parents[3] / "tools" / "render_reference.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_reference_page_says_which_keys_have_no_effect():
    page = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "configuration.md").read_text()
    idle = {text.partition("`")[0] for text in page.split("### `") if "\n*No effect here.*" in text}
    assert {
        "num.io.threads",
        "ssl.protocol",
        "group.share.max.size",
        "local.retention.ms",
        "replica.fetch.min.bytes",
    } <= idle
    busy = {"num.partitions", "retention.ms", "log.retention.hours", "log.cleaner.backoff.ms", "max.connections"}
    assert not busy & idle
