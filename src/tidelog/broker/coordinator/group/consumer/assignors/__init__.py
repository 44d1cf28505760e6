"""The assignors of the broker, by the names that clients ask for and `group.consumer.assignors` lists. The first of
that list is the default; what most members ask for is used.
"""

from __future__ import annotations

from tidelog.broker.coordinator.group.consumer.assignors.range import assign_range
from tidelog.broker.coordinator.group.consumer.assignors.spec import Assignor
from tidelog.broker.coordinator.group.consumer.assignors.uniform import assign_uniform

ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
"""By the name that members and `group.consumer.assignors` know them."""
