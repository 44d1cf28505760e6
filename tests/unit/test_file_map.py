"""docs/reference/files.md is what the modules say of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_file_map_is_fresh() -> None:
    script = ROOT / "tools" / "render_file_map.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
