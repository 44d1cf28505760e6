"""The guide's program with a broker inside, run as it stands there: Ctrl-C ends it without a word."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "serve.md"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_guides_program_ends_quietly(tmp_path: Path, number: signal.Signals):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "program.py").write_text(next(block for block in blocks if "uvloop.run" in block))
    with subprocess.Popen(
        [sys.executable, "-u", "program.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline().startswith(b"127.0.0.1:")
        program.send_signal(number)
        out, err = program.communicate(timeout=60)
    assert (program.returncode, out, err) == (0, b"", b"")
