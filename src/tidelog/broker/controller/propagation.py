"""Propagation within one process: the controller's decisions, carried out by this broker's own replicas."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from tidelog.broker.metadata.images import PartitionState
from tidelog.common.errors import ErrorCode
from tidelog.common.types import INTERNAL_TOPICS, TopicPartition
from tidelog.log.config import LogConfig

logger = logging.getLogger(__name__)

#: How many partitions are made between two breaths of the event loop.
CHUNK = 32
#: So many partitions of a new topic are made before its creation is answered, and all of an internal one: whoever finds
#: a coordinator expects it to be there.
AT_ONCE = 64
DELETE_CHUNK = 256


class Replicas(Protocol):
    """What the controller asks of the replica manager."""

    def expect(self, states: Sequence[PartitionState]) -> None: ...
    def apply_leader_and_isr(self, states: Sequence[PartitionState]) -> Mapping[TopicPartition, ErrorCode]: ...
    def stop_replicas(
        self, partitions: Iterable[TopicPartition], *, delete: bool
    ) -> Mapping[TopicPartition, ErrorCode]: ...
    def update_topic_config(self, topic: str, config: LogConfig) -> None: ...


class LocalPropagation:
    def __init__(self, replicas: Callable[[], Replicas]) -> None:
        """`replicas` is asked when needed: the replica manager is built after the controller."""
        self._replicas = replicas

    async def lead_and_follow(self, states: Sequence[PartitionState]) -> None:
        new = [state for state in states if state.is_new and state.tp.topic not in INTERNAL_TOPICS]
        if len(new) > AT_ONCE:
            later = {state.tp for state in new[AT_ONCE:]}
            await self._carry_out([state for state in states if state.tp not in later])
            self._replicas().expect(new[AT_ONCE:])
        else:
            await self._carry_out(states)

    async def _carry_out(self, states: Sequence[PartitionState]) -> None:
        for start in range(0, len(states), CHUNK):
            failed = self._replicas().apply_leader_and_isr(states[start : start + CHUNK])
            for tp, code in failed.items():
                logger.error("Partition %s cannot be served here: %s", tp, code.name)
            if start + CHUNK < len(states):
                await asyncio.sleep(0)

    async def delete_replicas(self, partitions: Sequence[TopicPartition]) -> None:
        # In larger chunks than they are made: each one ends with checkpoints to write and a directory to sync.
        for start in range(0, len(partitions), DELETE_CHUNK):
            failed = self._replicas().stop_replicas(partitions[start : start + DELETE_CHUNK], delete=True)
            for tp, code in failed.items():
                logger.error("The replica of %s could not be deleted here: %s", tp, code.name)
            await asyncio.sleep(0)

    def update_config(self, topic: str, config: LogConfig) -> None:
        self._replicas().update_topic_config(topic, config)
