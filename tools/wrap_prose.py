"""Wraps the prose of Markdown pages at 120 columns: paragraphs and list items, never tables, code or generated pages.

python tools/wrap_prose.py            # wrap what is too long
python tools/wrap_prose.py --check    # name it, and fail

Paragraphs whose lines all fit are left as their author broke them. Inline code and links stay in one piece.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 120
#: Pages that tools render.
GENERATED = {
    "docs/reference/api-coverage.md",
    "docs/reference/configuration.md",
    "docs/reference/files.md",
    "docs/reference/state-machines.md",
}
ITEM = re.compile(r"(\s*)([-*+]|\d+\.)(\s+)")
#: What may not be torn: inline code, links, runs of other characters.
WORD = re.compile(r"(?:`[^`]*`|!?\[[^\]]*\]\([^)]*\)|\S)+")
#: A line that begins so would be another kind of block.
BLOCK = re.compile(r"[-*+>#|]$|#+$|\d+\.$|={3,}$|-{3,}$")


def pages() -> list[Path]:
    names = subprocess.check_output(["git", "ls-files", "*.md"], cwd=ROOT, text=True).splitlines()
    return [ROOT / name for name in names if name not in GENERATED]


def wrapped(text: str) -> str:
    out: list[str] = []
    for block in blocks(text.split("\n")):
        out += fill(block) if is_prose(block) and any(len(line) > WIDTH for line in block) else block
    return "\n".join(out)


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Paragraphs, list items and everything else (fenced code in one piece), in their order."""
    block: list[str] = []
    fenced = False
    for line in lines:
        if fenced:
            block.append(line)
            fenced = not line.lstrip().startswith("```")
        elif block and is_prose(block) and line.strip() and not begins_another(line):
            block.append(line)
        else:
            if block:
                yield block
            block = [line]
            fenced = line.lstrip().startswith("```")
    yield block


def begins_another(line: str) -> bool:
    """Whether a line cannot go on with the paragraph before it."""
    return line.lstrip().startswith(("|", "#", ">", "<", "```")) or ITEM.match(line) is not None


def is_prose(block: list[str]) -> bool:
    """Whether these lines are one paragraph or list item; code is indented by four columns, or fenced."""
    first = block[0]
    if ITEM.match(first):
        return True
    return (
        bool(first.strip())
        and not first.startswith("    ")
        and not first.lstrip().startswith(("|", "#", ">", "<", "```"))
    )


def fill(block: list[str]) -> list[str]:
    item = ITEM.match(block[0])
    indent = " " * (len(item[0]) if item else len(block[0]) - len(block[0].lstrip()))
    line = item[0].rstrip() if item else ""
    words = WORD.findall(" ".join([block[0][len(item[0]) if item else 0 :], *block[1:]]))
    out = []
    for word in words:
        longer = f"{line} {word}" if line.strip() else indent + word
        if len(longer) > WIDTH and line.strip() and not BLOCK.match(word):
            out.append(line)
            longer = indent + word
        line = longer
    return [*out, line]


def main() -> None:
    stale = [page for page in pages() if wrapped(page.read_text()) != page.read_text()]
    if "--check" in sys.argv:
        if stale:
            sys.exit(f"lines of prose are too long in {', '.join(str(page.relative_to(ROOT)) for page in stale)}")
        return
    for page in stale:
        page.write_text(wrapped(page.read_text()))


if __name__ == "__main__":
    main()
