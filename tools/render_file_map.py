"""Writes docs/reference/files.md: every module and the first sentence of its docstring, in the layers' order.

python tools/render_file_map.py            # write
python tools/render_file_map.py --check    # fail when the page is stale
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "files.md"
#: From the bottom up, as one reads them.
PACKAGES = ("common", "protocol", "records", "log", "net", "broker", "client", "spark", "cli", "console", "testing")
HEAD = "# File map\n\nEach module in the words of its own docstring. Rendered by `tools/render_file_map.py`.\n"


def first_sentence(path: Path) -> str:
    match = re.match(r'\s*(?:#[^\n]*\n\s*)*"""(.*?)"""', path.read_text(), re.DOTALL)
    if match is None:
        return ""
    paragraph = " ".join(match[1].strip().split("\n\n")[0].split())
    return re.split(r"(?<=[.:]) (?=[A-Z`])", paragraph)[0].rstrip(":.") + "."


def render() -> str:
    lines = [HEAD]
    for package in PACKAGES:
        folder = ROOT / "src" / "tidelog" / package
        lines += [f"## {package}", "", "| file | what it is |", "|---|---|"]
        files = sorted(path for pattern in ("*.py", "*.pyx") for path in folder.rglob(pattern))
        for path in files:
            if (sentence := first_sentence(path)) not in ("", "."):
                lines.append(f"| `{path.relative_to(folder)}` | {sentence.replace('|', chr(92) + '|')} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    page = render()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text() != page:
            sys.exit(f"{PAGE.relative_to(ROOT)} is stale: run `make docs`")
        return
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
