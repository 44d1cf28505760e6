"""Renders docs/reference/state-machines.md from the machines' own tables. `--check` only compares.

usage: render_state_machines.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

from tidelog.broker.coordinator.group.classic.states import CLASSIC_GROUP
from tidelog.broker.coordinator.group.consumer.states import CONSUMER_GROUP, CONSUMER_MEMBER
from tidelog.broker.coordinator.transaction.states import TRANSACTION
from tidelog.client.consumer.membership import states as client

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "state-machines.md"
INTRODUCTION = """# State machines of the coordinators

Rendered from the tables that the code runs on (`tools/render_state_machines.py`): a transition that is not listed here
raises. A classic group, a member and a transactional id are asked as they change; a consumer group, whose state follows
from its epochs and members, at the end of each step of a request (`Emitter.settle`). Where the states are kept, and
what a crash leaves of them: [group records](../formats/group-records.md).

"""

CLIENTS = """
# State machines of the clients

A consumer's place in its group, as the consumer sees it (`client/consumer/membership`). `Consumer.health()` tells the
state.

"""


def render() -> str:
    tables = (CLASSIC_GROUP, CONSUMER_GROUP, CONSUMER_MEMBER, TRANSACTION)
    ours = (client.CLASSIC_MEMBER, client.CONSUMER_MEMBER)
    coordinators = INTRODUCTION + "\n".join(table.markdown() for table in tables)
    return coordinators + CLIENTS + "\n".join(table.markdown() for table in ours)


def main() -> int:
    if "--check" in sys.argv[1:]:
        fresh = PAGE.exists() and PAGE.read_text() == render()
        if not fresh:
            print(f"{PAGE} is out of date: run tools/render_state_machines.py", file=sys.stderr)
        return 0 if fresh else 1
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
