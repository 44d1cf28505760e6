"""Render from the declarations of the clients' keys: src/tidelog/client/config/typed.py (the same as TypedDicts), and
docs/reference/client-configuration.md (for people).

python tools/render_client_config.py            write both files
python tools/render_client_config.py --check    fail if one is not what the declarations say
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tidelog.client.config import admin, common, consumer, producer, security
from tidelog.common.config import ConfigDef, Key, Type, format_value

ROOT = Path(__file__).resolve().parents[1]
FILE = ROOT / "src" / "tidelog" / "client" / "config" / "typed.py"
PAGE = ROOT / "docs" / "reference" / "client-configuration.md"
PAGE_HEAD = """# Configuration of the clients

Rendered by `tools/render_client_config.py` from the declarations in `src/tidelog/client/config/`; do not edit.

Settings are given in a dict with these names, or as keywords with underscores (`linger_ms=20`). Names, types and
defaults are Apache Kafka's; `tests/interop/client/test_defaults.py` compares them with its own classes, and lists where
ours is another on purpose. Every key is read by some code (`tests/unit/client/config/test_every_key_is_read.py`).
"""
HEAD = '''"""The clients' keys as types, for editors and type checkers.

Rendered by `tools/render_client_config.py`; do not edit.

    settings: ProducerConfig = {"bootstrap.servers": "localhost:9092", "linger.ms": 20}

`…Config` has Kafka's names, for dicts; `…Keywords` the same with underscores, for the constructors. Numbers and
booleans may be texts, as in a properties file. Nothing here is imported at run time unless a program asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict
'''
#: What may be a class, an instance, a name, or several of them.
PLUG_INS = {"interceptor.classes", "partition.assignment.strategy"}
PLAIN = {
    Type.BOOLEAN: "bool | str",
    Type.SHORT: "int | str",
    Type.INT: "int | str",
    Type.LONG: "int | str",
    Type.DOUBLE: "float | str",
    Type.LIST: "str | Sequence[str]",
    Type.CLASS: "object",
    Type.STRING: "str",
    Type.PASSWORD: "str",
}
CHOICES = "String must be one of: "


def annotation(key: Key[Any]) -> str:
    """The type of a key's value: one of a few words where it is checked to be, else by its declared type."""
    if key.name in PLUG_INS:
        return "object"
    kind = PLAIN[key.type]
    if key.type is Type.STRING and key.validator is not None and key.validator.allowed.startswith(CHOICES):
        words = key.validator.allowed.removeprefix(CHOICES).split(", ")
        numbers = [word for word in words if word.lstrip("-").isdigit()]
        kind = "Literal[" + ", ".join([f'"{word}"' for word in words] + numbers) + "]"
    return f"{kind} | None" if key.default is None and kind != "object" else kind


def keyword_class(name: str, base: str, keys: Iterable[Key[Any]]) -> str:
    fields = [f"    {key.name.replace('.', '_')}: {annotation(key)}" for key in keys]
    return f"class {name}({base}, total=False):\n" + "\n".join(fields)


def config_dict(name: str, keys: list[Key[Any]]) -> str:
    """By the function where a name has dots, which no field of a class can have."""
    if not any("." in key.name for key in keys):
        return keyword_class(name, "TypedDict", keys)
    fields = ", ".join(f'"{key.name}": {annotation(key)!r}' for key in keys)
    return f'{name} = TypedDict("{name}", {{{fields},}}, total=False)'


def own(keys: ConfigDef) -> list[Key[Any]]:
    """The keys that a client does not share with all others."""
    return [key for key in keys if key.name not in common.KEYS and key.name not in security.KEYS]


def render() -> str:
    shared = [*common.KEYS, *security.KEYS]
    parts = [HEAD, keyword_class("CommonKeywords", "TypedDict", shared), config_dict("CommonConfig", shared)]
    for kind, keys in (("Producer", producer.KEYS), ("Consumer", consumer.KEYS), ("Admin", admin.KEYS)):
        parts.append(keyword_class(f"{kind}Keywords", "CommonKeywords", own(keys)))
        parts.append(config_dict(f"_{kind}Config", own(keys)))
        about = f'    """Every key of {"an" if kind == "Admin" else "a"} `{kind}`."""'
        parts.append(f"class {kind}Config(CommonConfig, _{kind}Config, total=False):\n{about}")
    text = "\n\n\n".join(parts) + "\n"
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(FILE), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def section(title: str, keys: Iterable[Key[Any]]) -> str:
    """A table of keys, in the order of their declaration."""
    lines = [f"## {title}", "", "| key | type | default | meaning |", "|---|---|---|---|"]
    for key in keys:
        default = "required" if key is common.BOOTSTRAP_SERVERS else f"`{format_value(key.type, key.default)}`"
        default = {"`None`": "", "``": "empty"}.get(default, default)
        meaning = key.doc if key.validator is None else f"{key.doc} {key.validator.allowed}."
        lines.append(f"| `{key.name}` | {key.type.name.lower()} | {default} | {meaning.replace('|', '/')} |")
    return "\n".join(lines)


def differing() -> str:
    """Where a kind of client has another default for a key that all have."""
    lines = ["", "Where a client has another default:"]
    for kind, keys in (("Producer", producer.KEYS), ("Consumer", consumer.KEYS), ("Admin", admin.KEYS)):
        for key in common.KEYS:
            if (own_default := keys.keys[key.name].default) != key.default:
                lines.append(f"- {kind}: `{key.name}` is `{own_default}`")
    return "\n".join(lines)


def render_page() -> str:
    parts = [
        PAGE_HEAD,
        section("All clients", common.KEYS) + "\n" + differing(),
        section("Security", security.KEYS),
        section("Producer", own(producer.KEYS)),
        section("Consumer", own(consumer.KEYS)),
        section("Admin", own(admin.KEYS)),
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def main() -> int:
    files = {FILE: render(), PAGE: render_page()}
    stale = [path.name for path, text in files.items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        if stale:
            print(f"{', '.join(stale)}: not what the declarations say; run tools/render_client_config.py")
        return int(bool(stale))
    for path, text in files.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
