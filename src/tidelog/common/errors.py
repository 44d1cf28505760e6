"""The one table of error codes, and the exception trees.

Three trees, by whose fault it is:

    TidelogError
    ├── KafkaError            the protocol has a code for it; carries an `ErrorCode`
    │   ├── CorruptRecordError    bytes that are no record batch (position and expectation in the text)
    │   ├── InvalidRecordError    well-formed, but not acceptable here
    │   └── StorageError          the disk is bad; its log directory goes offline
    ├── ProtocolError         the peer broke the wire format: its connection is closed, nobody else's
    └── UsageError            you misused the API or the command line; the text says what to do

`ErrorCode` is the only place where a code, its name, its text and its retry rule are written.

Retriable means that the same request may succeed later without anybody changing anything: a leader is being elected, a
coordinator loads. Clients of every language act on the code alone, so a wrong code is worse than a wrong text: one that
is retried for ever, or one that gives up where waiting would have helped. Codes are Kafka's and never reused.
"""

from __future__ import annotations

from enum import IntEnum


class ErrorCode(IntEnum):
    """code, text[, retriable: the same request may succeed later[, refresh metadata first]]."""

    text: str
    retriable: bool
    refresh_metadata: bool

    def __new__(cls, code: int, text: str = "", retriable: bool = False, refresh_metadata: bool = False) -> ErrorCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.text = text
        member.retriable = retriable
        member.refresh_metadata = refresh_metadata
        return member

    @classmethod
    def _missing_(cls, value: object) -> ErrorCode | None:
        """A newer Kafka's code is an error that we know nothing of, as in Java; it must not end whoever reads it."""
        return cls.UNKNOWN_SERVER_ERROR if isinstance(value, int) else None

    UNKNOWN_SERVER_ERROR = -1, "The server met an error that it did not expect."
    NONE = 0, "No error."
    OFFSET_OUT_OF_RANGE = 1, "The offset is not within the range of offsets that the log holds."
    CORRUPT_MESSAGE = 2, "A record failed its checksum, has an invalid size or is otherwise corrupt.", True
    UNKNOWN_TOPIC_OR_PARTITION = 3, "This server does not host that topic-partition.", True, True
    INVALID_FETCH_SIZE = 4, "The fetch size is not acceptable."
    LEADER_NOT_AVAILABLE = 5, "There is no leader for that topic-partition: an election is under way.", True, True
    NOT_LEADER_OR_FOLLOWER = 6, "This broker is not the leader (or a replica, where that is enough).", True, True
    REQUEST_TIMED_OUT = 7, "The request timed out.", True
    BROKER_NOT_AVAILABLE = 8, "The broker is not available."
    REPLICA_NOT_AVAILABLE = 9, "The replica is not available for that topic-partition.", True, True
    MESSAGE_TOO_LARGE = 10, "The request holds a record batch larger than the topic accepts."
    STALE_CONTROLLER_EPOCH = 11, "The controller moved to another broker."
    OFFSET_METADATA_TOO_LARGE = 12, "The metadata field of the offset commit is too large."
    NETWORK_EXCEPTION = 13, "The server disconnected before a response was received.", True, True
    COORDINATOR_LOAD_IN_PROGRESS = 14, "The coordinator is loading and cannot answer yet.", True
    COORDINATOR_NOT_AVAILABLE = 15, "The coordinator is not available.", True, True
    NOT_COORDINATOR = 16, "This is not the right coordinator.", True, True
    INVALID_TOPIC_EXCEPTION = 17, "The topic's name is not valid for this operation."
    RECORD_LIST_TOO_LARGE = 18, "The record batch is larger than the configured segment size."
    NOT_ENOUGH_REPLICAS = 19, "Fewer replicas are in sync than required: nothing was written.", True
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, "Written, but to fewer in-sync replicas than required.", True
    INVALID_REQUIRED_ACKS = 21, "acks must be 0, 1 or -1."
    ILLEGAL_GENERATION = 22, "The generation id is not the group's current one."
    INCONSISTENT_GROUP_PROTOCOL = 23, "The member's protocols do not fit those of the group."
    INVALID_GROUP_ID = 24, "The group id is not valid."
    UNKNOWN_MEMBER_ID = 25, "The coordinator does not know this member."
    INVALID_SESSION_TIMEOUT = 26, "The session time-out is outside what the broker allows."
    REBALANCE_IN_PROGRESS = 27, "The group is rebalancing: join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, "The size of the committed offset data is not valid."
    TOPIC_AUTHORIZATION_FAILED = 29, "Not authorized to access the topics."
    GROUP_AUTHORIZATION_FAILED = 30, "Not authorized to access the group."
    CLUSTER_AUTHORIZATION_FAILED = 31, "Not authorized for this operation on the cluster."
    INVALID_TIMESTAMP = 32, "The record's timestamp is outside the accepted range."
    UNSUPPORTED_SASL_MECHANISM = 33, "The broker does not support that SASL mechanism."
    ILLEGAL_SASL_STATE = 34, "The request is not valid in this state of the SASL exchange."
    UNSUPPORTED_VERSION = 35, "The API's version is not supported."
    TOPIC_ALREADY_EXISTS = 36, "A topic of that name exists already."
    INVALID_PARTITIONS = 37, "The number of partitions is not valid."
    INVALID_REPLICATION_FACTOR = 38, "The replication factor is below 1 or above the number of brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, "The replica assignment is not valid."
    INVALID_CONFIG = 40, "The configuration is not valid."
    NOT_CONTROLLER = 41, "This is not the controller of the cluster.", True, True
    INVALID_REQUEST = 42, "The request is malformed or contradicts itself; the broker's log may say more."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "The log's message format does not support the request."
    POLICY_VIOLATION = 44, "The request breaks the configured policy."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "The broker received a sequence number out of order."
    DUPLICATE_SEQUENCE_NUMBER = 46, "The broker received a duplicate sequence number."
    INVALID_PRODUCER_EPOCH = 47, "The producer's epoch is older than the current one."
    INVALID_TXN_STATE = 48, "The producer attempted a transactional operation in the wrong state."
    INVALID_PRODUCER_ID_MAPPING = 49, "The producer id is not the one assigned to the transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, "The transaction time-out exceeds transaction.max.timeout.ms."
    CONCURRENT_TRANSACTIONS = 51, "Another operation of this transactional id is under way.", True
    TRANSACTION_COORDINATOR_FENCED = 52, "The transaction coordinator was replaced by a newer one."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "Not authorized for the transactional id."
    SECURITY_DISABLED = 54, "Security features are disabled."
    OPERATION_NOT_ATTEMPTED = 55, "Not attempted, because another part of the batch failed."
    KAFKA_STORAGE_ERROR = 56, "The log directory of that partition has failed.", True, True
    LOG_DIR_NOT_FOUND = 57, "That log directory is not in the broker's configuration."
    SASL_AUTHENTICATION_FAILED = 58, "SASL authentication failed."
    UNKNOWN_PRODUCER_ID = 59, "The broker knows nothing of that producer id (expired or deleted)."
    REASSIGNMENT_IN_PROGRESS = 60, "A reassignment of that partition is under way."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, "Delegation tokens are not enabled."
    DELEGATION_TOKEN_NOT_FOUND = 62, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, "The principal is no owner or renewer of the token."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, "Token requests are not allowed on this connection."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, "Not authorized for the delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, "That type of principal is not supported."
    NON_EMPTY_GROUP = 68, "The group is not empty."
    GROUP_ID_NOT_FOUND = 69, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, "There is no such fetch session.", True
    INVALID_FETCH_SESSION_EPOCH = 71, "The fetch session's epoch is not the expected one.", True
    LISTENER_NOT_FOUND = 72, "The leader has no listener of the name that the request came in on.", True, True
    TOPIC_DELETION_DISABLED = 73, "Topic deletion is disabled (delete.topic.enable)."
    FENCED_LEADER_EPOCH = 74, "The request's leader epoch is older than the broker's.", True, True
    UNKNOWN_LEADER_EPOCH = 75, "The request's leader epoch is newer than the broker's.", True
    UNSUPPORTED_COMPRESSION_TYPE = 76, "The client does not support the compression type of the partition."
    STALE_BROKER_EPOCH = 77, "The broker's epoch has changed."
    OFFSET_NOT_AVAILABLE = 78, "The leader's high watermark has not caught up with a recent election.", True
    MEMBER_ID_REQUIRED = 79, "The member must join again with the member id that it was given."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, "The preferred leader is not available.", True, True
    GROUP_MAX_SIZE_REACHED = 81, "The group has reached its largest size."
    FENCED_INSTANCE_ID = 82, "Another member with the same static instance id replaced this one."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, "No eligible leader is available.", True, True
    ELECTION_NOT_NEEDED = 84, "No leader election is needed.", True, True
    NO_REASSIGNMENT_IN_PROGRESS = 85, "No reassignment of that partition is under way."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, "The group is subscribed to that topic: its offsets cannot be deleted."
    INVALID_RECORD = 87, "A record failed validation and was refused."
    UNSTABLE_OFFSET_COMMIT = 88, "There are offsets of open transactions: not stable yet.", True
    THROTTLING_QUOTA_EXCEEDED = 89, "The throttling quota was exceeded.", True
    PRODUCER_FENCED = 90, "A newer producer with the same transactional id fenced this one."
    RESOURCE_NOT_FOUND = 91, "The request names a resource that does not exist."
    DUPLICATE_RESOURCE = 92, "The request names the same resource twice."
    UNACCEPTABLE_CREDENTIAL = 93, "The credential does not meet the requirements."
    INCONSISTENT_VOTER_SET = 94, "Either the sender or the recipient is not a voter."
    INVALID_UPDATE_VERSION = 95, "The update version was not valid."
    FEATURE_UPDATE_FAILED = 96, "The features could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, "The forwarded principal could not be read."
    SNAPSHOT_NOT_FOUND = 98, "The snapshot was not found."
    POSITION_OUT_OF_RANGE = 99, "The position is not within the snapshot."
    UNKNOWN_TOPIC_ID = 100, "This server does not host that topic id.", True, True
    DUPLICATE_BROKER_REGISTRATION = 101, "That broker id is in use."
    BROKER_ID_NOT_REGISTERED = 102, "That broker id is not registered."
    INCONSISTENT_TOPIC_ID = 103, "The log's topic id is not the request's.", True, True
    INCONSISTENT_CLUSTER_ID = 104, "The cluster id is not that of this cluster."
    TRANSACTIONAL_ID_NOT_FOUND = 105, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, "The fetch session mixes topic names and topic ids.", True
    INELIGIBLE_REPLICA = 107, "The new ISR contains an ineligible replica."
    NEW_LEADER_ELECTED = 108, "The partition change was refused: a new leader was elected."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, "The offset was moved to tiered storage."
    FENCED_MEMBER_EPOCH = 110, "The member's epoch is fenced: leave and join again."
    UNRELEASED_INSTANCE_ID = 111, "The instance id is still used by another member."
    UNSUPPORTED_ASSIGNOR = 112, "The assignor is not supported by the group."
    STALE_MEMBER_EPOCH = 113, "The member's epoch is stale: retry with the one of the last heartbeat."
    MISMATCHED_ENDPOINT_TYPE = 114, "The request went to the wrong type of endpoint."
    UNSUPPORTED_ENDPOINT_TYPE = 115, "That type of endpoint is not supported."
    UNKNOWN_CONTROLLER_ID = 116, "That controller id is not known."
    UNKNOWN_SUBSCRIPTION_ID = 117, "The client's telemetry subscription is not the current one."
    TELEMETRY_TOO_LARGE = 118, "The telemetry is larger than the broker accepts."
    INVALID_REGISTRATION = 119, "The controller considers the registration invalid."
    TRANSACTION_ABORTABLE = 120, "The transaction failed; abort it and begin another."
    INVALID_RECORD_STATE = 121, "The record's state does not allow this operation."
    SHARE_SESSION_NOT_FOUND = 122, "There is no such share session.", True
    INVALID_SHARE_SESSION_EPOCH = 123, "The share session's epoch is not the expected one.", True
    FENCED_STATE_EPOCH = 124, "The share coordinator refused the state epoch."
    INVALID_VOTER_KEY = 125, "The voter key does not match."
    DUPLICATE_VOTER = 126, "The voter is already part of the set."
    VOTER_NOT_FOUND = 127, "The voter is not part of the set."
    INVALID_REGULAR_EXPRESSION = 128, "The regular expression is not valid."
    REBOOTSTRAP_REQUIRED = 129, "The client's metadata is stale: it must bootstrap anew."
    STREAMS_INVALID_TOPOLOGY = 130, "The streams topology is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, "The streams topology's epoch is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, "The streams topology's epoch is outdated."
    SHARE_SESSION_LIMIT_REACHED = 133, "The limit of share sessions is reached.", True


def error_name(code: int) -> str:
    """The code's name, also for codes newer than this table."""
    known = ErrorCode(code)
    return known.name if known == code else f"ERROR_{code}"


class TidelogError(Exception):
    """Root of everything that Tidelog raises on purpose."""


class ProtocolError(TidelogError):
    """The peer sent bytes that are not the protocol."""


class UsageError(TidelogError):
    """The caller asked for something that cannot be; the text says what to do instead."""


class KafkaError(TidelogError):
    """A failure that the protocol has a code for.

    `message` is the sentence for people, and goes into the error-message field where the response has one; `code` is
    for programs.
    """

    def __init__(self, code: ErrorCode | int, message: str | None = None) -> None:
        self.code = ErrorCode(code)
        self.message = message or self.code.text
        super().__init__(f"{self.code.name}: {self.message}")

    @property
    def retriable(self) -> bool:
        return self.code.retriable


class CorruptRecordError(KafkaError):
    """Bytes that are no record batch. `position` is relative to the buffer that was given.

    CORRUPT_MESSAGE is retriable: the bytes may have been damaged on the way, and the next copy may be whole.
    """

    def __init__(self, message: str, position: int = -1) -> None:
        self.position = position
        super().__init__(ErrorCode.CORRUPT_MESSAGE, message if position < 0 else f"{message} (at byte {position})")


class InvalidRecordError(KafkaError):
    """A well-formed batch that this log refuses. `record_errors` lists (record index, text).

    Not retriable: the checksum was right, so what arrived is what was sent, and will be again.
    """

    def __init__(
        self,
        message: str,
        code: ErrorCode | int = ErrorCode.INVALID_RECORD,
        record_errors: list[tuple[int, str | None]] | None = None,
    ) -> None:
        self.record_errors = record_errors or []
        super().__init__(code, message)


class StorageError(KafkaError):
    """The log directory that holds the partition has failed."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, message)
