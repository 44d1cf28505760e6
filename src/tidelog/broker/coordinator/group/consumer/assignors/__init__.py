"""Server-side assignors of consumer groups: pure functions from a group's subscriptions to a target assignment."""

from __future__ import annotations

from tidelog.broker.coordinator.group.consumer.assignors.range import assign_range
from tidelog.broker.coordinator.group.consumer.assignors.spec import Assignor
from tidelog.broker.coordinator.group.consumer.assignors.uniform import assign_uniform

ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
"""By the name that members and `group.consumer.assignors` know them."""
