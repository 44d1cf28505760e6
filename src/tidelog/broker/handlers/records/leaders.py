"""Who leads a partition instead: what an answer tells a client that came to the wrong broker (KIP-951).

Since Produce 10 and Fetch 16. Before, a client that met NOT_LEADER_OR_FOLLOWER had to ask for metadata first, of some
broker that may not have heard of the new leader either.
"""

from __future__ import annotations

from typing import Any

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.records.services import RecordServices
from tidelog.common.types import TopicPartition


def leader_hint(
    services: RecordServices,
    ctx: RequestContext,
    tp: TopicPartition,
    current_leader: Any,
    endpoints: list[Any],
    node: type,
) -> None:
    """Fill the answer's `current_leader`, and add the leader's address to `endpoints` unless it is there.

    A client that gets it goes to the new leader at once, without a round of Metadata. Only leaders that listen where
    the client came in are named: an address of another listener would be of no use to it.
    """
    state = services.metadata.partition(tp)
    if state is None:
        return
    current_leader.leader_id = state.leader
    current_leader.leader_epoch = state.leader_epoch
    image = services.metadata.brokers.get(state.leader)
    address = image.endpoints.get(ctx.listener) if image is not None else None
    if image is not None and address is not None and all(known.node_id != state.leader for known in endpoints):
        endpoints.append(node(node_id=state.leader, host=address[0], port=address[1], rack=image.rack))
