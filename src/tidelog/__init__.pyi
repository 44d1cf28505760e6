"""The public names, for type checkers; `__init__.py` imports each with its first use."""

from tidelog.client.admin.blocking import Admin as Admin
from tidelog.client.admin.topic_values import NewTopic as NewTopic
from tidelog.client.consumer._records import ConsumerRecord as ConsumerRecord
from tidelog.client.consumer.blocking import Consumer as Consumer
from tidelog.client.consumer.commits import CommitFailedError as CommitFailedError
from tidelog.client.consumer.errors import NoOffsetForPartitionError as NoOffsetForPartitionError
from tidelog.client.consumer.errors import OffsetOutOfRangeError as OffsetOutOfRangeError
from tidelog.client.consumer.errors import WakeupError as WakeupError
from tidelog.client.consumer.handling.policies import dead_letter as dead_letter
from tidelog.client.consumer.handling.policies import retry as retry
from tidelog.client.consumer.handling.policies import skip as skip
from tidelog.client.consumer.handling.policies import stop as stop
from tidelog.client.consumer.interceptors import ConsumerInterceptor as ConsumerInterceptor
from tidelog.client.consumer.listener import ConsumerRebalanceListener as ConsumerRebalanceListener
from tidelog.client.consumer.records import ConsumerRecords as ConsumerRecords
from tidelog.client.producer._batch import RecordFuture as RecordFuture
from tidelog.client.producer.blocking import Producer as Producer
from tidelog.client.producer.columns import PartlyQueuedError as PartlyQueuedError
from tidelog.client.producer.interceptors import ProducerInterceptor as ProducerInterceptor
from tidelog.client.producer.partitioners import Partitioner as Partitioner
from tidelog.client.producer.record import ProducerRecord as ProducerRecord
from tidelog.client.producer.record import RecordMetadata as RecordMetadata
from tidelog.client.serialization import Deserializer as Deserializer
from tidelog.client.serialization import Serializer as Serializer
from tidelog.client.values import ConsumerGroupMetadata as ConsumerGroupMetadata
from tidelog.client.values import Node as Node
from tidelog.client.values import OffsetAndMetadata as OffsetAndMetadata
from tidelog.client.values import OffsetAndTimestamp as OffsetAndTimestamp
from tidelog.client.values import Token as Token
from tidelog.common.errors import ErrorCode as ErrorCode
from tidelog.common.errors import KafkaError as KafkaError
from tidelog.common.errors import TidelogError as TidelogError
from tidelog.common.errors import UsageError as UsageError
from tidelog.common.types import TopicPartition as TopicPartition
from tidelog.net.stages import ConnectError as ConnectError

__version__: str
