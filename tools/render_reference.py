"""Render docs/reference/configuration.md from the declarations of the broker's, topics' and groups' keys.

python tools/render_reference.py            write the page
python tools/render_reference.py --check    fail if the page is not what the declarations say
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

from tidelog.broker.config import (
    cluster,
    groups,
    log,
    metrics,
    network,
    own,
    remote,
    replication,
    sasl,
    security,
    share_groups,
    ssl,
    topics,
    transactions,
    zookeeper,
)
from tidelog.broker.controller.config_changes import CLIENT_METRICS_KEYS, GROUP_KEYS
from tidelog.common.config import ConfigDef, Key
from tidelog.log.config import TOPIC_KEYS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "configuration.md"
SOURCES = ROOT / "src" / "tidelog"
#: What has no effect on a broker: declaring, checking and listing keys; and the clients, who have keys of equal names.
IDLE = re.compile(
    r"broker/config/(?!broker_config)|broker/(controller/config_changes|metadata/config_entries)|log/topic_keys|log/config|client/|spark/"
)
#: Keys whose names are put together where they are read.
FAMILIES = re.compile(r"log\.cleaner\.|group\.(consumer|share)\.(min|max)\.(session|heartbeat|record|assignment)\.")
THEMES = (
    ("Identity and cluster", cluster),
    ("Listeners and connections", network),
    ("Logs", log),
    ("Topics", topics),
    ("Replication", replication),
    ("Groups and offsets", groups),
    ("Share and streams groups", share_groups),
    ("Transactions and producers", transactions),
    ("Metrics and quotas", metrics),
    ("Authorization and secrets", security),
    ("TLS", ssl),
    ("SASL", sasl),
    ("Tiered storage", remote),
    ("ZooKeeper", zookeeper),
    ("Tidelog's own", own),
)
HEAD = """# Configuration

Rendered by `tools/render_reference.py` from the declarations in `src/tidelog/broker/config/` and
`src/tidelog/log/topic_keys.py`; do not edit.

A broker reads its keys from a `server.properties` (Apache Kafka's, taken as it is), from `--set key=value`, and from
dynamic changes, in rising precedence. **Update** says when a change takes effect: `read-only` after a restart,
`per-broker` and `cluster-wide` at once. A topic key that is not set for a topic takes the value of its broker key.

**No effect here** marks keys that are checked, kept and shown, so that Kafka's files and tools are at home, but that no
code of this version reads: they belong to what is not built yet (several brokers, security, tiered storage, share and
streams groups) or to how Apache Kafka is built (its threads, its purges, its Java classes).
"""


class Readers:
    """What the code reads: the keys whose names, constants or fields occur in its text."""

    def __init__(self) -> None:
        paths = [*SOURCES.rglob("*.py"), *SOURCES.rglob("*.pyx")]
        text = "\n".join(path.read_text() for path in paths if not IDLE.match(str(path.relative_to(SOURCES))))
        self._words = set(re.findall(r"\w+", text))
        self._quoted = set(re.findall(r'"([\w.]+)"', text))
        own = re.findall(r"\bself\.(\w+)", (SOURCES / "log" / "config.py").read_text())
        self._fields = {*re.findall(r"\.(\w+)", text), *own}
        self._constants = {
            id(value): name for _, module in THEMES for name, value in vars(module).items() if isinstance(value, Key)
        }
        self._given = {name for key in TOPIC_KEYS if self.topic(key) for name in key.synonyms}

    def named(self, key: Key[object]) -> bool:
        return key.name in self._quoted

    def topic(self, key: Key[object]) -> bool:
        return self.named(key) or key.name.replace(".", "_") in self._fields

    def broker(self, key: Key[object]) -> bool:
        by_name = FAMILIES.match(key.name) is not None or key.name in self._given or self.named(key)
        return by_name or self._constants[id(key)] in self._words


def section(title: str, keys: list[Key[object]], has_effect: Callable[[Key[object]], bool]) -> str:
    part = ConfigDef(title)
    for key in keys:
        part.keys[key.name] = key
    text = part.markdown()
    for key in keys:
        if not has_effect(key):
            head = f"### `{key.name}`\n\n"
            text = text.replace(head, f"{head}*No effect here.* ")
    return text


def keys_of(module: object) -> list[Key[object]]:
    return [value for name, value in vars(module).items() if name.isupper() and isinstance(value, Key)]


def render() -> str:
    readers = Readers()
    parts = [HEAD, "# Topic keys\n", section("Topics", list(TOPIC_KEYS), readers.topic), "# Broker keys\n"]
    parts += [section(title, keys_of(module), readers.broker) for title, module in THEMES]
    parts += ["# Group keys\n", section("Groups", list(GROUP_KEYS), readers.named)]
    parts += ["# Client metrics keys\n", section("Subscriptions", list(CLIENT_METRICS_KEYS), readers.named)]
    return "\n".join(parts).rstrip() + "\n"


def main() -> int:
    text = render()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text() != text:
            print(f"{PAGE} is out of date: run python tools/render_reference.py")
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
