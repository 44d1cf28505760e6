"""The table of APIs: keys, names, version ranges, header forms. Reading it parses no schema.

`API[ApiKey.PRODUCE]` describes what this package *speaks*; what a broker serves is for its handlers to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol._catalog import APIS

if TYPE_CHECKING:
    from tidelog.protocol.message import Message


class ApiKey(IntEnum):
    """Kafka's request keys.

    Numbers that are missing belong to KRaft's own requests between controllers and to brokers (votes, snapshots,
    registrations), which a cluster coordinated by ZooKeeper does not send.
    """

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


class ApiSpec(NamedTuple):
    """One row of the table. `flexible_from` is -1 when no version is flexible."""

    key: ApiKey
    name: str
    min_version: int
    max_version: int
    flexible_from: int
    latest_stable: int
    listeners: tuple[str, ...]

    @property
    def request(self) -> str:
        """Name of the request's class in `tidelog.protocol.messages`."""
        return f"{self.name}Request"

    @property
    def response(self) -> str:
        return f"{self.name}Response"

    def is_flexible(self, version: int) -> bool:
        return 0 <= self.flexible_from <= version

    def supports(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version


API: Mapping[ApiKey, ApiSpec] = MappingProxyType({ApiKey(row[0]): ApiSpec(ApiKey(row[0]), *row[1:]) for row in APIS})
_BY_NUMBER: Mapping[int, ApiSpec] = MappingProxyType({int(key): spec for key, spec in API.items()})
_BY_REQUEST: Mapping[str, ApiSpec] = MappingProxyType({spec.request: spec for spec in API.values()})


#: Every request asks these questions: so many answers are kept.
KNOWN = 512


def api_spec(key: int) -> ApiSpec:
    """The row of a key that came from the wire; UNSUPPORTED_VERSION for keys that Kafka does not have."""
    spec = _BY_NUMBER.get(key)
    if spec is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"API key {key} is not known")
    return spec


@lru_cache(maxsize=KNOWN)
def request_header_version(key: int, version: int) -> int:
    """0: no client id (ControlledShutdown 0 only), 1: with client id, 2: with tagged fields."""
    if key == ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return 0
    return 2 if api_spec(key).is_flexible(version) else 1


@lru_cache(maxsize=KNOWN)
def response_header_version(key: int, version: int) -> int:
    """0: correlation id only, 1: with tagged fields. ApiVersions stays at 0, so that any client can read it."""
    return 1 if key != ApiKey.API_VERSIONS and api_spec(key).is_flexible(version) else 0


@lru_cache(maxsize=KNOWN)
def request_class(key: int) -> type[Message]:
    return _message(api_spec(key).request)


@lru_cache(maxsize=KNOWN)
def response_class(key: int) -> type[Message]:
    return _message(api_spec(key).response)


def _message(name: str) -> type[Message]:
    from tidelog.protocol import messages

    found: type[Message] = getattr(messages, name)
    return found


def spec_of(request: Message | type[Message]) -> ApiSpec:
    """The row of a request's class or instance."""
    cls = request if isinstance(request, type) else type(request)
    spec = _BY_REQUEST.get(cls.__name__)
    if spec is None:
        raise TypeError(f"{cls.__name__} is no request")
    return spec
