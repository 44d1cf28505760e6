"""Topics as values: those to make, those that were made, those that are there.

Brokers are told by their ids here; `describe_cluster` has their addresses. A partition's replicas are the brokers that
have a copy; the in-sync replicas (`isr`) are those whose copy is complete enough that one of them may become leader
without losing what was acknowledged. Where fewer are in sync than `min.insync.replicas`, writes with `acks=all` fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tidelog.client.admin.acl_types import AclOperation
from tidelog.client.admin.config_values import ConfigChange, ConfigEntry
from tidelog.common.named_tuple import NamedTuple


class NewTopic(NamedTuple):
    """A topic to create. -1 takes the cluster's default; `assignments` (partition → brokers, the first one preferred as
    leader) goes before both numbers.
    """

    name: str
    partitions: int = -1
    replication_factor: int = -1
    configs: Mapping[str, ConfigChange] = MappingProxyType({})
    assignments: Mapping[int, Iterable[int]] | None = None


class CreatedTopic(NamedTuple):
    """A topic that was made. Brokers before Kafka 2.4 do not tell the numbers (-1) and configs (None); configs are not
    told to whoever may not see them, either.
    """

    name: str
    topic_id: str
    partitions: int
    replication_factor: int
    configs: Mapping[str, ConfigEntry] | None = None


class TopicListing(NamedTuple):
    """A row of the list of topics."""

    name: str
    topic_id: str
    internal: bool
    partitions: int


class PartitionDescription(NamedTuple):
    """A partition: broker ids, the preferred leader first. `leader` is -1 while there is none.

    `eligible_leaders` and `last_known_leaders` (KIP-966) are None where the broker does not tell them.
    """

    partition: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    offline: tuple[int, ...] = ()
    eligible_leaders: tuple[int, ...] | None = None
    last_known_leaders: tuple[int, ...] | None = None


class TopicDescription(NamedTuple):
    """A topic and its partitions, in order. `authorized_operations` is None unless it was asked for."""

    name: str
    topic_id: str
    internal: bool
    partitions: tuple[PartitionDescription, ...]
    authorized_operations: frozenset[AclOperation] | None = None
