"""The step of the broker's start that adopts; only taken when `scan.py` found something.

All or nothing: everything is read, planned and checked first, then written in one step. An adoption that is refused
leaves no trace, so that the Kafka can be mended and the start tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.broker import config as keys
from tidelog.broker.adoption.configs import entity_nodes, fitted, merged, topic_nodes
from tidelog.broker.adoption.disk import highest_producer_id, read_topics
from tidelog.broker.adoption.guard import few
from tidelog.broker.adoption.metadata_log import KafkaMetadata, log_files, read_metadata_log
from tidelog.broker.adoption.note import Note, note_operations
from tidelog.broker.adoption.plan import plan_adoption
from tidelog.broker.adoption.scan import Scan
from tidelog.broker.adoption.situation import AdoptionPlan, Situation
from tidelog.broker.adoption.strays import bring_back
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.controller.internal_topics import SHARE_GROUP_STATE_TOPIC, internal_topic
from tidelog.broker.controller.loading import load_configs, load_topics
from tidelog.broker.controller.producer_ids import allocate_block
from tidelog.broker.metadata.topic_configs import TopicConfigs
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import Create, Operation, SetData, ensure_path
from tidelog.common.errors import KafkaError, StorageError
from tidelog.common.types import INTERNAL_TOPICS
from tidelog.common.uuids import uuid_to_text
from tidelog.log.config import TOPIC_KEYS

if TYPE_CHECKING:
    from tidelog.broker.server import Broker

logger = logging.getLogger(__name__)

#: How far above the highest id that was seen new producer ids begin: ids that left no trace were below it, too.
PRODUCER_ID_MARGIN = 1_000_000


async def adopt(broker: Broker, scan: Scan) -> KafkaMetadata | None:
    """Make known to the store what only the disk knows, and what Kafka changed; returns what its metadata log says."""
    metadata = read_metadata_log(broker.fs, scan.metadata_log) if scan.metadata_log is not None else None
    stored = await load_configs(broker.store, paths.TOPIC_CONFIGS)
    loaded = await load_topics(broker.store, broker.rng, 0)
    before = scan.note or Note()
    situation = Situation(
        read_topics(broker.fs, scan.found),
        {image.name: image for image in loaded.images},
        stored,
        metadata,
        broker.node_id,
        _internal_configs(broker),
        before if scan.kafka_ran else None,
    )
    plan = plan_adoption(situation, broker.rng)
    entities = await _entity_values(broker, metadata, before) if metadata is not None else {}
    await _check_configs(broker, plan, entities)
    operations = plan.operations
    for name, values in plan.configs.items():
        made = name in plan.adopted or name in stored
        operations.append((SetData if made else Create)(paths.topic_config(name), znodes.encode_config(values)))
    operations += await _config_operations(broker, entities)
    operations += await note_operations(broker.store, _note(broker, scan, plan, metadata, before))
    if scan.kafka_ran:
        known = {name: image for name, image in situation.known.items() if name not in plan.gone}
        if back := bring_back(broker.log_manager, known, scan.found):
            plan.changes.append(f"what it did not know and set aside is back: {few(back)}")
    await broker.store.multi(operations)
    _report(plan, metadata)
    return metadata


async def reserve_producer_ids(broker: Broker, metadata: KafkaMetadata | None) -> None:
    """Begin new producer ids above every one that the adopted logs have seen."""
    highest = highest_producer_id(broker.log_manager.logs.values())
    floor = metadata.next_producer_id if metadata is not None else 0
    if highest >= 0:
        floor = max(floor, highest + 1 + (0 if metadata is not None else PRODUCER_ID_MARGIN))
    if floor:
        await allocate_block(broker.store, broker.node_id, at_least=-(-floor // 1000) * 1000)


def _report(plan: AdoptionPlan, metadata: KafkaMetadata | None) -> None:
    if plan.adopted:
        origin = "its metadata log" if metadata is not None else "the directories alone"
        count = "1 topic" if len(plan.adopted) == 1 else f"{len(plan.adopted)} topics"
        logger.info("Adopted %s of an Apache Kafka, from %s: %s", count, origin, few(plan.adopted))
    if plan.changes:
        logger.warning("Apache Kafka has served these directories in between: %s", "; ".join(plan.changes))
    if metadata is not None and metadata.acls > 0:
        logger.error("The metadata log holds %d ACLs, and this broker does not enforce any", metadata.acls)


def _note(broker: Broker, scan: Scan, plan: AdoptionPlan, metadata: KafkaMetadata | None, before: Note) -> Note:
    settled = plan.configs.keys() | plan.gone
    unknown = {name for name in before.unknown if name not in settled} | set(plan.unknown)
    if broker.config[keys.TIDELOG_ADOPT_ACCEPT_DEFAULTS]:
        unknown = set()
    if metadata is None or scan.metadata_log is None:
        return Note(sorted(unknown))
    return Note(
        sorted(unknown),
        log_files(broker.fs, scan.metadata_log),
        {topic.name: uuid_to_text(topic.topic_id) for topic in metadata.topics.values()},
        {**topic_nodes(metadata), **entity_nodes(metadata, broker.node_id)},
    )


def _internal_configs(broker: Broker) -> dict[str, dict[str, str]]:
    configs = {}
    for name in (*INTERNAL_TOPICS, SHARE_GROUP_STATE_TOPIC):
        topic = internal_topic(name, broker.config, 1)
        assert topic is not None
        configs[name] = {key: value for key, value in topic.configs.items() if value is not None}
    return configs


# -- configs -----------------------------------------------------------------------------------------------------------


async def _entity_values(broker: Broker, metadata: KafkaMetadata, before: Note) -> dict[str, dict[str, str]]:
    """Node → values of brokers, client quotas and credentials that are new, or that Kafka changed."""
    now = entity_nodes(metadata, broker.node_id)
    past = {path: values for path, values in before.configs.items() if not path.startswith(f"{paths.TOPIC_CONFIGS}/")}
    wanted = sorted(now.keys() | past.keys())
    result = {}
    for path, item in zip(wanted, await broker.store.get_many(wanted), strict=True):
        ours = znodes.decode_config(path, item[0]) if item is not None else {}
        if item is None or path in past:
            values = merged(past.get(path, {}), now.get(path, {}), ours)
            if values != ours:
                result[path] = values
    return result


async def _config_operations(broker: Broker, nodes: Mapping[str, Mapping[str, str]]) -> list[Operation]:
    operations: list[Operation] = []
    for path, values in nodes.items():
        data = znodes.encode_config(values)
        if await broker.store.exists(path) is not None:
            operations.append(SetData(path, data))
        else:
            await ensure_path(broker.store, path.rpartition("/")[0])
            operations.append(Create(path, data))
    return operations


async def _check_configs(broker: Broker, plan: AdoptionPlan, entities: Mapping[str, dict[str, str]]) -> None:
    """Fit the topics' configs to our limits, and see that logs can be made with them, over what brokers are to have."""
    brokers = await load_configs(broker.store, paths.BROKER_CONFIGS)
    names = {str(broker.node_id): broker.node_id, paths.DEFAULT_ENTITY: None}
    layers = [entities.get(paths.broker_config(node), brokers.get(name, {})) for name, node in names.items()]
    trial = BrokerConfig(broker.config.raw)
    trial.apply_dynamic(*layers)
    configs = TopicConfigs(trial)
    for name, values in plan.configs.items():
        for key, value, nearest in list(fitted(TOPIC_KEYS, values)):
            logger.warning("Topic %s: %s=%s is out of range here, %s is used instead", name, key, value, nearest)
            values[key] = nearest
        configs.set(name, values)
        try:
            configs.check(name)
        except KafkaError as error:
            raise StorageError(
                f"Topic {name} cannot be adopted: {error.message}. Nothing has been taken over; change it in the "
                "Apache Kafka that left it, and start again."
            ) from error
