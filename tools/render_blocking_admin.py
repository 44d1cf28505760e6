"""Renders src/tidelog/client/admin/blocking.pyi: what the methods of the blocking Admin look like to type checkers.

    python tools/render_blocking_admin.py            # writes it
    python tools/render_blocking_admin.py --check    # fails if it is not up to date

The methods are derived at run time from those of `aio.Admin` (see blocking.py); here the same is done with the source:
each public coroutine of a subject becomes a plain function with the same parameters, result and text. The names that
their annotations use are imported from where the subject has them.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ADMIN = ROOT / "src" / "tidelog" / "client" / "admin"
TARGET = ADMIN / "blocking.pyi"
PACKAGE = "tidelog.client.admin"
HEAD = "# Rendered from the subjects of aio.Admin by tools/render_blocking_admin.py: do not edit.\n"
FRAME = '''class Admin:
    """Everything about a cluster that is not records; see `aio.Admin`."""

    def __init__(self, config: Mapping[str, object] | None = None, **keywords: Unpack[AdminKeywords]) -> None: ...
    def close(self, timeout: float | None = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
'''

Method = ast.AsyncFunctionDef


def subjects() -> list[tuple[str, ast.Module]]:
    """The modules of aio.Admin's bases, in their order."""
    tree = ast.parse((ADMIN / "aio.py").read_text())
    homes = imports_of(tree)
    (admin,) = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    modules = [homes[base.id] for base in admin.bases if isinstance(base, ast.Name)]
    return [(name, ast.parse((ADMIN / f"{name.rsplit('.', 1)[1]}.py").read_text())) for name in modules]


def imports_of(tree: ast.Module) -> dict[str, str]:
    """Name → the module that it is imported from."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
            found.update({alias.asname or alias.name: node.module for alias in node.names})
    return found


def definitions_of(tree: ast.Module) -> set[str]:
    """What a module defines itself, constants and classes."""
    found = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


def methods_of(tree: ast.Module) -> list[Method]:
    return [
        node
        for each in tree.body
        if isinstance(each, ast.ClassDef) and each.name.endswith("Admin")
        for node in each.body
        if isinstance(node, Method) and not node.name.startswith("_")
    ]


def names_in(method: Method) -> set[str]:
    """The names that the stub of it uses."""
    defaults = [each for each in [*method.args.defaults, *method.args.kw_defaults] if isinstance(each, ast.Attribute)]
    kinds = [arg.annotation for arg in [*method.args.args, *method.args.kwonlyargs]]
    parts: list[ast.AST] = [part for part in [*defaults, *kinds, method.returns] if part is not None]
    return {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}


def signature(method: Method) -> str:
    """In one line; or with the parameters in a line of their own; or with a line for each."""
    found = method.args
    defaults = [*[None] * (len(found.args) - len(found.defaults)), *found.defaults]
    parameters = [parameter(*pair) for pair in zip(found.args, defaults, strict=True)]
    if found.kwonlyargs:
        parameters += ["*", *(parameter(*pair) for pair in zip(found.kwonlyargs, found.kw_defaults, strict=True))]
    returns = ast.unparse(method.returns) if method.returns is not None else "None"
    line = f"    def {method.name}({', '.join(parameters)}) -> {returns}:"
    if len(line) <= 120:
        return line
    inside = f"        {', '.join(parameters)}"
    if len(inside) > 120:
        inside = "\n".join(f"        {each}," for each in parameters)
    return f"    def {method.name}(\n{inside}\n    ) -> {returns}:"


def parameter(arg: ast.arg, default: ast.expr | None) -> str:
    """As in the source, but for defaults that only the source knows."""
    kind = f": {ast.unparse(arg.annotation)}" if arg.annotation is not None else ""
    if default is None:
        return f"{arg.arg}{kind}"
    return f"{arg.arg}{kind} = {'...' if isinstance(default, ast.Name) else ast.unparse(default)}"


def stub(method: Method) -> str:
    """The signature and the first paragraph of its text."""
    text = (ast.get_docstring(method) or "").split("\n\n")[0].replace("\n", "\n        ")
    closing = '\n        """' if "\n" in text else '"""'
    return f'{signature(method)}\n        """{text}{closing}\n'


def render() -> str:
    wanted = {"Mapping": "collections.abc", "Self": "typing", "Unpack": "typing"}
    wanted["AdminKeywords"] = "tidelog.client.config.typed"
    stubs = []
    for module, tree in subjects():
        imports, own = imports_of(tree), definitions_of(tree)
        for method in methods_of(tree):
            stubs.append(stub(method))
            for name in names_in(method):
                if name in own:
                    wanted[name] = module
                elif name in imports:
                    wanted[name] = imports[name]
    by_module: dict[str, list[str]] = {}
    for name, module in wanted.items():
        by_module.setdefault(module, []).append(name)
    return HEAD + import_lines(by_module) + "\n" + FRAME + "".join(stubs)


def import_lines(by_module: dict[str, list[str]]) -> str:
    """The standard library's first, then ours."""
    lines = []
    for ours in (False, True):
        for module in sorted(module for module in by_module if module.startswith("tidelog") == ours):
            names = sorted(by_module[module], key=str.lower)
            line = f"from {module} import {', '.join(names)}"
            if len(line) > 120:
                line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")"
            lines.append(line)
        if not ours:
            lines.append("")
    return "\n".join(lines) + "\n"


def main() -> int:
    text = render()
    if "--check" in sys.argv:
        if TARGET.read_text() != text:
            print(f"{TARGET.relative_to(ROOT)} is not up to date: run tools/render_blocking_admin.py")
            return 1
        return 0
    TARGET.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
