"""The rebalance listener: told in the user's turn when the group gives partitions and takes them away.

revoked    they are still ours: what is committed here counts, and is where the next member begins
lost       they are somebody else's already (we were put out of the group): too late to commit
assigned   they are ours from now on; `seek` here decides where to begin
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tidelog.common.types import TopicPartition


class ConsumerRebalanceListener:
    """To inherit from; every method may be left out. In the asyncio face they may be coroutines."""

    def on_partitions_revoked(self, partitions: list[TopicPartition]) -> Any:
        """Before they go to somebody else, and on close."""

    def on_partitions_assigned(self, partitions: list[TopicPartition]) -> Any:
        """After each rebalance, with what is new; perhaps nothing."""

    def on_partitions_lost(self, partitions: list[TopicPartition]) -> Any:
        """Unless it is overridden, losing is told as revoking."""
        return self.on_partitions_revoked(partitions)


def call(listener: Any, method: str, partitions: Iterable[TopicPartition]) -> Any:
    """Call the method if the listener has it; one without `on_partitions_lost` is told by `on_partitions_revoked`."""
    if listener is None:
        return None
    function = getattr(listener, method, None)
    if function is None and method == "on_partitions_lost":
        function = getattr(listener, "on_partitions_revoked", None)
    return None if function is None else function(sorted(partitions))
