"""Every path of the store, as Apache Kafka 3.9 names its znodes.

/cluster/id                                   the cluster's id
/brokers/ids/<id>                             a live broker (ephemeral)
/brokers/seqid                                whose version numbers brokers that were given no id
/brokers/topics/<topic>                       topic id and replica assignment
/brokers/topics/<topic>/partitions/<p>/state  leader, in-sync replicas, epochs
/config/topics/<topic>  /config/brokers/<id>  what was set for one; <default> for all
/config/clients  /config/users  /config/ips   client quotas (and SCRAM credentials of users)
/config/changes/config_change_<n>             tells brokers what to read again
/controller  /controller_epoch                who leads (ephemeral), and how often that changed
/admin/delete_topics/<topic>                  deletions that have been asked for and are not finished
/admin/reassign_partitions  /admin/preferred_replica_election
/latest_producer_id_block                     the last block of producer ids that was given out
/isr_change_notification  /log_dir_event_notification
/consumers/<group>/offsets/<topic>/<p>         offsets of consumers of 0.8, who kept them here themselves
/tidelog/adopted                              ours: what was taken over from an Apache Kafka, and how much is known
"""

from __future__ import annotations

CLUSTER_ID = "/cluster/id"
BROKER_IDS = "/brokers/ids"
BROKER_SEQUENCE = "/brokers/seqid"
TOPICS = "/brokers/topics"
TOPIC_CONFIGS = "/config/topics"
BROKER_CONFIGS = "/config/brokers"
CLIENT_CONFIGS = "/config/clients"
USER_CONFIGS = "/config/users"
IP_CONFIGS = "/config/ips"
GROUP_CONFIGS = "/config/groups"
CLIENT_METRICS_CONFIGS = "/config/client-metrics"
CONFIG_CHANGES = "/config/changes"
CONTROLLER = "/controller"
CONTROLLER_EPOCH = "/controller_epoch"
DELETE_TOPICS = "/admin/delete_topics"
PRODUCER_ID_BLOCK = "/latest_producer_id_block"
ISR_CHANGES = "/isr_change_notification"
LOG_DIR_EVENTS = "/log_dir_event_notification"
CONSUMERS = "/consumers"
ADOPTED = "/tidelog/adopted"

DEFAULT_ENTITY = "<default>"

#: What a new store is filled with.
PERSISTENT = (
    BROKER_IDS,
    TOPICS,
    TOPIC_CONFIGS,
    BROKER_CONFIGS,
    CLIENT_CONFIGS,
    USER_CONFIGS,
    IP_CONFIGS,
    GROUP_CONFIGS,
    CLIENT_METRICS_CONFIGS,
    CONFIG_CHANGES,
    DELETE_TOPICS,
    BROKER_SEQUENCE,
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    PRODUCER_ID_BLOCK,
)


def broker(node_id: int) -> str:
    return f"{BROKER_IDS}/{node_id}"


def topic(name: str) -> str:
    return f"{TOPICS}/{name}"


def partitions(name: str) -> str:
    return f"{TOPICS}/{name}/partitions"


def partition(name: str, index: int) -> str:
    return f"{TOPICS}/{name}/partitions/{index}"


def partition_state(name: str, index: int) -> str:
    return f"{TOPICS}/{name}/partitions/{index}/state"


def topic_config(name: str) -> str:
    return f"{TOPIC_CONFIGS}/{name}"


def broker_config(node_id: int | None) -> str:
    """The node of one broker's dynamic configs, or (None) of the default for all."""
    return f"{BROKER_CONFIGS}/{DEFAULT_ENTITY if node_id is None else node_id}"


def user_config(name: str | None) -> str:
    """The node of a user's quotas and SCRAM credentials; None is the default of all users, here and below."""
    return f"{USER_CONFIGS}/{_entity(name)}"


def client_config(name: str | None) -> str:
    return f"{CLIENT_CONFIGS}/{_entity(name)}"


def user_client_config(user: str | None, client: str | None) -> str:
    """The node of what holds for one user with one client id."""
    return f"{user_config(user)}/clients/{_entity(client)}"


def ip_config(address: str | None) -> str:
    return f"{IP_CONFIGS}/{_entity(address)}"


def group_config(name: str) -> str:
    return f"{GROUP_CONFIGS}/{sanitize(name)}"


def client_metrics_config(name: str) -> str:
    return f"{CLIENT_METRICS_CONFIGS}/{sanitize(name)}"


def consumer_offset(group: str, topic: str, partition: int) -> str:
    """The offset, in digits, that a group of Kafka 0.8's consumers has come to."""
    return f"{CONSUMERS}/{group}/offsets/{topic}/{partition}"


def is_part(name: str) -> bool:
    """Whether a name can be part of a path as it is: groups of old consumers are not percent-encoded."""
    return name not in ("", ".", "..") and "/" not in name


def _entity(name: str | None) -> str:
    return DEFAULT_ENTITY if name is None else sanitize(name)


def entity_name(part: str) -> str | None:
    """The entity that a part of a path stands for, None for the default."""
    return None if part == DEFAULT_ENTITY else unsanitize(part)


def delete_topic(name: str) -> str:
    return f"{DELETE_TOPICS}/{name}"


def sanitize(entity: str) -> str:
    """A user's or client's name as part of a path: what is not plain is percent-encoded, as Kafka's Sanitizer does.

    A dot or two alone are as well: they are no part of a path as they are.
    """
    from urllib.parse import quote  # its import would be a tenth of the broker's start

    if entity in (".", ".."):
        return entity.replace(".", "%2E")
    return quote(entity, safe="-._~").replace("*", "%2A")


def unsanitize(part: str) -> str:
    """The name that `sanitize` made this of."""
    if "%" not in part:
        return part
    from urllib.parse import unquote

    return unquote(part)
