"""Who this broker is: its node id and its cluster's id.

Both are written where they must not be lost: in `meta.properties` of every log directory, and (the cluster's) in the
store. Where they are given twice, they must agree: starting a broker on another one's directory is refused, with both
named. A broker that is given no id takes the directory's, and a new one alone is node 1.
"""

from __future__ import annotations

from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import Store
from tidelog.broker.store.errors import NodeExistsError
from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.rng import Rng
from tidelog.common.uuids import random_uuid, uuid_to_text
from tidelog.log.directory import meta_properties
from tidelog.log.manager.manager import LogManager

FIRST_NODE_ID = 1


class NodeIdentity(NamedTuple):
    node_id: int
    cluster_id: str


async def settle_identity(store: Store, log_manager: LogManager, configured: int, rng: Rng) -> NodeIdentity:
    """Settle both ids and write them down. `configured` is what the config says of the node's, -1 for nothing.

    An offline directory is not asked: what it says is compared when it is there again, and it is refused then. Two
    brokers that begin on the same new store at the same time draw two cluster ids: the one that is written first holds.
    """
    found = {log_dir.path: log_dir.meta for log_dir in log_manager.live_dirs if log_dir.meta is not None}
    stored = await store.get_many([paths.CLUSTER_ID])
    stored_id = znodes.decode_cluster_id(stored[0][0]) if stored[0] is not None else None
    meta_properties.check(found, configured if configured >= 0 else None, stored_id)
    node_ids = {meta.node_id for meta in found.values() if meta.node_id is not None}
    cluster_ids = {meta.cluster_id for meta in found.values() if meta.cluster_id is not None}
    if len(node_ids) > 1:
        raise UsageError(f"The log directories belong to different nodes: {sorted(node_ids)}")
    node_id = configured if configured >= 0 else next(iter(node_ids), FIRST_NODE_ID)
    cluster_id = stored_id or next(iter(cluster_ids), None) or uuid_to_text(random_uuid(rng))
    if stored_id is None:
        try:
            await store.create(paths.CLUSTER_ID, znodes.encode_cluster_id(cluster_id), make_parents=True)
        except NodeExistsError:  # another broker of the same new store was faster
            cluster_id = znodes.decode_cluster_id((await store.get(paths.CLUSTER_ID))[0])
    log_manager.write_meta(cluster_id, node_id)
    return NodeIdentity(node_id, cluster_id)
