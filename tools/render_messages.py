"""Renders what is derived from the schema files, so that it is checked in and never drifts.

    python tools/render_messages.py           # write
    python tools/render_messages.py --check   # exit 1 if something is stale (a test does the same)

- src/tidelog/protocol/_catalog.py       the API table and which file declares which message (imported at start-up)
- src/tidelog/protocol/messages.pyi      the types of the message classes
- docs/reference/api-coverage.md         keys, versions and listeners
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from tidelog.protocol.parser import parse  # noqa: E402  (the path comes first)
from tidelog.protocol.schema import Api, Field, MessageSchema, SchemaFile, Struct  # noqa: E402  (same)

SCHEMAS = ROOT / "src/tidelog/protocol/schemas"
NOTE = "Rendered from the schema files by tools/render_messages.py: do not edit."
PYTHON = {"bool": "bool", "float64": "float", "uuid": "bytes", "string": "str", "bytes": "bytes", "records": "Records"}


def files() -> list[SchemaFile]:
    paths = sorted(path.relative_to(SCHEMAS).as_posix() for path in SCHEMAS.rglob("*.kmsg"))
    return [parse((SCHEMAS / path).read_text(), path) for path in sorted(paths, key=lambda p: (p.count("/"), p))]


def constant(name: str) -> str:
    return "".join(f"_{c}" if c.isupper() and i else c for i, c in enumerate(name)).upper()


def catalog(schema_files: list[SchemaFile]) -> str:
    lines = [
        f'"""{NOTE}',
        "",
        "The little that a broker needs before it reads any schema: the API table, and where each message is declared.",
        '"""',
        "",
        "# key, name, first version, last version, first flexible version (-1: none), latest stable version, listeners",
        "APIS = (",
    ]
    for api in apis(schema_files):
        flexible = api.flexible.first if api.flexible else -1
        lines.append(
            f'    ({api.key}, "{api.name}", {api.versions.first}, {api.versions.last}, {flexible}, '
            f"{api.latest_stable}, {tuple_text(api.listeners)}),"
        )
    lines += [")", "", "MESSAGE_FILES = {"]
    lines += [f'    "{message.name}": "{file.path}",' for file in schema_files for message in file.messages]
    return "\n".join([*lines, "}", ""])


def tuple_text(words: tuple[str, ...]) -> str:
    return "(" + ", ".join(f'"{word}"' for word in words) + ("," if len(words) == 1 else "") + ")"


def apis(schema_files: list[SchemaFile]) -> list[Api]:
    return sorted((file.api for file in schema_files if file.api), key=lambda api: api.key)


def annotation(field: Field, prefix: str) -> str:
    text = f"{prefix}.{field.struct.name}" if field.struct else PYTHON.get(field.type, "int")
    if field.array:
        text = f"list[{text}]"
    return f"{text} | None" if field.nullable else text


def class_text(struct: Struct, base: str, prefix: str, indent: str, nested: list[Struct]) -> list[str]:
    lines = [f"{indent}class {struct.name}({base}):"]
    for inner in nested:
        lines += [*class_text(inner, "Structure", prefix, indent + "    ", []), ""]
    body = indent + "    "
    fields = [(field.name, annotation(field, prefix)) for field in struct.fields]
    lines += [f"{body}{name}: {text}" for name, text in fields]
    lines += [f"{body}def __init__(", f"{body}    self,", f"{body}    *,"]
    lines += [f"{body}    {name}: {text} = ...," for name, text in fields]
    return [*lines, f"{body}    unknown_tags: dict[int, bytes] | None = ...,", f"{body}) -> None: ..."]


def message_text(message: MessageSchema) -> list[str]:
    return ["", *class_text(message.root, "Message", message.name, "", message.structs)]


def stub(schema_files: list[SchemaFile]) -> str:
    lines = [
        f"# {NOTE}",
        "from typing import Any",
        "",
        "from tidelog.protocol.message import Message as Message",
        "from tidelog.protocol.message import Structure as Structure",
        "",
        "# A buffer; or, for encode_parts, anything that has a length.",
        "Records = bytes | bytearray | memoryview | Any",
    ]
    for file in schema_files:
        for message in file.messages:
            lines += message_text(message)
    return "\n".join([*lines, ""])


def coverage(schema_files: list[SchemaFile]) -> str:
    lines = [
        "# API coverage",
        "",
        f"<!-- {NOTE} -->",
        "",
        "Every key whose messages Tidelog encodes and decodes. What a broker *serves* is what its ApiVersions says;",
        "this is what the `protocol` package speaks. `zkBroker` marks the keys of Kafka 3.9's ZooKeeper mode.",
        "",
        "| key | API | versions | flexible from | listeners |",
        "|----:|-----|----------|---------------|-----------|",
    ]
    for api in apis(schema_files):
        unstable = "" if api.latest_stable == api.versions.last else f" ({api.versions.last} unstable)"
        flexible = str(api.flexible.first) if api.flexible else "never"
        listeners = ", ".join(api.listeners)
        lines.append(f"| {api.key} | {api.name} | {api.versions}{unstable} | {flexible} | {listeners} |")
    lines += ["", "## Messages at rest and embedded messages", "", "| file | messages |", "|------|----------|"]
    for file in schema_files:
        if file.api is None:
            shown = ", ".join(f"{message.name} {message.versions}" for message in file.messages)
            lines.append(f"| `{file.path}` | {shown} |")
    return "\n".join([*lines, ""])


def rendered() -> dict[Path, str]:
    schema_files = files()
    return {
        ROOT / "src/tidelog/protocol/_catalog.py": catalog(schema_files),
        ROOT / "src/tidelog/protocol/messages.pyi": stub(schema_files),
        ROOT / "docs/reference/api-coverage.md": coverage(schema_files),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="render the files that follow from the message schemas")
    parser.add_argument("--check", action="store_true", help="only say whether they are up to date")
    check = parser.parse_args().check
    stale = 0
    for path, text in rendered().items():
        if path.exists() and path.read_text() == text:
            continue
        stale += 1
        print(f"{'stale' if check else 'wrote'}: {path.relative_to(ROOT)}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
