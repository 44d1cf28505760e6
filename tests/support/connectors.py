"""Spark's own Kafka connector and ours as two processes that are told the same, see connector_engine.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import spark_jvm  # noqa: E402  the tools folder is on the path only now

from support.spark import BrokerLab  # noqa: E402  as above

ENGINE = ROOT / "tests" / "interop" / "spark" / "connector_engine.py"
ANSWER = "answer:"


class Engine:
    """A connector in a process of its own, see connector_engine.py."""

    def __init__(self, form: str, broker: str, home: Path) -> None:
        jvm = form == "kafka"
        interpreter = str(spark_jvm.python()) if jvm else sys.executable
        environment = spark_jvm.environment() if jvm else {**os.environ, "PYSPARK_PYTHON": sys.executable}
        self.log = home / f"{form}.log"
        with self.log.open("wb") as errors:
            self.process = subprocess.Popen(
                [interpreter, str(ENGINE), form, broker],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """{"ok": result} or {"error": text}."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith(ANSWER):
                answer: dict[str, Any] = json.loads(line.removeprefix(ANSWER))
                return answer
        raise AssertionError(f"the engine died:\n{self.log.read_text()[-4000:]}")

    def do(self, do: str, **arguments: Any) -> Any:
        answer = self.ask(do, **arguments)
        assert "error" not in answer, (do, arguments, answer["error"])
        return answer["ok"]

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait(300)
        self.process.stdout.close()


class Pair:
    """The two connectors: what one is told, the other is told."""

    def __init__(self, theirs: Engine, ours: Engine, lab: BrokerLab) -> None:
        self.theirs, self.ours, self.lab = theirs, ours, lab

    def ask(self, do: str, **arguments: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.theirs.ask(do, **arguments), self.ours.ask(do, **arguments)

    def same(self, do: str, **arguments: Any) -> Any:
        """What both answer; fails when they differ."""
        theirs, ours = self.ask(do, **arguments)
        assert ours == theirs
        assert "error" not in ours, (do, arguments, ours)
        return ours["ok"]
