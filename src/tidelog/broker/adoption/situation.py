"""What an adoption starts from, and what is planned from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.broker.adoption.disk import DiskTopic
from tidelog.broker.adoption.metadata_log import TOPIC_RESOURCE, KafkaMetadata, KafkaTopic
from tidelog.broker.metadata.images import TopicImage
from tidelog.broker.store.adopted import Note
from tidelog.broker.store.api import Operation
from tidelog.common.named_tuple import NamedTuple


@dataclass
class AdoptionPlan:
    """What is to be written, and what is to be said about it. Nothing of it has happened when it is refused."""

    operations: list[Operation] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)
    #: Topics whose configs nobody knows.
    unknown: list[str] = field(default_factory=list)
    #: Topics that the store is to forget: deleted elsewhere, or another one bears the name now.
    gone: set[str] = field(default_factory=set)
    #: The configs, new or changed, that the operations do not write: the caller fits and checks them first.
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    #: Sentences about what a Kafka changed that served the directories in between.
    changes: list[str] = field(default_factory=list)


class Situation(NamedTuple):
    """All that a plan is made from."""

    disk: Mapping[str, DiskTopic]
    #: What the store knows: topics, and what is set for them.
    known: Mapping[str, TopicImage]
    configs: Mapping[str, Mapping[str, str]]
    metadata: KafkaMetadata | None
    node_id: int
    internal_configs: Mapping[str, Mapping[str, str]]
    #: The last adoption; None when there was none, or when no Kafka has been here since.
    before: Note | None = None
    controller_epoch: int = 0

    @property
    def by_name(self) -> Mapping[str, KafkaTopic]:
        return {topic.name: topic for topic in self.metadata.topics.values()} if self.metadata is not None else {}

    def kafka_configs(self, name: str) -> Mapping[str, str]:
        """What Kafka has set for a topic; nothing is an answer, too, as long as there is a metadata log to give it."""
        return self.metadata.configs.get((TOPIC_RESOURCE, name), {}) if self.metadata is not None else {}
