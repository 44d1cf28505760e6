"""What handlers of topics may use.

They read the metadata cache, and change nothing themselves: whatever changes a topic is asked of the controller, which
writes it to the store and then tells the brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.controller.api import ClusterController
    from tidelog.broker.handlers.topics.kept_answers import KeptAnswers
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.metadata.topic_configs import TopicConfigs


class TopicServices(NamedTuple):
    """All that a handler of this room can touch."""

    metadata: MetadataCache
    config: BrokerConfig
    topic_configs: TopicConfigs
    """What is set for topics: the answer of CreateTopics shows every config of what it made."""
    controller: ClusterController
    kept_answers: KeptAnswers
    """Large answers of Metadata, encoded."""
