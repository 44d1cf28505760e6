"""From `partition.assignment.strategy` to assignors: names, Java's class names, classes and instances.

The order is the member's wish: the coordinator takes, of those that all members list, the one that most of them put
first. Kafka's default lists `range` and `cooperative-sticky`: a group of such consumers uses range, and one rolling
restart without `range` brings it to cooperative rebalances.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from tidelog.client.consumer.assignors.assignor import Assignor, RebalanceProtocol
from tidelog.client.consumer.assignors.cooperative_sticky import CooperativeStickyAssignor
from tidelog.client.consumer.assignors.range import RangeAssignor
from tidelog.client.consumer.assignors.round_robin import RoundRobinAssignor
from tidelog.client.consumer.assignors.sticky import StickyAssignor
from tidelog.common.errors import UsageError

BUILT_IN: tuple[type[Assignor], ...] = (
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    CooperativeStickyAssignor,
)
_JAVA = "org.apache.kafka.clients.consumer."


def assignors_of(strategy: Iterable[object]) -> list[Assignor]:
    """The assignors in their order; each has a name of its own, by which the coordinator and the others know it."""
    found = [_assignor(entry) for entry in strategy]
    if not found:
        raise UsageError("partition.assignment.strategy is empty: name at least one assignor")
    names = [assignor.name for assignor in found]
    if len(set(names)) < len(names) or not all(names):
        raise UsageError(f"partition.assignment.strategy needs assignors with different names, not {names}")
    return found


def _assignor(entry: object) -> Assignor:
    if isinstance(entry, Assignor):
        return entry
    if isinstance(entry, type) and issubclass(entry, Assignor):
        return entry()
    for known in BUILT_IN:
        if entry in (known.name, known.name.replace("-", "_"), _JAVA + known.__name__, known.__name__):
            return known()
    if isinstance(entry, str) and "." in entry and not entry.startswith(_JAVA):
        return _assignor(_imported(entry))
    names = ", ".join(known.name for known in BUILT_IN)
    raise UsageError(
        f"{entry!r} in partition.assignment.strategy is no assignor: use one of {names}, or a class or instance of "
        "tidelog.client.consumer.assignors.assignor.Assignor"
    )


def _imported(path: str) -> object:
    """`package.module.Class`, as files of settings name it."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{path} in partition.assignment.strategy cannot be imported: {error}") from error


def common_protocol(assignors: Iterable[Assignor]) -> RebalanceProtocol:
    """The best way to hand over partitions that all of a member's assignors support: the coordinator may pick any of
    them, and the member has to act before it knows which.
    """
    shared = set(RebalanceProtocol)
    names = []
    for assignor in assignors:
        shared &= set(assignor.protocols)
        names.append(assignor.name)
    if not shared:
        raise UsageError(f"the assignors {', '.join(names)} have no rebalance protocol in common")
    return max(shared, key=lambda protocol: protocol.value)
