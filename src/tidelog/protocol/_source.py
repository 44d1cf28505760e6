"""What the two code generators share: indented source text, and runs of fixed-size values.

A *run* is a row of neighbouring values of fixed size. They are packed or unpacked by one `struct` call, which is most
of the speed of the generated code; the length in front of a string or an array joins the run before it. `flush` ends
the run, and whoever emits anything that moves the position must flush first.
"""

from __future__ import annotations

import struct
from typing import Any

INDENT = "    "


class Source:
    """Lines of one generated function, and the names that it refers to."""

    def __init__(self, head: str) -> None:
        self.lines = [head]
        self.depth = 1
        self.names: dict[str, Any] = {}
        self._counter = 0
        self._structs: dict[str, str] = {}

    def emit(self, *lines: str) -> None:
        self.lines += [INDENT * self.depth + line for line in lines]

    def fresh(self, stem: str) -> str:
        """A local name that nothing else uses."""
        self._counter += 1
        return f"{stem}{self._counter}"

    def layout(self, format_: str, method: str) -> tuple[str, int]:
        """The global name of a bound `struct.Struct` method for this big-endian layout, and the layout's size."""
        layout = struct.Struct(">" + format_)
        name = self._structs.get(format_)
        if name is None:
            name = self._structs[format_] = f"_{method}{len(self._structs)}"
            self.names[name] = getattr(layout, method)
        return name, layout.size

    def function(self, name: str, namespace: dict[str, Any], filename: str) -> Any:
        """Compile and return the function; `namespace` is what its text may refer to."""
        scope = {**namespace, **self.names}
        exec(compile("\n".join(self.lines), filename, "exec"), scope)
        return scope[name]
