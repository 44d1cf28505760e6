"""A cluster of one fake broker with one topic, for the clients' unit tests: tables in memory, errors on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.fake_broker import FakeBroker
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import (
    AddPartitionsToTxnResponse,
    CreatePartitionsResponse,
    EndTxnResponse,
    FetchResponse,
    FindCoordinatorResponse,
    InitProducerIdResponse,
    ListOffsetsResponse,
    MetadataResponse,
    ProduceResponse,
)
from tidelog.records.kernel._batches import BatchRun

TOPIC = "t"
TOPIC_ID = b"T" * 16


class FakeCluster(FakeBroker):
    """Partitions are lists of batches; `fail` maps an API key to errors that its next requests get."""

    def __init__(self, partitions: int = 1) -> None:
        super().__init__(self._handle)
        self.logs: list[bytearray] = [bytearray() for _ in range(partitions)]
        self.ends = [0] * partitions
        self.starts = [0] * partitions
        self.leader_epoch = 0
        self.topic_id = TOPIC_ID
        self.fail: dict[ApiKey, list[ErrorCode]] = {}
        self.sessions = True
        self.throttled = False  # then a fetch gets nothing
        self.session: dict[tuple[bytes, int], Any] = {}
        self.transaction: list[tuple[str, int]] = []
        self.ended: list[bool] = []
        self.widen = 0
        self.lag = 0  # so many answers to Metadata are given before new partitions are seen

    def append(self, partition: int, batch: bytes) -> int:
        copy = bytearray(batch)
        run = BatchRun(copy)
        run.scan()
        first = self.ends[partition]
        self.ends[partition] = run.stamp(first, self.leader_epoch) + 1
        self.logs[partition] += copy
        return first

    def asked(self, key: ApiKey) -> list[Any]:
        return [request for header, request in self.seen if header.api_key == key]

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        key = ApiKey(header.api_key)
        errors = self.fail.get(key)
        error = int(errors.pop(0)) if errors else 0
        return HANDLERS[key](self, request, error)

    def create_partitions(self, request: Any, error: int) -> CreatePartitionsResponse:
        topic = request.topics[0]
        self.widen = topic.count - len(self.logs)
        result = CreatePartitionsResponse.CreatePartitionsTopicResult(name=topic.name, error_code=error)
        return CreatePartitionsResponse(results=[result])

    def metadata(self, request: Any, error: int) -> MetadataResponse:
        if self.widen and not self.lag:
            self.logs += [bytearray() for _ in range(self.widen)]
            self.widen = 0
        self.lag = max(0, self.lag - 1)
        host, port = "127.0.0.1", self.port
        names = [topic.name for topic in request.topics] if request.topics is not None else [TOPIC]
        return MetadataResponse(
            brokers=[MetadataResponse.MetadataResponseBroker(node_id=1, host=host, port=port)],
            controller_id=1,
            topics=[self._topic(name, error) for name in names],
        )

    def _topic(self, name: str, error: int) -> Any:
        if name != TOPIC:
            missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return MetadataResponse.MetadataResponseTopic(name=name, error_code=missing)
        leader = -1 if error else 1
        partitions = [
            MetadataResponse.MetadataResponsePartition(
                partition_index=number, leader_id=leader, leader_epoch=self.leader_epoch
            )
            for number in range(len(self.logs))
        ]
        return MetadataResponse.MetadataResponseTopic(name=name, topic_id=self.topic_id, partitions=partitions)

    def list_offsets(self, request: Any, error: int) -> ListOffsetsResponse:
        topic = request.topics[0]
        entries = []
        for wanted in topic.partitions:
            offset = (self.starts if wanted.timestamp == -2 else self.ends)[wanted.partition_index]
            entries.append(
                ListOffsetsResponse.ListOffsetsPartitionResponse(
                    partition_index=wanted.partition_index, offset=offset, error_code=error
                )
            )
        return ListOffsetsResponse(
            topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name=topic.name, partitions=entries)]
        )

    def fetch(self, request: Any, error: int) -> FetchResponse:
        if error in (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH):
            return FetchResponse(error_code=error)
        if request.session_epoch <= 0:
            self.session.clear()
        for topic in request.forgotten_topics_data:
            for number in topic.partitions:
                self.session.pop((topic.topic_id, number), None)
        for topic in request.topics:
            self.session.update({(topic.topic_id, wanted.partition): wanted for wanted in topic.partitions})
        responses = []
        for topic_id in dict.fromkeys(topic_id for topic_id, _ in self.session):
            code = error if topic_id == self.topic_id else int(ErrorCode.UNKNOWN_TOPIC_ID)
            data = [self._fetched(wanted, code) for (of, _), wanted in self.session.items() if of == topic_id]
            responses.append(FetchResponse.FetchableTopicResponse(topic_id=topic_id, partitions=data))
        delay = 1 if self.throttled else 0
        return FetchResponse(session_id=77 if self.sessions else 0, responses=responses, throttle_time_ms=delay)

    def _fetched(self, wanted: Any, error: int) -> Any:
        number, offset = wanted.partition, wanted.fetch_offset
        if not error and not self.starts[number] <= offset <= self.ends[number]:
            error = int(ErrorCode.OFFSET_OUT_OF_RANGE)
        records = b"" if error or self.throttled else self._from(number, offset, wanted.partition_max_bytes)
        return FetchResponse.PartitionData(
            partition_index=number,
            error_code=error,
            high_watermark=self.ends[number],
            log_start_offset=self.starts[number],
            records=records,
        )

    def _from(self, number: int, offset: int, limit: int) -> bytes:
        run = BatchRun(self.logs[number])
        run.scan()
        views = [run.view(index) for index in range(len(run)) if run.header(index).last_offset >= offset]
        out = b""
        for view in views:
            if out and len(out) + len(view) > limit:
                break
            out += bytes(view)
        return out

    def produce(self, request: Any, error: int) -> ProduceResponse:
        responses = []
        for topic in request.topic_data:
            entries = []
            for part in topic.partition_data:
                offset = -1 if error else self.append(part.index, part.records)
                entries.append(
                    ProduceResponse.PartitionProduceResponse(index=part.index, error_code=error, base_offset=offset)
                )
            responses.append(ProduceResponse.TopicProduceResponse(name=topic.name, partition_responses=entries))
        return ProduceResponse(responses=responses)

    def find_coordinator(self, request: Any, error: int) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(node_id=1, host="127.0.0.1", port=self.port, error_code=error)

    def init_producer_id(self, request: Any, error: int) -> InitProducerIdResponse:
        return InitProducerIdResponse(producer_id=5, producer_epoch=0, error_code=error)

    def add_partitions(self, request: Any, error: int) -> AddPartitionsToTxnResponse:
        results = []
        for topic in request.v3_and_below_topics:
            self.transaction += [(topic.name, number) for number in topic.partitions if not error]
            entries = [
                AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult(
                    partition_index=number, partition_error_code=error
                )
                for number in topic.partitions
            ]
            result = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
            results.append(result(name=topic.name, results_by_partition=entries))
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)

    def end_transaction(self, request: Any, error: int) -> EndTxnResponse:
        if not error:
            self.ended.append(request.committed)
        return EndTxnResponse(error_code=error)


HANDLERS: dict[ApiKey, Callable[[FakeCluster, Any, int], Any]] = {
    ApiKey.METADATA: FakeCluster.metadata,
    ApiKey.LIST_OFFSETS: FakeCluster.list_offsets,
    ApiKey.FETCH: FakeCluster.fetch,
    ApiKey.PRODUCE: FakeCluster.produce,
    ApiKey.FIND_COORDINATOR: FakeCluster.find_coordinator,
    ApiKey.INIT_PRODUCER_ID: FakeCluster.init_producer_id,
    ApiKey.ADD_PARTITIONS_TO_TXN: FakeCluster.add_partitions,
    ApiKey.END_TXN: FakeCluster.end_transaction,
    ApiKey.CREATE_PARTITIONS: FakeCluster.create_partitions,
}
