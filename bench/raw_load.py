"""A lean load generator on plain sockets, for any Kafka-compatible broker; prints one line of JSON.

    python bench/raw_load.py produce HOST:PORT TOPIC [--partitions N] [--connections N] [--depth N] [--size B] ...
    python bench/raw_load.py fetch HOST:PORT TOPIC [--partitions N] [--connections N] [--rate MB/S] ...
    python bench/raw_load.py latency HOST:PORT TOPIC [--rate N]        one record per request, acknowledged one by one
    python bench/raw_load.py e2e HOST:PORT TOPIC [--rate N]            ... until a consumer that waits for it has it
    python bench/raw_load.py idle HOST:PORT TOPIC --connections N

The generator shall cost far less than the broker that it measures. Requests are encoded once and sent again and again,
straight from one ring of memory. Answers to Produce are all equally long, so they are counted, not parsed (the first of
each connection is, and must be without error). Of an answer to Fetch the head is read, and the kernel drops the records
(MSG_TRUNC); the topic must hold batches of `--records` records of `--size` bytes, as `produce` writes them, so that the
next offset follows from the size (checked on the first answer). MB is 10^6 bytes of record batches. `--pid` adds the
broker's CPU time and memory.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request
from tidelog.protocol.messages import ApiVersionsRequest, FetchRequest, ProduceRequest
from tidelog.records.format.attributes import MAGIC_V2, Codec
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.layout import MAGIC_OFFSET

PRODUCE_VERSION = 7
OLD_PRODUCE_VERSION = 2  # the last one that carries message sets
FETCH_VERSION = 4
FETCH_BYTES = 4 << 20
#: A Fetch v4 answer for one partition without aborted transactions, up to its records, less the topic's name: length,
#: correlation, throttle, topics, name's length, partitions, index, error, high watermark, stable offset, aborted, size.
HEAD_BYTES = 4 + 4 + 4 + 4 + 2 + 4 + 4 + 2 + 8 + 8 + 4 + 4
TICKS = os.sysconf("SC_CLK_TCK")


def make_batch(records: int, size: int, magic: int = MAGIC_V2, codec: Codec = Codec.NONE) -> bytes:
    """A batch, or a message set of magic 0 or 1."""
    builder = BatchBuilder(magic, codec)
    now = time.time_ns() // 1_000_000
    for number in range(records):
        builder.append(
            now, None, bytes([65 + (number * 7 + k) % 26 for k in range(64)]) * (size // 64) + b"x" * (size % 64)
        )
    return builder.build()


def produce_version(batch: bytes) -> int:
    return PRODUCE_VERSION if batch[MAGIC_OFFSET] == MAGIC_V2 else OLD_PRODUCE_VERSION


def produce_request(topic: str, partition: int, batch: bytes, acks: int = 1) -> bytes:
    data = ProduceRequest.PartitionProduceData(index=partition, records=batch)
    request = ProduceRequest(
        acks=acks, timeout_ms=30_000, topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
    )
    return encode_request(ApiKey.PRODUCE, produce_version(batch), 1, "raw-load", request)


def fetch_request(topic: str, partition: int, offset: int, wait_ms: int = 500) -> bytes:
    part = FetchRequest.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=FETCH_BYTES)
    request = FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=FETCH_BYTES,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[part])],
    )
    return encode_request(ApiKey.FETCH, FETCH_VERSION, 1, "raw-load", request)


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def receive_frame(sock: socket.socket) -> bytes:
    data = bytearray()
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        piece = sock.recv(1 << 20)
        if not piece:
            raise SystemExit("the broker closed the connection")
        data += piece
    return bytes(data[4:])


#: A topic that was made just now: its leader may not be known everywhere yet.
NOT_YET = (3, 5, 6)


def first_produce(sock: socket.socket, request: bytes) -> bytes:
    """Send until the partition has a leader; the frame of the answer that was without error."""
    for _ in range(100):
        sock.sendall(request)
        frame = receive_frame(sock)
        version = int.from_bytes(request[6:8], "big")  # behind length and API key
        response: Any = decode_response(ApiKey.PRODUCE, version, frame)[1]
        code = response.responses[0].partition_responses[0].error_code
        if not code:
            return frame
        if code not in NOT_YET:
            break
        time.sleep(0.1)
    raise SystemExit(f"the broker answered error {code}")


class Usage:
    """CPU seconds of the broker and of this process."""

    def __init__(self, pid: int | None) -> None:
        self.pid = pid
        self.at = time.perf_counter()
        self.own = time.process_time()
        self.broker = self._broker_cpu()

    def _broker_cpu(self) -> float:
        if self.pid is None:
            return 0.0
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def since(self) -> dict[str, float]:
        seconds = time.perf_counter() - self.at
        found = {"seconds": seconds, "client_cpu": (time.process_time() - self.own) / seconds}
        if self.pid is not None:
            found["broker_cpu"] = (self._broker_cpu() - self.broker) / seconds
            found["broker_rss_mb"] = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * 4096 / 1e6
        return found


class ProduceConnection:
    """One connection that keeps `depth` requests under way. All requests are equally long."""

    def __init__(self, address: str, requests: list[bytes], depth: int, first: int) -> None:
        self.sock = connect(address)
        for request in requests if first == 0 else requests[:1]:
            self.answer_size = 4 + len(first_produce(self.sock, request))
        turned = requests[first % len(requests) :] + requests[: first % len(requests)]
        self.request_size = len(turned[0])
        self.ring = memoryview(b"".join(turned) * (1 + depth // len(turned)))
        self.position = 0
        self.unsent = 0
        self.half = 0

    def send(self, count: int) -> None:
        """Send so many more requests, as far as the socket takes them."""
        self.unsent += count * self.request_size
        while self.unsent:
            try:
                sent = self.sock.send(self.ring[self.position : self.position + self.unsent])
            except BlockingIOError:
                return
            self.unsent -= sent
            self.position += sent
            if self.position == len(self.ring):
                self.position = 0

    def receive(self, buffer: bytearray) -> int:
        """How many answers came."""
        try:
            size = self.sock.recv_into(buffer)
        except BlockingIOError:
            return 0
        if not size:
            raise SystemExit("the broker closed the connection")
        whole, self.half = divmod(self.half + size, self.answer_size)
        return whole


def rounds_of_one(connection: ProduceConnection, depth: int) -> Iterator[int]:
    """Answers as they come on a single connection: no need to ask who is ready."""
    buffer = bytearray(1 << 16)
    connection.send(depth)
    while True:
        done = connection.receive(buffer)
        connection.send(done)
        yield done


def rounds_of_many(connections: list[ProduceConnection], depth: int) -> Iterator[int]:
    buffer = bytearray(1 << 16)
    poll = select.epoll()
    by_fd = {connection.sock.fileno(): connection for connection in connections}
    for connection in connections:
        connection.sock.setblocking(False)
        poll.register(connection.sock, select.EPOLLIN | select.EPOLLOUT | select.EPOLLET)
        connection.send(depth)
    while True:
        answered = 0
        for fd, _ in poll.poll(1.0):
            connection = by_fd[fd]
            done = connection.receive(buffer)
            answered += done
            connection.send(done)
        yield answered


def run_produce(options: argparse.Namespace) -> dict[str, float]:
    batch = make_batch(options.records, options.size, options.magic, Codec.from_name(options.codec))
    requests = [produce_request(options.topic, partition, batch) for partition in range(options.partitions)]
    connections = [
        ProduceConnection(options.address, requests, options.depth, number) for number in range(options.connections)
    ]
    one = len(connections) == 1
    rounds = rounds_of_one(connections[0], options.depth) if one else rounds_of_many(connections, options.depth)
    start = time.perf_counter()
    warm_until, end = start + options.warm, start + options.warm + options.seconds
    usage, answered = Usage(options.pid), 0
    limit = options.megabytes * 1e6
    warm = options.warm > 0
    sent = 0
    for done in rounds:
        answered += done
        sent += done
        now = time.perf_counter()
        if options.rate and (early := start + sent / options.rate - now) > 0:
            time.sleep(early)
        if warm and now >= warm_until:
            warm = False
            usage, answered = Usage(options.pid), 0
        if not warm and (now >= end or (limit and answered * len(batch) >= limit)):
            break
    found = usage.since()
    rate = answered / found["seconds"]
    return {
        "mb_per_s": rate * len(batch) / 1e6,
        "requests_per_s": rate,
        "records_per_s": rate * options.records,
        **found,
    }


class Reader(threading.Thread):
    """One connection that reads one partition from the start to its end, again and again."""

    def __init__(self, options: argparse.Namespace, partition: int) -> None:
        super().__init__(daemon=True)
        self.sock = connect(options.address)
        self.topic, self.partition = options.topic, partition
        self.batch_size, self.batch_records = len(make_batch(options.records, options.size)), options.records
        self.read = 0
        self.rate = options.rate * 1e6
        self.failure: str | None = None
        self._check()

    def _ask(self, offset: int) -> None:
        self.sock.sendall(fetch_request(self.topic, self.partition, offset))

    def _after(self, offset: int, size: int) -> int:
        """The offset behind the whole batches of an answer of so many bytes."""
        return offset + size // self.batch_size * self.batch_records

    def _check(self) -> None:
        """The batches are as long as they are thought to be."""
        self._ask(0)
        size, offset = next_offset(memoryview(b"\x00\x00\x00\x00" + receive_frame(self.sock)), self.topic)
        if not size or offset != self._after(0, size):
            raise SystemExit(f"{self.topic} does not hold batches of {self.batch_records} records: {size}, {offset}")

    def run(self) -> None:
        head_size = HEAD_BYTES + len(self.topic)
        room = memoryview(bytearray(FETCH_BYTES + (1 << 16)))  # never written to: it takes no memory
        offset = 0
        began = time.perf_counter()
        while True:
            if self.rate:
                time.sleep(max(0.0, began + self.read / self.rate - time.perf_counter()))
            self._ask(offset)
            head = self.sock.recv(head_size, socket.MSG_WAITALL)
            size = int.from_bytes(head[-4:], "big", signed=True)
            code = int.from_bytes(head[-26:-24], "big")
            if len(head) < head_size or code or size != 4 + int.from_bytes(head[:4], "big") - head_size:
                self.failure = f"error {code}, {size} bytes of records in {head!r}"
                return
            left = size
            while left:
                left -= self.sock.recv_into(room, left, socket.MSG_WAITALL | socket.MSG_TRUNC)
            self.read += size // self.batch_size * self.batch_size
            offset = self._after(offset, size)
            if offset >= int.from_bytes(head[-24:-16], "big"):  # the high watermark: to ask there would be to wait
                offset = 0


def run_fetch(options: argparse.Namespace) -> dict[str, float]:
    readers = [Reader(options, number % options.partitions) for number in range(options.connections)]
    for reader in readers:
        reader.start()
    time.sleep(options.warm)
    usage, before = Usage(options.pid), sum(reader.read for reader in readers)
    time.sleep(options.seconds)
    found, total = usage.since(), sum(reader.read for reader in readers) - before
    for reader in readers:
        if reader.failure or not reader.is_alive():
            raise SystemExit(f"a reader stopped: {reader.failure}")
    return {"mb_per_s": total / found["seconds"] / 1e6, **found}


def next_offset(frame: memoryview, topic: str) -> tuple[int, int]:
    """(bytes of whole batches, offset after the last) of a Fetch v4 answer for one partition."""
    at = HEAD_BYTES - 8 + len(topic)
    at += 4 + 16 * max(0, int.from_bytes(frame[at : at + 4], "big", signed=True))
    size = int.from_bytes(frame[at : at + 4], "big", signed=True)
    position = start = at + 4
    offset = 0
    while position + 61 <= start + size:
        length = 12 + int.from_bytes(frame[position + 8 : position + 12], "big")
        if position + length > start + size:
            break
        base = int.from_bytes(frame[position : position + 8], "big")
        offset = base + int.from_bytes(frame[position + 23 : position + 27], "big") + 1
        position += length
    return position - start, offset


def percentiles(times: list[int]) -> dict[str, float]:
    times.sort()
    return {f"p{name}_us": times[min(len(times) - 1, int(len(times) * share))] / 1000 for name, share in SHARES.items()}


SHARES = {"50": 0.5, "99": 0.99, "99.9": 0.999}


def run_latency(options: argparse.Namespace) -> dict[str, float]:
    """One record, wait for the acknowledgement (and, end to end, for a waiting consumer to have it); repeat."""
    request = produce_request(options.topic, 0, make_batch(1, 100))
    producer, consumer = connect(options.address), connect(options.address)
    response: Any = decode_response(ApiKey.PRODUCE, PRODUCE_VERSION, first_produce(producer, request))[1]
    offset = response.responses[0].partition_responses[0].base_offset + 1
    times: list[int] = []
    usage = Usage(options.pid)
    began = time.perf_counter()
    due = began
    while (now := time.perf_counter()) < began + options.warm + options.seconds:
        if options.mode == "e2e":
            consumer.sendall(fetch_request(options.topic, 0, offset))
        if options.rate:
            due = max(due + 1 / options.rate, now - 0.01)
            while (left := due - time.perf_counter()) > 0:
                time.sleep(left if left > 0.0002 else 0)
        sent = time.perf_counter_ns()
        producer.sendall(request)
        if options.mode == "e2e":
            while next_offset(memoryview(b"\x00\x00\x00\x00" + receive_frame(consumer)), options.topic)[0] == 0:
                consumer.sendall(fetch_request(options.topic, 0, offset))
            took = time.perf_counter_ns() - sent
            producer.recv(1 << 16)
        else:
            producer.recv(1 << 16)
            took = time.perf_counter_ns() - sent
        offset += 1
        if now - began >= options.warm:
            times.append(took)
    return {"requests_per_s": len(times) / options.seconds, **percentiles(times), **usage.since()}


def run_idle(options: argparse.Namespace) -> dict[str, float]:
    before = Usage(options.pid).since().get("broker_rss_mb", 0.0)
    socks = []
    for _ in range(options.connections):
        sock = connect(options.address)
        sock.sendall(encode_request(ApiKey.API_VERSIONS, 0, 1, "raw-load", ApiVersionsRequest()))
        receive_frame(sock)
        socks.append(sock)
    usage = Usage(options.pid)
    time.sleep(options.seconds)
    found = usage.since()
    grown = found.get("broker_rss_mb", 0.0) - before
    return {"kb_per_connection": grown * 1000 / options.connections, **found}


MODES = {"produce": run_produce, "fetch": run_fetch, "latency": run_latency, "e2e": run_latency, "idle": run_idle}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("address")
    parser.add_argument("topic")
    for name, default in [
        ("partitions", 1),
        ("connections", 1),
        ("depth", 1),
        ("size", 100),
        ("records", 1),
        ("rate", 0),
        ("magic", MAGIC_V2),
    ]:
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, value in [("seconds", 3.0), ("warm", 0.0), ("megabytes", 0.0)]:
        parser.add_argument(f"--{name}", type=float, default=value)
    parser.add_argument("--codec", default="none")
    parser.add_argument("--pid", type=int)
    options = parser.parse_args()
    print(json.dumps(MODES[options.mode](options)))


if __name__ == "__main__":
    main()
