"""The code blocks of a guide, run one after the other in one namespace, as a reader would type them."""

from __future__ import annotations

import re
from pathlib import Path

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "guide"
_BLOCK = re.compile(r"(?:<!-- (?P<note>[^>]*) -->\n)?```python\n(?P<code>.*?)```", re.DOTALL)


def run_guide(name: str, address: str, *, everything: bool) -> int:
    """Run them against the broker at that address; how many there were. Blocks under the comment `Apache Kafka only`
    are left out unless `everything`.

    Nothing is made for them: a reader has a broker as `tidelog serve` starts it, and what the page says.
    """
    text = (GUIDES / f"{name}.md").read_text().replace("localhost:9092", address)
    namespace: dict[str, object] = {"__name__": f"guide_{name}"}
    count = 0
    for block in _BLOCK.finditer(text):
        if block["note"] and not everything:
            continue
        line = text.count("\n", 0, block.start("code"))
        exec(compile("\n" * line + block["code"], f"{name}.md", "exec"), namespace)
        count += 1
    return count


def promised(name: str) -> list[str]:
    """What the comments behind its `print`s say that they print; `...` stands for anything."""
    text = (GUIDES / f"{name}.md").read_text()
    blocks = "".join(block["code"] for block in _BLOCK.finditer(text) if not block["note"])
    return re.findall(r"^ *print\(.*\)  # (.+)$", blocks, re.MULTILINE)
