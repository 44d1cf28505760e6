"""The store's tree, read into images: what a controller does first.

A topic is two kinds of nodes, as in Kafka: `/brokers/topics/<name>` has the assignment, which changes seldom, and each
partition's `state` node below it the leader, its epoch and the ISR. They are read in two rounds (all topics, then all
states), each at the price of one: with a hundred thousand partitions a round trip per node would take minutes. A state
that is missing is no error. The partition was assigned by a controller that then died: nobody has ever led it, and it
is elected for as a new one.
"""

from __future__ import annotations

import logging

from tidelog.broker.metadata.images import PartitionState, TopicImage
from tidelog.broker.store import paths
from tidelog.broker.store.api import Operation, SetData, Stat, Store
from tidelog.broker.store.errors import StoreError
from tidelog.broker.store.znodes import TopicNode, decode_config, decode_state, decode_topic, encode_topic
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.rng import Rng
from tidelog.common.types import INTERNAL_TOPICS, NO_NODE
from tidelog.common.uuids import ZERO_UUID, random_uuid

logger = logging.getLogger(__name__)


class LoadedTopics(NamedTuple):
    images: list[TopicImage]
    #: Partitions that have no state node yet: they were assigned, and never led.
    stateless: list[PartitionState]
    #: Topics that got an id now (older clusters had none): to be written.
    repairs: list[Operation]


async def load_topics(store: Store, rng: Rng, controller_epoch: int) -> LoadedTopics:
    """Every topic of the store. The version of a state node is the partition's epoch."""
    names = await store.children(paths.TOPICS)
    loaded = LoadedTopics([], [], [])
    nodes: dict[str, TopicNode] = {}
    for name, found in zip(names, await store.get_many([paths.topic(name) for name in names]), strict=True):
        if found is None:
            continue
        node = decode_topic(paths.topic(name), found[0])
        if node.topic_id == ZERO_UUID:
            node = node._replace(topic_id=random_uuid(rng))
            loaded.repairs.append(SetData(paths.topic(name), encode_topic(node), found[1].version))
        nodes[name] = node
    wanted = [(name, index) for name, node in nodes.items() for index in node.assignment]
    states = await store.get_many([paths.partition_state(name, index) for name, index in wanted])
    partitions: dict[str, list[PartitionState]] = {name: [] for name in nodes}
    for (name, index), item in zip(wanted, states, strict=True):
        state = _partition(name, index, nodes[name], item, controller_epoch)
        partitions[name].append(state)
        if item is None:
            loaded.stateless.append(state)
    for name, node in nodes.items():
        partitions[name].sort(key=lambda state: state.partition)
        loaded.images.append(TopicImage(name, node.topic_id, partitions[name], name in INTERNAL_TOPICS))
    return loaded


async def load_topic_ids(store: Store) -> dict[str, bytes]:
    """The ids of the topics, by name; those that have none yet are left out."""
    names = await store.children(paths.TOPICS)
    found = await store.get_many([paths.topic(name) for name in names])
    ids = {
        name: decode_topic(paths.topic(name), item[0]).topic_id
        for name, item in zip(names, found, strict=True)
        if item is not None
    }
    return {name: topic_id for name, topic_id in ids.items() if topic_id != ZERO_UUID}


async def load_configs(store: Store, root: str) -> dict[str, dict[str, str]]:
    """The configs of every entity right below a node, by the entity's name, but for nodes that cannot be read."""
    return {name: values for name, values in (await read_configs(store, root)).items() if values is not None}


async def read_configs(store: Store, root: str) -> dict[str, dict[str, str] | None]:
    """The same, with None where a node cannot be read."""
    names = await store.children(root)
    found = await store.get_many([f"{root}/{name}" for name in names])
    return {
        name: readable_config(f"{root}/{name}", item[0])
        for name, item in zip(names, found, strict=True)
        if item is not None
    }


def readable_config(path: str, data: bytes) -> dict[str, str] | None:
    """What a config node holds. One that cannot be read is named in a warning, and does not stop the others: the next
    change of it writes it anew."""
    try:
        return decode_config(path, data)
    except StoreError as error:
        logger.warning("A stored config is ignored: %s", error)
        return None


def _partition(
    name: str, index: int, node: TopicNode, item: tuple[bytes, Stat] | None, controller_epoch: int
) -> PartitionState:
    adding, removing = node.adding.get(index, ()), node.removing.get(index, ())
    replicas = node.assignment[index]
    if item is None:
        return PartitionState(
            name, index, node.topic_id, NO_NODE, -1, (), replicas, controller_epoch, 0, adding, removing, is_new=True
        )
    data, stat = item
    state = decode_state(paths.partition_state(name, index), data)
    return PartitionState(
        name,
        index,
        node.topic_id,
        state.leader,
        state.leader_epoch,
        state.isr,
        replicas,
        state.controller_epoch,
        stat.version,
        adding,
        removing,
    )
