"""The Admin for asyncio: every subject in one class, on the caller's own loop.

    async with Admin(bootstrap_servers="localhost:9092") as admin:
        await admin.create_topic("orders", partitions=3)

The methods are those of the subjects, one file each. Requests that belong together go out together; several calls may
be under way at once. The blocking `Admin` is derived from this one (`blocking`).

Cancelling a call stops waiting for it; what was sent is done all the same. A connection is made with the first request
to a broker and shared by all calls; nothing runs between calls, so that an Admin that is not used costs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self, Unpack

from tidelog.client.admin.acls import AclAdmin
from tidelog.client.admin.call import CallCounters
from tidelog.client.admin.cluster import ClusterAdmin
from tidelog.client.admin.configs import ConfigAdmin
from tidelog.client.admin.features import FeatureAdmin
from tidelog.client.admin.group_descriptions import GroupDescriptionAdmin
from tidelog.client.admin.group_offsets import GroupOffsetAdmin
from tidelog.client.admin.groups import GroupAdmin
from tidelog.client.admin.log_dirs import LogDirAdmin
from tidelog.client.admin.offsets import OffsetAdmin
from tidelog.client.admin.partitions import PartitionAdmin
from tidelog.client.admin.quotas import QuotaAdmin
from tidelog.client.admin.share_offsets import ShareOffsetAdmin
from tidelog.client.admin.streams_groups import StreamsGroupAdmin
from tidelog.client.admin.telemetry import TelemetryAdmin
from tidelog.client.admin.tokens import TokenAdmin
from tidelog.client.admin.topics import TopicAdmin
from tidelog.client.admin.transactions import TransactionAdmin
from tidelog.client.admin.users import UserAdmin
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import admin as keys
from tidelog.client.config import parse
from tidelog.client.unclosed import warn_unclosed

if TYPE_CHECKING:
    from tidelog.client.config.typed import AdminKeywords


class Admin(
    TopicAdmin,
    PartitionAdmin,
    OffsetAdmin,
    ConfigAdmin,
    GroupAdmin,
    GroupDescriptionAdmin,
    GroupOffsetAdmin,
    ShareOffsetAdmin,
    StreamsGroupAdmin,
    TransactionAdmin,
    ClusterAdmin,
    FeatureAdmin,
    LogDirAdmin,
    QuotaAdmin,
    UserAdmin,
    AclAdmin,
    TokenAdmin,
    TelemetryAdmin,
):
    """Everything about a cluster that is not records. Use it from one event loop.

    Settings are Kafka's, in a dict and as keywords with underscores. Every call takes `timeout` in seconds, in the
    place of `default.api.timeout.ms`, retries included. What fails is a `KafkaError`; a call for many items answers
    with `Outcomes`, in which each has its own.
    """

    #: Somebody else sees to the end of this one: who lends the connections, or the blocking Admin.
    _is_owned = False

    def __init__(self, config: Mapping[str, object] | None = None, **keywords: Unpack[AdminKeywords]) -> None:
        self._cluster = ClusterClient(parse(keys.KEYS, config, keywords))
        self._counters = CallCounters()

    @classmethod
    def over(cls, cluster: ClusterClient) -> Self:
        """An Admin that uses the connections of somebody else, who also closes them."""
        admin = cls.__new__(cls)
        admin._cluster, admin._is_owned = cluster, True
        admin._counters = CallCounters()
        return admin

    async def close(self) -> None:
        """Close the connections; calls under way fail."""
        await self._cluster.close()

    def __repr__(self) -> str:
        return f"<Admin of {self._cluster}>"

    def __del__(self) -> None:
        """Dropped: its connections go with it."""
        cluster = self.__dict__.get("_cluster")
        if cluster is not None and not self._is_owned and cluster.is_connected:
            warn_unclosed(self, "its connections were open")
            cluster.abandon()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
