"""A coordinator of one group with one member, on two fake brokers: every error on demand, and it can move.

    async with FakeGroup() as group:
        group.fail[ApiKey.HEARTBEAT] = [ErrorCode.UNKNOWN_MEMBER_ID]
        group.move()                     # from now on the other broker coordinates

A broker that does not coordinate answers NOT_COORDINATOR, as real ones do. An entry None hangs up instead of answering.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from support.fake_broker import FakeBroker, HangUp
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import (
    ConsumerGroupHeartbeatResponse,
    FindCoordinatorResponse,
    HeartbeatResponse,
    JoinGroupResponse,
    LeaveGroupResponse,
    MetadataResponse,
    OffsetCommitResponse,
    SyncGroupResponse,
)

TOPIC = "t"
TOPIC_ID = b"T" * 16
PARTITIONS = 4
#: What may come to the coordinator, by what answers it.
_GROUP_REQUESTS = {
    ApiKey.JOIN_GROUP: "join",
    ApiKey.SYNC_GROUP: "sync",
    ApiKey.HEARTBEAT: "heartbeat",
    ApiKey.LEAVE_GROUP: "leave",
    ApiKey.OFFSET_COMMIT: "commit",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "consumer_heartbeat",
}


class FakeGroup:
    """`asked` are the requests that the coordinator has seen, in their order."""

    def __init__(self) -> None:
        self.brokers = [FakeBroker(self._answerer(index)) for index in range(2)]
        self.coordinator = 0
        self.fail: dict[ApiKey, list[ErrorCode | None]] = {}
        self.asked: list[tuple[ApiKey, Any]] = []
        self.generation = 0
        self.assigns_again = False  # KIP-848: the next heartbeat is answered with the assignment, the same as before
        self._stack = AsyncExitStack()

    @property
    def address(self) -> str:
        return self.brokers[0].address

    def move(self) -> None:
        self.coordinator = 1 - self.coordinator

    def requests(self, key: ApiKey) -> list[Any]:
        return [request for asked, request in self.asked if asked is key]

    async def __aenter__(self) -> FakeGroup:
        for broker in self.brokers:
            await self._stack.enter_async_context(broker)
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    def _answerer(self, index: int) -> Any:
        def answer(header: RequestHeader, request: Any) -> Any:
            key = ApiKey(header.api_key)
            if key is ApiKey.METADATA:
                return self._metadata(request)
            if key is ApiKey.FIND_COORDINATOR:
                broker = self.brokers[self.coordinator]
                return FindCoordinatorResponse(node_id=self.coordinator, host="127.0.0.1", port=broker.port)
            return self._coordinate(key, request, index)

        return answer

    def _coordinate(self, key: ApiKey, request: Any, index: int) -> Any:
        error: ErrorCode | None = ErrorCode.NONE
        if index != self.coordinator:
            error = ErrorCode.NOT_COORDINATOR
        else:
            self.asked.append((key, request))
            if self.fail.get(key):
                error = self.fail[key].pop(0)
        if error is None:
            raise HangUp
        return getattr(self, _GROUP_REQUESTS[key])(request, int(error))

    def _metadata(self, request: Any) -> MetadataResponse:
        Partition, Topic = MetadataResponse.MetadataResponsePartition, MetadataResponse.MetadataResponseTopic
        partitions = [Partition(partition_index=i, leader_id=0, leader_epoch=0) for i in range(PARTITIONS)]
        wanted = [TOPIC] if request.topics is None else [topic.name for topic in request.topics]
        return MetadataResponse(
            brokers=[
                MetadataResponse.MetadataResponseBroker(node_id=i, host="127.0.0.1", port=broker.port)
                for i, broker in enumerate(self.brokers)
            ],
            topics=[Topic(name=name, topic_id=TOPIC_ID, partitions=partitions) for name in wanted],
        )

    def join(self, request: Any, error: int) -> JoinGroupResponse:
        if error or not request.member_id:
            code = error or ErrorCode.MEMBER_ID_REQUIRED
            return JoinGroupResponse(error_code=code, member_id="given", protocol_name="")
        self.generation += 1
        protocol = request.protocols[0]
        member = JoinGroupResponse.JoinGroupResponseMember(member_id="given", metadata=protocol.metadata)
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type="consumer",
            protocol_name=protocol.name,
            leader="given",
            member_id="given",
            members=[member],
        )

    def sync(self, request: Any, error: int) -> SyncGroupResponse:
        return SyncGroupResponse(error_code=error, assignment=b"" if error else request.assignments[0].assignment)

    def heartbeat(self, request: Any, error: int) -> HeartbeatResponse:
        return HeartbeatResponse(error_code=error)

    def consumer_heartbeat(self, request: Any, error: int) -> ConsumerGroupHeartbeatResponse:
        """A new epoch for whoever joins, with everything; else as before."""
        if error:
            return ConsumerGroupHeartbeatResponse(error_code=error, error_message="as the test wants it")
        response = ConsumerGroupHeartbeatResponse(member_id=request.member_id, heartbeat_interval_ms=20)
        if request.member_epoch == 0:
            self.generation += 1
        if request.member_epoch == 0 or self.assigns_again:
            self.assigns_again = False
            part = ConsumerGroupHeartbeatResponse.TopicPartitions(topic_id=TOPIC_ID, partitions=[*range(PARTITIONS)])
            response.assignment = ConsumerGroupHeartbeatResponse.Assignment(topic_partitions=[part])
        response.member_epoch = request.member_epoch if request.member_epoch < 0 else self.generation
        return response

    def leave(self, request: Any, error: int) -> LeaveGroupResponse:
        return LeaveGroupResponse(error_code=error, members=[])

    def commit(self, request: Any, error: int) -> OffsetCommitResponse:
        Response = OffsetCommitResponse
        topics = []
        for topic in request.topics:
            partitions = [
                Response.OffsetCommitResponsePartition(partition_index=entry.partition_index, error_code=error)
                for entry in topic.partitions
            ]
            topics.append(Response.OffsetCommitResponseTopic(name=topic.name, partitions=partitions))
        return Response(topics=topics)
