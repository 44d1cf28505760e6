# Rendered from the subjects of aio.Admin by tools/render_blocking_admin.py: do not edit.
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Self, Unpack

from tidelog.client.admin.acls import AclBinding, AclFilter
from tidelog.client.admin.cluster import ClusterDescription, Endpoint, Quorum
from tidelog.client.admin.config_values import ConfigChange, ConfigEntry, ConfigResource, ConfigType
from tidelog.client.admin.features import Features, FeatureUpdate
from tidelog.client.admin.group_offsets import Committed, Wanted
from tidelog.client.admin.group_values import GroupDescription, GroupListing, GroupState, GroupType
from tidelog.client.admin.log_dirs import LogDir, Replica, ReplicaLogDirs
from tidelog.client.admin.offsets import IsolationLevel, OffsetSpec
from tidelog.client.admin.outcomes import Outcomes
from tidelog.client.admin.partitions import ElectionType, NewPartitions, Reassignment
from tidelog.client.admin.quotas import Part, QuotaEntity
from tidelog.client.admin.share_offsets import ShareOffset
from tidelog.client.admin.streams_groups import StreamsGroupDescription
from tidelog.client.admin.tokens import DelegationToken
from tidelog.client.admin.topic_values import CreatedTopic, NewTopic, TopicDescription, TopicListing
from tidelog.client.admin.transactions import (
    ProducerEpoch,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from tidelog.client.admin.users import ScramCredential, ScramDeletion, ScramUpsertion
from tidelog.client.config.typed import AdminKeywords
from tidelog.client.values import OffsetAndMetadata, OffsetAndTimestamp
from tidelog.common.types import TopicPartition

class Admin:
    """Everything about a cluster that is not records; see `aio.Admin`."""

    def __init__(self, config: Mapping[str, object] | None = None, **keywords: Unpack[AdminKeywords]) -> None: ...
    def close(self, timeout: float | None = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def topics(self, *, internal: bool = False, timeout: float | None = None) -> list[str]:
        """The names of all topics that we may see; `internal`: also of those that the brokers keep for themselves."""
    def list_topics(self, *, internal: bool = False, timeout: float | None = None) -> dict[str, TopicListing]:
        """All topics that we may see, by name."""
    def describe_topic(
        self, name: str, *, authorized_operations: bool = False, timeout: float | None = None
    ) -> TopicDescription:
        """One topic: its partitions, their leaders and replicas."""
    def describe_topics(
        self,
        names: Iterable[str] = (),
        *,
        ids: Iterable[str] = (),
        authorized_operations: bool = False,
        partitions_per_response: int = 2000,
        timeout: float | None = None,
    ) -> Outcomes[str, TopicDescription]:
        """Topics by name, and by id (as text); the outcomes have the keys that were given."""
    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        *,
        replication_factor: int = -1,
        configs: Mapping[str, ConfigChange] | None = None,
        assignments: Mapping[int, Iterable[int]] | None = None,
        exists_ok: bool = False,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> CreatedTopic:
        """Create one topic, and wait until it can be used. -1 takes the cluster's default."""
    def create_topics(
        self,
        topics: Iterable[NewTopic | str],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> Outcomes[str, CreatedTopic]:
        """Create topics, and wait until those that were made can be used. `validate_only`: only say what would come
        of it.
        """
    def delete_topic(self, name: str, *, missing_ok: bool = False, timeout: float | None = None) -> None:
        """Delete one topic with all its records. `missing_ok`: it need not be there."""
    def delete_topics(
        self,
        names: Iterable[str] = (),
        *,
        ids: Iterable[str] = (),
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> Outcomes[str, None]:
        """Delete topics by name, and by id (as text, Kafka 2.8 on), with all their records."""
    def create_partitions(
        self,
        totals: Mapping[str, NewPartitions | int],
        *,
        validate_only: bool = False,
        retry_on_quota_violation: bool = True,
        timeout: float | None = None,
    ) -> Outcomes[str, None]:
        """Give topics more partitions, and wait until they can be used: topic → how many in all."""
    def elect_leaders(
        self,
        partitions: Iterable[TopicPartition] | None = None,
        election: ElectionType = ElectionType.PREFERRED,
        *,
        timeout: float | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Elect leaders of these partitions; None: of all that could have a better one, and only those are answered
        for. A partition whose leader is the wanted one already fails with ELECTION_NOT_NEEDED.
        """
    def alter_partition_reassignments(
        self,
        targets: Mapping[TopicPartition, Sequence[int] | None],
        *,
        allow_replication_factor_change: bool = True,
        timeout: float | None = None,
    ) -> Outcomes[TopicPartition, None]:
        """Begin to move partitions to other brokers, the preferred leader first; None cancels a move."""
    def list_partition_reassignments(
        self, partitions: Iterable[TopicPartition] | None = None, *, timeout: float | None = None
    ) -> dict[TopicPartition, Reassignment]:
        """The moves under way, of these partitions or of all. A partition that is not being moved is left out."""
    def list_offsets(
        self,
        specs: Mapping[TopicPartition, OffsetSpec | datetime | int],
        *,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        timeout: float | None = None,
    ) -> Outcomes[TopicPartition, OffsetAndTimestamp]:
        """The offset that answers each question; -1 where there is no such record."""
    def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> Outcomes[TopicPartition, int]:
        """Cut off all records before these offsets (HIGH_WATERMARK: all that there are); the outcome of a partition is
        where its log begins now.
        """
    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Where the partitions begin; retention and `delete_records` move that on. Raises if one cannot be told."""
    def end_offsets(
        self,
        partitions: Iterable[TopicPartition],
        *,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        timeout: float | None = None,
    ) -> dict[TopicPartition, int]:
        """The offset that the next record will have, as readers see it. Raises if one cannot be told."""
    def describe_config(
        self,
        resource: ConfigResource,
        *,
        keys: Iterable[str] | None = None,
        synonyms: bool = False,
        documentation: bool = False,
        timeout: float | None = None,
    ) -> dict[str, ConfigEntry]:
        """The configs of one resource, by key; see `describe_configs`."""
    def describe_configs(
        self,
        resources: Iterable[ConfigResource] | Mapping[ConfigResource, Iterable[str] | None],
        *,
        synonyms: bool = False,
        documentation: bool = False,
        timeout: float | None = None,
    ) -> Outcomes[ConfigResource, dict[str, ConfigEntry]]:
        """The configs of each resource, by key. A mapping names the keys that are wanted of each (None: all)."""
    def alter_config(
        self,
        resource: ConfigResource,
        changes: Mapping[str, ConfigChange],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Change configs of one resource; see `incremental_alter_configs`."""
    def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, ConfigChange]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Outcomes[ConfigResource, None]:
        """Change configs: a new value, None for the default, `Append` or `Subtract` for lists. What is not named stays
        as it is. `validate_only`: only say what would come of it.
        """
    def list_config_resources(
        self, types: Iterable[ConfigType] = (), *, timeout: float | None = None
    ) -> list[ConfigResource]:
        """Everything that has configs of its own, of these types or of all (Kafka 4.1 on; before, client metrics)."""
    def list_client_metrics_resources(self, *, timeout: float | None = None) -> list[str]:
        """The names of all subscriptions to client metrics (KIP-714); `ConfigResource.client_metrics` has what each
        of them wants.
        """
    def groups(self, *, timeout: float | None = None) -> list[str]:
        """The names of all groups that we may see."""
    def list_groups(
        self,
        *,
        states: Iterable[GroupState] = (),
        types: Iterable[GroupType] = (),
        protocol_types: Iterable[str] = (),
        timeout: float | None = None,
    ) -> dict[str, GroupListing]:
        """All groups by id, or those in one of these states (Kafka 2.6 on), of these types (3.8 on) or protocols."""
    def list_consumer_groups(
        self, *, states: Iterable[GroupState] = (), timeout: float | None = None
    ) -> dict[str, GroupListing]:
        """The groups of consumers, classic and new, and those that only have offsets."""
    def delete_consumer_groups(self, group_ids: Iterable[str], *, timeout: float | None = None) -> Outcomes[str, None]:
        """Delete groups without members, with their offsets."""
    def delete_share_groups(self, group_ids: Iterable[str], *, timeout: float | None = None) -> Outcomes[str, None]:
        """Delete share groups without members, with their state."""
    def delete_streams_groups(self, group_ids: Iterable[str], *, timeout: float | None = None) -> Outcomes[str, None]:
        """Delete streams groups without members. Their topics stay."""
    def delete_group(self, group_id: str, *, missing_ok: bool = False, timeout: float | None = None) -> None:
        """Delete one group of any type. `missing_ok`: it need not be there."""
    def remove_members_from_consumer_group(
        self,
        group_id: str,
        instance_ids: Iterable[str] | None = None,
        *,
        reason: str = ...,
        timeout: float | None = None,
    ) -> Outcomes[str, None]:
        """Make members leave: static ones by their instance ids (Kafka 2.4 on), or all that there are."""
    def describe_consumer_group(
        self, group_id: str, *, authorized_operations: bool = False, timeout: float | None = None
    ) -> GroupDescription:
        """One group of consumers, of either type."""
    def describe_consumer_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool = False, timeout: float | None = None
    ) -> Outcomes[str, GroupDescription]:
        """Groups of consumers, of either type. A group of something else is INVALID_GROUP_ID."""
    def describe_classic_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool = False, timeout: float | None = None
    ) -> Outcomes[str, GroupDescription]:
        """Groups of the classic type, whatever they are used for (consumers, Connect, a schema registry)."""
    def describe_share_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool = False, timeout: float | None = None
    ) -> Outcomes[str, GroupDescription]:
        """Share groups (Kafka 4.1 on)."""
    def group_offsets(
        self, group_id: str, *, require_stable: bool = False, timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """All positions that one group has committed."""
    def list_consumer_group_offsets(
        self, groups: Wanted, *, require_stable: bool = False, timeout: float | None = None
    ) -> Outcomes[str, Committed]:
        """The positions of each group: of all partitions that it has any of, or of those that a mapping names (None
        where there is none). `require_stable`: wait for transactions that are about to commit some.
        """
    def list_streams_group_offsets(
        self, groups: Wanted, *, require_stable: bool = False, timeout: float | None = None
    ) -> Outcomes[str, Committed]:
        """The positions of streams groups; as `list_consumer_group_offsets`."""
    def alter_consumer_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], *, timeout: float | None = None
    ) -> Outcomes[TopicPartition, None]:
        """Set positions of a group without members: the offsets of the next records to read."""
    def alter_streams_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], *, timeout: float | None = None
    ) -> Outcomes[TopicPartition, None]:
        """Set positions of a streams group without members."""
    def delete_consumer_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> Outcomes[TopicPartition, None]:
        """Delete positions of a group that no member reads (Kafka 2.4 on)."""
    def delete_streams_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition], *, timeout: float | None = None
    ) -> Outcomes[TopicPartition, None]:
        """Delete positions of a streams group that no member reads."""
    def list_share_group_offsets(
        self, groups: Wanted, *, timeout: float | None = None
    ) -> Outcomes[str, dict[TopicPartition, ShareOffset]]:
        """Where each group starts, in all partitions that it reads or in those that a mapping names."""
    def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout: float | None = None
    ) -> Outcomes[TopicPartition, None]:
        """Let a group without members start elsewhere."""
    def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, timeout: float | None = None
    ) -> Outcomes[str, None]:
        """Forget where a group without members starts in these topics."""
    def describe_streams_groups(
        self, group_ids: Iterable[str], *, authorized_operations: bool = False, timeout: float | None = None
    ) -> Outcomes[str, StreamsGroupDescription]:
        """Streams groups (Kafka 4.1 on)."""
    def list_transactions(
        self,
        *,
        states: Iterable[TransactionState | str] = (),
        producer_ids: Iterable[int] = (),
        longer_than_ms: int = -1,
        id_pattern: str | None = None,
        timeout: float | None = None,
    ) -> list[TransactionListing]:
        """The transactions that all coordinators know of (Kafka 3.0 on): in these states, of these producers, running
        for longer (3.8 on), with an id that matches (RE2, 4.1 on).
        """
    def describe_transactions(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> Outcomes[str, TransactionDescription]:
        """What the coordinators know of these ids (Kafka 3.0 on)."""
    def describe_producers(
        self, partitions: Iterable[TopicPartition], *, broker: int | None = None, timeout: float | None = None
    ) -> Outcomes[TopicPartition, list[ProducerState]]:
        """The producers that have written to each partition lately (Kafka 3.0 on), as its leader knows them, or the
        replica on a certain broker.
        """
    def abort_transaction(
        self,
        partition: TopicPartition,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int = 0,
        *,
        timeout: float | None = None,
    ) -> None:
        """Write an abort marker to one partition: ends a transaction there that no coordinator will ever end.
        `describe_producers` tells the numbers (a coordinator epoch of None is 0 here).
        """
    def fence_producers(
        self, transactional_ids: Iterable[str], *, timeout: float | None = None
    ) -> Outcomes[str, ProducerEpoch]:
        """Abort whatever these ids have open, and keep their producers from writing on. The outcome has the first
        epoch that is not refused.
        """
    def force_terminate_transaction(self, transactional_id: str, *, timeout: float | None = None) -> None:
        """End the transaction of one id, whoever runs it: `fence_producers` of one."""
    def describe_cluster(
        self, *, authorized_operations: bool = False, fenced_brokers: bool = False, timeout: float | None = None
    ) -> ClusterDescription:
        """The brokers, the controller and the cluster's id. `fenced_brokers`: also those that are registered but not
        at work (Kafka 4.0 on).
        """
    def unregister_broker(self, broker: int, *, timeout: float | None = None) -> None:
        """Forget a broker that is gone for good (KRaft only). One that still runs registers itself anew."""
    def describe_metadata_quorum(self, *, timeout: float | None = None) -> Quorum:
        """The state of the controllers' quorum (KRaft only)."""
    def add_raft_voter(
        self,
        voter: int,
        directory_id: str,
        endpoints: Iterable[Endpoint],
        *,
        cluster_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Give a controller a vote (KIP-853). It must run, and have caught up; `directory_id` is that of its
        meta.properties. `cluster_id`: only if the cluster has this id.
        """
    def remove_raft_voter(
        self, voter: int, directory_id: str, *, cluster_id: str | None = None, timeout: float | None = None
    ) -> None:
        """Take a controller's vote away (KIP-853)."""
    def describe_features(self, *, broker: int | None = None, timeout: float | None = None) -> Features:
        """The features, as a certain broker has them or whoever is connected."""
    def update_features(
        self, updates: Mapping[str, FeatureUpdate | int], *, validate_only: bool = False, timeout: float | None = None
    ) -> Outcomes[str, None]:
        """Change levels: feature → new level. Newer controllers change all or none, and have one error for all, which
        is raised.
        """
    def describe_log_dirs(
        self, brokers: Iterable[int] | None = None, *, timeout: float | None = None
    ) -> Outcomes[int, dict[str, LogDir]]:
        """The directories of these brokers (None: of all), by path, with everything in them."""
    def describe_replica_log_dirs(
        self, replicas: Iterable[Replica], *, timeout: float | None = None
    ) -> Outcomes[Replica, ReplicaLogDirs]:
        """Where certain replicas lie. One that its broker does not have lies nowhere: all fields are None."""
    def alter_replica_log_dirs(
        self, targets: Mapping[Replica, str], *, timeout: float | None = None
    ) -> Outcomes[Replica, None]:
        """Begin to move replicas to other directories of their brokers. A replica that is not there yet will be made
        in that directory, and is reported as REPLICA_NOT_AVAILABLE.
        """
    def describe_client_quotas(
        self,
        *,
        user: Part = None,
        client_id: Part = None,
        ip: Part = None,
        strict: bool = False,
        timeout: float | None = None,
    ) -> dict[QuotaEntity, dict[str, float]]:
        """The quotas of all entities that match, by entity and key; without a part, of all entities."""
    def alter_client_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Outcomes[QuotaEntity, None]:
        """Set quotas of entities; None removes one. All keys of an entity succeed or fail together."""
    def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Outcomes[str, tuple[ScramCredential, ...]]:
        """The credentials of these users; None: of everybody who has any."""
    def alter_user_scram_credentials(
        self, alterations: Iterable[ScramUpsertion | ScramDeletion], *, timeout: float | None = None
    ) -> Outcomes[str, None]:
        """Set and delete credentials. Several changes of one user are made one after another (Kafka's controllers take
        one per request) until one fails, which is then that user's outcome.
        """
    def describe_acls(self, matching: AclFilter | None = None, *, timeout: float | None = None) -> list[AclBinding]:
        """All bindings that match; without a filter, all that there are."""
    def create_acls(
        self, bindings: Iterable[AclBinding], *, timeout: float | None = None
    ) -> Outcomes[AclBinding, None]:
        """Create bindings; one that is there already is no error."""
    def delete_acls(
        self, filters: Iterable[AclFilter], *, timeout: float | None = None
    ) -> Outcomes[AclFilter, Outcomes[AclBinding, None]]:
        """Delete what matches each filter; the outcome of a filter has what came of each binding that it found."""
    def create_delegation_token(
        self,
        *,
        owner: str | None = None,
        renewers: Iterable[str] = (),
        max_lifetime_ms: int = -1,
        timeout: float | None = None,
    ) -> DelegationToken:
        """A token for ourselves, or for `owner`, if we may act for them. -1: as long as the brokers allow."""
    def renew_delegation_token(self, hmac: bytes, *, renew_period_ms: int = -1, timeout: float | None = None) -> int:
        """Let the token live longer, by this or by the brokers' usual period; when it expires now."""
    def expire_delegation_token(self, hmac: bytes, *, expiry_period_ms: int = -1, timeout: float | None = None) -> int:
        """Let the token expire after this period; at once, if it is negative. When that is."""
    def describe_delegation_token(
        self, owners: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> list[DelegationToken]:
        """The tokens of these owners, or all that we may see."""
    def client_instance_id(self, *, timeout: float | None = None) -> str:
        """The id that the cluster has given us, the same for the life of this client. Brokers that collect no client
        metrics give none: UNSUPPORTED_VERSION.
        """
    def metrics(self) -> dict[str, float]:
        """What this client has done so far: calls, requests, retries, and items that failed."""
