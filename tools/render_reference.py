"""Render docs/reference/configuration.md from the declarations of the broker's, topics' and groups' keys.

python tools/render_reference.py            write the page
python tools/render_reference.py --check    fail if the page is not what the declarations say
"""

from __future__ import annotations

import sys
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
from tidelog.broker.handlers.config_changes import CLIENT_METRICS_KEYS, GROUP_KEYS
from tidelog.common.config import ConfigDef, Key
from tidelog.log.config import TOPIC_KEYS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "configuration.md"
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
"""


def section(title: str, keys: list[Key[object]]) -> str:
    part = ConfigDef(title)
    for key in keys:
        part.keys[key.name] = key
    return part.markdown()


def keys_of(module: object) -> list[Key[object]]:
    return [value for name, value in vars(module).items() if name.isupper() and isinstance(value, Key)]


def render() -> str:
    parts = [HEAD, "# Topic keys\n", section("Topics", list(TOPIC_KEYS)), "# Broker keys\n"]
    parts += [section(title, keys_of(module)) for title, module in THEMES]
    parts += ["# Group keys\n", section("Groups", list(GROUP_KEYS))]
    parts += ["# Client metrics keys\n", section("Subscriptions", list(CLIENT_METRICS_KEYS))]
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
