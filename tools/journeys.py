"""Lists the files that a request passes on its way through the broker: `python tools/journeys.py`.

A broker runs on this process's main thread with a profiler that notes the file of every Python function that is
called; requests come from a thread. Each journey is made twice and noted the second time, when modules are loaded
and lanes and shards are known. Compiled functions leave no such trace: those files are listed by hand (`COMPILED`), and
a test checks that they exist.

The micro-batch is a journey of the other side: what Spark's planner, a reading task, a writing task and the driver's
commit do for one batch, without Spark between them, and without the broker that they ask.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "tidelog"

RECEIVE = ("net/_connection.pyx", "net/_incoming.pyx", "net/_receive.pyx", "net/_framing.pxd", "net/_back_pressure.pyx")
SINK = ("broker/network/_sink.pyx", "broker/requests/_reader.pxd")
SEND = ("net/_socket_sending.pyx", "net/_outgoing.pyx")
TAKEN = ("broker/requests/_taker.pyx", "broker/requests/_session.pyx", "broker/requests/_writer.pyx")
BATCHES = ("records/kernel/_batches.pyx", "records/kernel/_walk.pyx")
APPEND = ("log/segment/_index.pyx", "log/segment/_handles.pyx")
OFFSETS = ("broker/coordinator/_offset_record.pyx", "broker/coordinator/group/offsets/_committed.pyx")
PRODUCER = tuple(
    f"client/producer/{name}.pyx"
    for name in ("_batch", "_partition_batches", "_accumulator", "_steps", "_produce_frames")
)
MICRO_BATCH = "Micro-batch"
GROUP_TAKER = "broker/handlers/groups/_group_taker.pyx"
#: The compiled files of each journey, in the order in which they are reached.
COMPILED: dict[str, tuple[str, ...]] = {
    "Produce, hot": (
        *(*RECEIVE, *SINK, *TAKEN, "broker/handlers/records/_produce.pyx", "broker/handlers/records/_lane.pyx"),
        *(*BATCHES, *APPEND, "broker/handlers/records/_produce_answer.pyx", *SEND),
    ),
    "Produce, long": (*RECEIVE, *SINK, *BATCHES, *APPEND, *SEND),
    "Fetch": (
        *(*RECEIVE, *SINK, "broker/handlers/records/_fetch.pyx", "broker/requests/_writer.pyx"),
        *(*APPEND, "log/segment/_seek.pyx", *SEND),
    ),
    "OffsetCommit, compiled": (
        *(*RECEIVE, *SINK, *TAKEN, GROUP_TAKER, "broker/handlers/groups/_offset_commit.pyx", *OFFSETS),
        *("records/kernel/_builder.pyx", *BATCHES, *APPEND, *SEND),
    ),
    "OffsetCommit, plain": (
        *(*RECEIVE, *SINK, *OFFSETS),
        *("records/kernel/_builder.pyx", *BATCHES, *APPEND, *SEND),
    ),
    "EndTxn": (
        *(*RECEIVE, *SINK, "records/kernel/_builder.pyx", *BATCHES),
        *("log/producers/_producers.pyx", *APPEND, *SEND),
    ),
    MICRO_BATCH: (
        *("records/kernel/_batches.pyx", "records/kernel/_columns.pyx", "records/kernel/_filter.pyx"),
        *("records/kernel/_encode.pyx", *PRODUCER, "net/_gathered.pyx"),
    ),
}


class Trace:
    """The files of the Python functions that are called, in the order of their first call."""

    def __init__(self) -> None:
        self.files: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCES)):
            self.files.setdefault(str(Path(frame.f_code.co_filename).relative_to(SOURCES)))


class Client:
    """Asks one thing after the other, from a thread that is not traced."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), 30)
        self._file = self._socket.makefile("rb")

    def ask(self, key: Any, version: int, request: Any) -> Any:
        from tidelog.protocol.headers import decode_response, encode_request

        self._socket.sendall(encode_request(key, version, 1, "journey", request))
        (size,) = struct.unpack(">i", self._file.read(4))
        return decode_response(key, version, self._file.read(size))[1]

    def close(self) -> None:
        self._file.close()
        self._socket.close()


def steps(client: Client) -> dict[str, Callable[[], Any]]:
    """The journeys, each a request; what must be there before is made here."""
    from tidelog.protocol import messages as m
    from tidelog.protocol.api import ApiKey
    from tidelog.records.format.attributes import Codec
    from tidelog.records.format.builder import BatchBuilder

    def batch(codec: Codec = Codec.NONE, **fields: int) -> bytes:
        builder = BatchBuilder(codec=codec, **fields)
        builder.append(1_700_000_000_000, b"k", b"v" * 100)
        return bytes(builder.build())

    def produce(data: bytes, transactional_id: str | None = None) -> Any:
        partition = m.ProduceRequest.PartitionProduceData(index=0, records=data)
        topic = m.ProduceRequest.TopicProduceData(name="t", partition_data=[partition])
        request = m.ProduceRequest(transactional_id=transactional_id, acks=-1, timeout_ms=5000, topic_data=[topic])
        return checked(client.ask(ApiKey.PRODUCE, 9, request).responses[0].partition_responses[0])

    def fetch() -> Any:
        partition = m.FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
        topic = m.FetchRequest.FetchTopic(topic="t", partitions=[partition])
        request = m.FetchRequest(max_wait_ms=100, min_bytes=1, max_bytes=1 << 20, topics=[topic])
        return checked(client.ask(ApiKey.FETCH, 12, request).responses[0].partitions[0])

    def commit(text: str) -> Any:
        partition = m.OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=1, committed_metadata=text
        )
        topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=[partition])
        request = m.OffsetCommitRequest(group_id="g", topics=[topic])
        # version 2 may carry a time of its own: whoever does is served by the plain form
        version, request.retention_time_ms = (2, 60_000) if text else (8, -1)
        return checked(client.ask(ApiKey.OFFSET_COMMIT, version, request).topics[0].partitions[0])

    def end() -> Any:
        while (
            begun := client.ask(
                ApiKey.INIT_PRODUCER_ID, 2, m.InitProducerIdRequest(transactional_id="x", transaction_timeout_ms=60_000)
            )
        ).error_code:
            pass
        ids = {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
        topic = m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name="t", partitions=[0])
        client.ask(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            m.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="x",
                v3_and_below_topics=[topic],
                **{f"v3_and_below_{name}": value for name, value in ids.items()},
            ),
        )
        produce(batch(transactional=True, base_sequence=0, **ids), "x")
        trace_from_here()
        return checked(client.ask(ApiKey.END_TXN, 2, m.EndTxnRequest(transactional_id="x", committed=True, **ids)))

    topic = m.CreateTopicsRequest.CreatableTopic(name="t", num_partitions=1, replication_factor=1)
    client.ask(ApiKey.CREATE_TOPICS, 5, m.CreateTopicsRequest(topics=[topic], timeout_ms=60_000))
    for kind, key in enumerate(("g", "x")):  # makes the internal topics
        client.ask(ApiKey.FIND_COORDINATOR, 2, m.FindCoordinatorRequest(key=key, key_type=kind))
    return {
        "Produce, hot": lambda: produce(batch()),
        "Produce, long": lambda: produce(batch(Codec.GZIP)),
        "Fetch": fetch,
        "OffsetCommit, compiled": lambda: commit(""),
        "OffsetCommit, plain": lambda: commit("note"),
        "EndTxn": end,
    }


def checked(answer: Any) -> Any:
    assert answer.error_code == 0, answer
    return answer


def trace_from_here() -> None:
    """Forget what was called until now: it was preparation."""
    CURRENT[-1].files.clear()


CURRENT: list[Trace] = [Trace()]


def travel(address: str, loop: asyncio.AbstractEventLoop, found: dict[str, Sequence[str]]) -> None:
    client = Client(address)
    for name, step in steps(client).items():
        for _ in range(2):
            trace = tried(step, loop)
        asyncio.run_coroutine_threadsafe(_profile(None), loop).result()
        found[name] = list(trace.files)
    client.close()
    found[MICRO_BATCH] = micro_batches(address)


def micro_batches(address: str) -> list[str]:
    """Two batches from one topic to another, exactly once; the files of the second."""
    from pyspark.sql.types import BinaryType, StructField, StructType

    from tidelog.spark.options import sink_options, source_options
    from tidelog.spark.stream_reader import StreamReader
    from tidelog.spark.writers import StreamWriter

    place = {"kafka.bootstrap.servers": address}
    reader = StreamReader(
        source_options({**place, "subscribe": "t", "startingOffsets": "earliest"}, streaming=True), ("value",)
    )
    schema = StructType([StructField("value", BinaryType())])
    start, trace = reader.initialOffset(), Trace()
    for number in range(2):
        trace.files.clear()
        threading.setprofile(trace)  # the clients' loops run on threads of their own
        sys.setprofile(trace)
        end = reader.latestOffset(start, reader.getDefaultReadLimit())
        rows = [rows for task in reader.partitions(start, end) for rows in reader.read(task)]
        writer = StreamWriter(sink_options({**place, "topic": "copy"}), schema)
        written = writer._write_rows(iter(rows), "journey", number)  # what `write` does in a task of Spark's
        writer.commit([written], number)
        threading.setprofile(None)  # type: ignore[arg-type]  # that is how it ends
        sys.setprofile(None)
        assert written.rows, "the second batch reads again what the first has read"
    reader.stop()
    return [name for name in trace.files if not name.startswith("broker/")]


def tried(step: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> Trace:
    """Make a journey; for a while again, if a coordinator is not there yet."""
    for number in range(500):
        trace = Trace()
        CURRENT.append(trace)
        asyncio.run_coroutine_threadsafe(_profile(trace), loop).result()
        try:
            step()
        except AssertionError:
            if number == 499:
                raise
            time.sleep(0.01)
        else:
            break
    return trace


async def _profile(trace: Trace | None) -> None:
    sys.setprofile(trace)


async def journeys() -> dict[str, Sequence[str]]:
    from tidelog.broker.server import Broker

    found: dict[str, Sequence[str]] = {}
    with tempfile.TemporaryDirectory() as directory:
        settings = {"log.dirs": directory, "listeners": "PLAINTEXT://127.0.0.1:0", "offsets.topic.num.partitions": "1"}
        async with Broker({**settings, "transaction.state.log.num.partitions": "1"}) as broker:
            await asyncio.to_thread(travel, broker.address, asyncio.get_running_loop(), found)
    return found


def main() -> None:
    import uvloop

    for name, files in uvloop.run(journeys()).items():
        compiled = COMPILED[name]
        print(f"{name}: {len(files) + len(compiled)} files")
        print(f"  compiled: {', '.join(compiled)}\n  plain: {', '.join(files)}")


if __name__ == "__main__":
    main()
