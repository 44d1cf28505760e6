"""What the broker serves: one row per API, in key order. The table is the coverage map.

A handler is a function `handle(services, ctx, request) -> response | None`, plain or `async`: `services` are those of
its room (`services.py` there says what they are), `ctx` says who asked. Its module is imported when the first request
of its kind arrives, so that a broker starts without them. `None` means that the request has no answer (Produce with
acks=0).

Handlers translate: from the message of one version to what the rooms below understand, and their outcome into the form
that this version has room for. What Kafka calls an error of a partition, a topic or a group stands in the answer; an
exception that leaves a handler is a KafkaError that concerns the whole request, or a bug (`failure.py` answers both). A
ProtocolError closes the connection: Kafka does so where a request makes no sense at all.

ApiVersions advertises these rows, but for those that say otherwise: a row is added when its handler fully serves every
version that it names. Versions that newer Kafkas have dropped (KIP-896) are served nevertheless.
"""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from functools import cache
from operator import attrgetter
from typing import Any

from tidelog.broker.handlers.context import RequestContext
from tidelog.common.errors import ErrorCode
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol.api import ApiKey, request_class

HandlerFunction = Callable[[Any, RequestContext, Any], "Awaitable[Any] | Any"]
Decoder = Callable[[memoryview, int, int], Any]


class Handler(NamedTuple):
    """One API: which versions, and by whom."""

    key: ApiKey
    min_version: int
    max_version: int
    target: str
    """`room.module:function` of this package; the room says which services the function gets."""
    stepped: bool = False
    """What comes often (records, offsets, members, transactions): no task is made for it (`network/stepper.py`), so its
    coroutine may await nothing but futures."""
    decoder: str = ""
    """`room.module:function` that reads the request, where that is not the message class of `tidelog.protocol`."""
    advertised: bool = True
    """Whether ApiVersions names it."""

    @property
    def room(self) -> str:
        return self.target.partition(".")[0]


HANDLERS: tuple[Handler, ...] = (
    Handler(ApiKey.PRODUCE, 0, 13, "records.produce:handle", stepped=True),
    Handler(ApiKey.FETCH, 0, 18, "records.fetch:handle", stepped=True, decoder="records._fetch:FetchAsk.decode"),
    Handler(ApiKey.LIST_OFFSETS, 0, 11, "records.list_offsets:handle"),
    Handler(ApiKey.METADATA, 0, 13, "topics.metadata:handle"),
    Handler(ApiKey.OFFSET_COMMIT, 0, 10, "groups.offset_commit:handle", stepped=True),
    Handler(ApiKey.OFFSET_FETCH, 0, 10, "groups.offset_fetch:handle", stepped=True),
    Handler(ApiKey.FIND_COORDINATOR, 0, 6, "groups.find_coordinator:handle"),
    Handler(ApiKey.JOIN_GROUP, 0, 9, "groups.membership:join", stepped=True),
    Handler(ApiKey.HEARTBEAT, 0, 4, "groups.membership:heartbeat", stepped=True),
    Handler(ApiKey.LEAVE_GROUP, 0, 5, "groups.membership:leave"),
    Handler(ApiKey.SYNC_GROUP, 0, 5, "groups.membership:sync", stepped=True),
    Handler(ApiKey.DESCRIBE_GROUPS, 0, 6, "groups.admin:describe"),
    Handler(ApiKey.LIST_GROUPS, 0, 5, "groups.admin:list_groups"),
    Handler(ApiKey.SASL_HANDSHAKE, 0, 1, "security.sasl:handshake"),
    Handler(ApiKey.API_VERSIONS, 0, 4, "cluster.api_versions:handle"),
    Handler(ApiKey.CREATE_TOPICS, 0, 7, "topics.changes:create"),
    Handler(ApiKey.DELETE_TOPICS, 0, 6, "topics.changes:delete"),
    Handler(ApiKey.DELETE_RECORDS, 0, 2, "records.delete_records:handle"),
    Handler(ApiKey.INIT_PRODUCER_ID, 0, 5, "transactions.init_producer_id:handle"),
    Handler(ApiKey.OFFSET_FOR_LEADER_EPOCH, 0, 4, "records.offset_for_leader_epoch:handle"),
    Handler(ApiKey.ADD_PARTITIONS_TO_TXN, 0, 5, "transactions.add_partitions:handle", stepped=True),
    Handler(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4, "transactions.end:add_offsets", stepped=True),
    Handler(ApiKey.END_TXN, 0, 5, "transactions.end:end", stepped=True),
    Handler(ApiKey.WRITE_TXN_MARKERS, 0, 2, "transactions.write_markers:handle"),
    Handler(ApiKey.TXN_OFFSET_COMMIT, 0, 5, "groups.txn_offset_commit:handle", stepped=True),
    Handler(ApiKey.DESCRIBE_ACLS, 0, 3, "security.disabled:describe_acls"),
    Handler(ApiKey.CREATE_ACLS, 0, 3, "security.disabled:create_acls"),
    Handler(ApiKey.DELETE_ACLS, 0, 3, "security.disabled:delete_acls"),
    Handler(ApiKey.DESCRIBE_CONFIGS, 0, 4, "configs.describe:handle"),
    Handler(ApiKey.ALTER_CONFIGS, 0, 2, "configs.alter:replace"),
    Handler(ApiKey.ALTER_REPLICA_LOG_DIRS, 0, 2, "cluster.log_dirs:alter"),
    Handler(ApiKey.DESCRIBE_LOG_DIRS, 0, 5, "cluster.log_dirs:describe"),
    Handler(ApiKey.SASL_AUTHENTICATE, 0, 2, "security.sasl:authenticate"),
    Handler(ApiKey.CREATE_PARTITIONS, 0, 3, "topics.changes:create_partitions"),
    Handler(ApiKey.CREATE_DELEGATION_TOKEN, 0, 3, "security.disabled:create_token"),
    Handler(ApiKey.RENEW_DELEGATION_TOKEN, 0, 2, "security.disabled:renew_token"),
    Handler(ApiKey.EXPIRE_DELEGATION_TOKEN, 0, 2, "security.disabled:expire_token"),
    Handler(ApiKey.DESCRIBE_DELEGATION_TOKEN, 0, 3, "security.disabled:describe_tokens"),
    Handler(ApiKey.DELETE_GROUPS, 0, 2, "groups.admin:delete"),
    Handler(ApiKey.ELECT_LEADERS, 0, 2, "topics.elections:handle"),
    Handler(ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, 1, "configs.alter:change"),
    Handler(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1, "topics.reassignments:alter"),
    Handler(ApiKey.LIST_PARTITION_REASSIGNMENTS, 0, 0, "topics.reassignments:list_ongoing"),
    Handler(ApiKey.OFFSET_DELETE, 0, 0, "groups.offset_delete:handle"),
    Handler(ApiKey.DESCRIBE_CLIENT_QUOTAS, 0, 1, "security.quotas:describe"),
    Handler(ApiKey.ALTER_CLIENT_QUOTAS, 0, 1, "security.quotas:alter"),
    Handler(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, 0, "security.scram:describe"),
    Handler(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, 0, "security.scram:alter"),
    Handler(ApiKey.DESCRIBE_QUORUM, 0, 2, "cluster.cluster:describe_quorum"),
    Handler(ApiKey.UPDATE_FEATURES, 0, 2, "cluster.cluster:update_features"),
    Handler(ApiKey.DESCRIBE_CLUSTER, 0, 2, "cluster.cluster:describe"),
    Handler(ApiKey.DESCRIBE_PRODUCERS, 0, 0, "records.describe_producers:handle"),
    Handler(ApiKey.UNREGISTER_BROKER, 0, 0, "cluster.cluster:unregister"),
    Handler(ApiKey.DESCRIBE_TRANSACTIONS, 0, 0, "transactions.admin:describe"),
    Handler(ApiKey.LIST_TRANSACTIONS, 0, 2, "transactions.admin:list_transactions"),
    Handler(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1, "groups.consumer_groups:heartbeat", stepped=True),
    Handler(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1, "groups.consumer_groups:describe"),
    Handler(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, 0, "cluster.telemetry:subscriptions", advertised=False),
    Handler(ApiKey.PUSH_TELEMETRY, 0, 0, "cluster.telemetry:push", advertised=False),
    Handler(ApiKey.LIST_CONFIG_RESOURCES, 0, 1, "configs.list_resources:handle"),
    Handler(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0, "topics.describe_topic_partitions:handle"),
)


@cache
def handler_for(key: int) -> Handler | None:
    """The row that serves an API key."""
    return next((row for row in HANDLERS if row.key == key), None)


@cache
def load(target: str) -> HandlerFunction:
    """The function that a row names."""
    function: HandlerFunction = _named(target)
    return function


@cache
def decoder_for(row: Handler) -> Decoder:
    """What makes a request of a frame's bytes: `(frame, version, position)`."""
    decode: Decoder = _named(row.decoder) if row.decoder else request_class(row.key).decode
    return decode


def failed(key: ApiKey, version: int, request: Any, code: ErrorCode) -> Any:
    """The answer for a handler that failed (`failure.py`, which is loaded when the first one does)."""
    return _named("failure:failed")(key, version, request, code)


def _named(target: str) -> Any:
    module, _, name = target.partition(":")
    return attrgetter(name)(importlib.import_module(f"{__name__}.{module}"))
