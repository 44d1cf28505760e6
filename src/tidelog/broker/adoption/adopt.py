"""The step of the broker's start that adopts; only taken when `scan.py` found something."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.broker import config as keys
from tidelog.broker.adoption.disk import highest_producer_id, read_topics
from tidelog.broker.adoption.guard import few, guarded_topics, note_operations
from tidelog.broker.adoption.metadata_log import KafkaMetadata, read_metadata_log
from tidelog.broker.adoption.plan import plan_adoption
from tidelog.broker.config.definition import BROKER_KEYS
from tidelog.broker.controller.internal_topics import SHARE_GROUP_STATE_TOPIC, internal_topic
from tidelog.broker.controller.loading import load_topics
from tidelog.broker.controller.producer_ids import allocate_block
from tidelog.broker.handlers.quotas import entity_path
from tidelog.broker.handlers.scram import MECHANISMS, credential_text
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import Create, Operation, ensure_path
from tidelog.common.types import INTERNAL_TOPICS, TopicPartition
from tidelog.log.names import METADATA_LOG_DIR

if TYPE_CHECKING:
    from pathlib import Path

    from tidelog.broker.server import Broker

logger = logging.getLogger(__name__)

#: How far above the highest id that was seen new producer ids begin: ids that left no trace were below it, too.
PRODUCER_ID_MARGIN = 1_000_000
BROKER_RESOURCE = 4


async def adopt(broker: Broker, found: Mapping[TopicPartition, Path]) -> bool:
    """Make known to the store what only the disk knows; returns whether there was anything."""
    metadata = _metadata(broker)
    loaded = await load_topics(broker.store, broker.rng, 0)
    plan = plan_adoption(
        read_topics(broker.fs, found),
        {image.name: image for image in loaded.images},
        metadata,
        node_id=broker.node_id,
        controller_epoch=0,
        internal_configs=_internal_configs(broker),
        rng=broker.rng,
    )
    if not plan.adopted:
        return False
    operations = plan.operations
    if metadata is not None:
        operations += await _entity_operations(broker, metadata)
        if metadata.acls > 0:
            logger.error("The metadata log holds %d ACLs, and this broker does not enforce any", metadata.acls)
    unknown = [] if broker.config[keys.TIDELOG_ADOPT_ACCEPT_DEFAULTS] else plan.unknown
    if unknown:
        operations += await note_operations(broker.store, [*await guarded_topics(broker.store), *unknown])
    await broker.store.multi(operations)
    origin = "its metadata log" if metadata is not None else "the directories alone"
    logger.info("Adopted %d topics of an Apache Kafka, from %s: %s", len(plan.adopted), origin, few(plan.adopted))
    return True


async def reserve_producer_ids(broker: Broker) -> None:
    """Begin new producer ids above every one that the adopted logs have seen."""
    metadata = _metadata(broker)
    highest = highest_producer_id(broker.log_manager.logs.values())
    floor = metadata.next_producer_id if metadata is not None else 0
    if highest >= 0:
        floor = max(floor, highest + 1 + (0 if metadata is not None else PRODUCER_ID_MARGIN))
    if floor:
        await allocate_block(broker.store, broker.node_id, at_least=-(-floor // 1000) * 1000)


def _metadata(broker: Broker) -> KafkaMetadata | None:
    directories = [log_dir.path for log_dir in broker.log_manager.live_dirs]
    configured = broker.config[keys.METADATA_LOG_DIR]
    if configured is not None:
        directories.insert(0, type(directories[0])(configured))
    for directory in directories:
        if broker.fs.exists(directory / METADATA_LOG_DIR):
            return read_metadata_log(broker.fs, directory / METADATA_LOG_DIR)
    return None


def _internal_configs(broker: Broker) -> dict[str, dict[str, str]]:
    configs = {}
    for name in (*INTERNAL_TOPICS, SHARE_GROUP_STATE_TOPIC):
        topic = internal_topic(name, broker.config, 1)
        assert topic is not None
        configs[name] = {key: value for key, value in topic.configs.items() if value is not None}
    return configs


async def _entity_operations(broker: Broker, metadata: KafkaMetadata) -> list[Operation]:
    """Configs of brokers, client quotas and SCRAM credentials, where the store has none."""
    nodes: dict[str, dict[str, str]] = {}
    for (kind, name), values in metadata.configs.items():
        if kind == BROKER_RESOURCE and name in ("", str(broker.node_id)):
            known = {key: value for key, value in values.items() if key in BROKER_KEYS}
            nodes[paths.broker_config(broker.node_id if name else None)] = known
    for entity, quotas in metadata.quotas.items():
        path, _ = entity_path(dict(entity))
        nodes.setdefault(path, {}).update({key: str(value) for key, value in quotas.items()})
    for (user, code), record in metadata.scram.items():
        mechanism = MECHANISMS.get(code)
        if mechanism is not None:
            path, _ = entity_path({"user": user})
            text = credential_text(record.salt, record.stored_key, record.server_key, record.iterations)
            nodes.setdefault(path, {})[mechanism.name] = text
    operations: list[Operation] = []
    for path, values in nodes.items():
        if values and await broker.store.exists(path) is None:
            await ensure_path(broker.store, path.rpartition("/")[0])
            operations.append(Create(path, znodes.encode_config(values)))
    return operations
