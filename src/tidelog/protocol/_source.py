"""What the two code generators share: indented source text, and runs of fixed-size values.

A *run* is a row of neighbouring values of fixed size. They are packed or unpacked by one `struct` call, which is most
of the speed of the generated code; the length in front of a string or an array joins the run before it. `flush` ends
the run, and whoever emits anything that moves the position must flush first.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

INDENT = "    "
_KEPT_LAYOUTS = 64


class Layouts(dict[int, Callable[..., Any]]):
    """count → the bound `struct.Struct` method for an array of so many numbers; small ones are kept.

    An array of numbers is packed by one call as well, whatever its length. The layout of a short array is worth
    keeping: the same counts (one partition, three replicas) come again and again. That of a long one is made and
    dropped, or a client could fill the memory with layouts by sending arrays of ever other lengths.
    """

    def __init__(self, format_: str, method: str) -> None:
        super().__init__()
        self._format, self._method = format_, method

    def __missing__(self, count: int) -> Callable[..., Any]:
        made: Callable[..., Any] = getattr(struct.Struct(f">{count}{self._format}"), self._method)
        if count <= _KEPT_LAYOUTS:
            self[count] = made
        return made


class Source:
    """Lines of one generated function, and the names that it refers to."""

    def __init__(self, head: str) -> None:
        self.lines = [head]
        self.depth = 1
        self.names: dict[str, Any] = {}
        self._counter = 0
        self._structs: dict[str, str] = {}

    def emit(self, *lines: str) -> None:
        """Add lines at the present depth of indentation; whoever opens a block changes `depth` itself."""
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

    def array_layout(self, format_: str, method: str) -> str:
        """The global name of the `Layouts` of an array's element."""
        name = f"_{method}_array_{format_.replace('?', 'bool')}"
        self.names.setdefault(name, Layouts(format_, method))
        return name

    def function(self, name: str, namespace: dict[str, Any], filename: str) -> Any:
        """Compile and return the function; `namespace` is what its text may refer to."""
        scope = {**namespace, **self.names}
        exec(compile("\n".join(self.lines), filename, "exec"), scope)
        return scope[name]
