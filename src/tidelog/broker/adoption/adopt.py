"""The step of the broker's start that adopts; only taken when `scan.py` found something.

All or nothing: everything is read, planned and checked first, then written in one step. An adoption that is refused
leaves no trace, so that the Kafka can be mended and the start tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tidelog.broker import config as keys
from tidelog.broker.adoption.configs import entity_nodes, fitted, merged, topic_nodes
from tidelog.broker.adoption.disk import highest_producer_id, read_topics
from tidelog.broker.adoption.guard import few
from tidelog.broker.adoption.metadata_files import log_files
from tidelog.broker.adoption.metadata_log import KafkaMetadata, read_metadata_log
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
from tidelog.broker.store.adopted import Note, note_operations
from tidelog.broker.store.api import Create, Operation, SetData, Store, ensure_path
from tidelog.common.errors import KafkaError, StorageError
from tidelog.common.rng import Rng
from tidelog.common.types import INTERNAL_TOPICS
from tidelog.common.uuids import uuid_to_text
from tidelog.log.config import TOPIC_KEYS
from tidelog.log.manager.manager import LogManager

logger = logging.getLogger(__name__)

#: How far above the highest id that was seen new producer ids begin: ids that left no trace were below it, too.
PRODUCER_ID_MARGIN = 1_000_000


class Adoption:
    """One adoption: `take_over` before the logs are loaded (a log needs its topic's configs), `reserve_producer_ids`
    when they are (the ids are in them)."""

    def __init__(self, store: Store, log_manager: LogManager, config: BrokerConfig, node_id: int, rng: Rng) -> None:
        self._store = store
        self._log_manager = log_manager
        self._fs = log_manager.fs
        self._config = config
        self._node_id = node_id
        self._rng = rng
        #: What Kafka's metadata log says; None for directories of ZooKeeper's time, which have none.
        self._metadata: KafkaMetadata | None = None

    async def take_over(self, scan: Scan) -> None:
        """Make known to the store what only the disk knows, and what Kafka changed.

        The order matters: strays are renamed back just before the write, so that an adoption that is refused has
        renamed nothing, and one that is cut off in between finds them in their places the next time.
        """
        metadata = read_metadata_log(self._fs, scan.metadata_log) if scan.metadata_log is not None else None
        self._metadata = metadata
        stored = await load_configs(self._store, paths.TOPIC_CONFIGS)
        loaded = await load_topics(self._store, self._rng, 0)
        before = scan.note or Note()
        situation = Situation(
            read_topics(self._fs, scan.found),
            {image.name: image for image in loaded.images},
            stored,
            metadata,
            self._node_id,
            self._internal_configs(),
            before if scan.kafka_ran else None,
        )
        plan = plan_adoption(situation, self._rng)
        entities = await self._entity_values(metadata, before) if metadata is not None else {}
        await self._check_configs(plan, entities)
        operations = plan.operations
        for name, values in plan.configs.items():
            made = name in plan.adopted or name in stored
            operations.append((SetData if made else Create)(paths.topic_config(name), znodes.encode_config(values)))
        operations += await self._config_operations(entities)
        operations += await note_operations(self._store, self._note(scan, plan, before))
        if scan.kafka_ran:
            known = {name: image for name, image in situation.known.items() if name not in plan.gone}
            if back := bring_back(self._log_manager, known, scan.found):
                plan.changes.append(f"what it did not know and set aside is back: {few(back)}")
        await self._store.multi(operations)
        _report(plan, metadata)

    async def reserve_producer_ids(self) -> None:
        """Begin new producer ids above every one that the adopted logs have seen.

        An id that is given out twice would let a new producer continue an old one's sequence: its batches would be
        taken for duplicates and dropped. Kafka's metadata log names the next free id; without it, a margin is kept.
        """
        highest = highest_producer_id(self._log_manager.logs.values())
        floor = self._metadata.next_producer_id if self._metadata is not None else 0
        if highest >= 0:
            floor = max(floor, highest + 1 + (0 if self._metadata is not None else PRODUCER_ID_MARGIN))
        if floor:
            await allocate_block(self._store, self._node_id, at_least=-(-floor // 1000) * 1000)

    def _note(self, scan: Scan, plan: AdoptionPlan, before: Note) -> Note:
        """What the next adoption is compared with. A topic stays unknown until configs for it came from somewhere."""
        metadata = self._metadata
        settled = plan.configs.keys() | plan.gone
        unknown = {name for name in before.unknown if name not in settled} | set(plan.unknown)
        if self._config[keys.TIDELOG_ADOPT_ACCEPT_DEFAULTS]:
            unknown = set()
        if metadata is None or scan.metadata_log is None:
            return Note(sorted(unknown))
        return Note(
            sorted(unknown),
            log_files(self._fs, scan.metadata_log),
            {topic.name: uuid_to_text(topic.topic_id) for topic in metadata.topics.values()},
            {**topic_nodes(metadata), **entity_nodes(metadata, self._node_id)},
        )

    def _internal_configs(self) -> dict[str, dict[str, str]]:
        """Kafka's coordinators make these topics with the same configs everywhere, so theirs are known without a
        metadata log, and they need no guard: compaction goes on."""
        configs = {}
        for name in (*INTERNAL_TOPICS, SHARE_GROUP_STATE_TOPIC):
            topic = internal_topic(name, self._config, 1)
            assert topic is not None
            configs[name] = {key: value for key, value in topic.configs.items() if value is not None}
        return configs

    # -- configs -----------------------------------------------------------------------------------------------------

    async def _entity_values(self, metadata: KafkaMetadata, before: Note) -> dict[str, dict[str, str]]:
        """Node → values of brokers, client quotas and credentials that are new, or that Kafka changed. Topics have
        their own way (`comeback.py`), as theirs may be unknown."""
        now = entity_nodes(metadata, self._node_id)
        topics = f"{paths.TOPIC_CONFIGS}/"
        past = {path: values for path, values in before.configs.items() if not path.startswith(topics)}
        wanted = sorted(now.keys() | past.keys())
        result = {}
        for path, item in zip(wanted, await self._store.get_many(wanted), strict=True):
            ours = znodes.decode_config(path, item[0]) if item is not None else {}
            if item is None or path in past:
                values = merged(past.get(path, {}), now.get(path, {}), ours)
                if values != ours:
                    result[path] = values
        return result

    async def _config_operations(self, nodes: Mapping[str, Mapping[str, str]]) -> list[Operation]:
        """Parents are made at once and left there if the adoption fails: empty nodes say nothing."""
        operations: list[Operation] = []
        for path, values in nodes.items():
            data = znodes.encode_config(values)
            if await self._store.exists(path) is not None:
                operations.append(SetData(path, data))
            else:
                await ensure_path(self._store, path.rpartition("/")[0])
                operations.append(Create(path, data))
        return operations

    async def _check_configs(self, plan: AdoptionPlan, entities: Mapping[str, dict[str, str]]) -> None:
        """Fit the topics' configs to our limits, and see that logs can be made with them, over what brokers are to
        have: a trial of the whole config as it will be, since a topic's value may hang on a broker's."""
        brokers = await load_configs(self._store, paths.BROKER_CONFIGS)
        names = {str(self._node_id): self._node_id, paths.DEFAULT_ENTITY: None}
        layers = [entities.get(paths.broker_config(node), brokers.get(name, {})) for name, node in names.items()]
        trial = BrokerConfig(self._config.raw)
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


def _report(plan: AdoptionPlan, metadata: KafkaMetadata | None) -> None:
    if plan.adopted:
        origin = "its metadata log" if metadata is not None else "the directories alone"
        count = "1 topic" if len(plan.adopted) == 1 else f"{len(plan.adopted)} topics"
        logger.info("Adopted %s of an Apache Kafka, from %s: %s", count, origin, few(plan.adopted))
    if plan.changes:
        logger.warning("Apache Kafka has served these directories in between: %s", "; ".join(plan.changes))
    if metadata is not None and metadata.acls > 0:
        logger.error("The metadata log holds %d ACLs, and this broker does not enforce any", metadata.acls)
