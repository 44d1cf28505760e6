"""Everything at once, beside Apache Kafka: what does a small request wait for when the broker is busy with large ones?

    PYTHONPATH=tests .venv/bin/python bench/broker_mixed.py [--quick] [--seconds N]

On each broker in turn: idempotent producers, a consumer at the tail, a reader of cold data, a topic that packs what it
is sent anew (gzip), and a compacted topic with small segments, all through librdkafka; meanwhile one-record Produce
requests, and Heartbeats of a member of a group, are timed on a connection of their own. Shown: their p50 and p99, and
how much of the other work was done.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from broker_cold import evict
from broker_raw import Peer, load
from confluent_kafka import OFFSET_END, Consumer, Producer, TopicPartition
from confluent_kafka.admin import NewTopic
from raw_load import connect, first_produce, make_batch, percentiles, produce_request, receive_frame

from support.blocking_wire import BlockingWire
from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import encode_request
from tidelog.protocol.messages import FindCoordinatorRequest, HeartbeatRequest, JoinGroupRequest, SyncGroupRequest

TOPICS = {
    "plain": {},
    "cold": {},
    "packed": {"compression.type": "gzip"},
    "compacted": {
        "cleanup.policy": "compact",
        "segment.bytes": "1048576",
        "min.cleanable.dirty.ratio": "0.01",
    },
    "timed": {},
}
PER_SECOND = 4_000
Work = Callable[[str, "Synchronized[int]", Event], None]


def produce_idempotent(address: str, done: Synchronized[int], stop: Event) -> None:
    _produce(address, "plain", done, stop, {"enable.idempotence": True}, lambda number: b"k%d" % number)


def produce_packed(address: str, done: Synchronized[int], stop: Event) -> None:
    _produce(address, "packed", done, stop, {"compression.type": "lz4"}, lambda number: None)


def produce_compacted(address: str, done: Synchronized[int], stop: Event) -> None:
    _produce(address, "compacted", done, stop, {}, lambda number: b"k%d" % (number % 500))


def _produce(
    address: str,
    topic: str,
    done: Synchronized[int],
    stop: Event,
    settings: dict[str, Any],
    key: Callable[[int], bytes | None],
) -> None:
    """A steady stream of 1 KB records."""
    producer = Producer({"bootstrap.servers": address, "linger.ms": 5, "log_level": 3, **settings})
    value = os.urandom(256) * 4
    began = time.monotonic()
    number = 0
    while not stop.is_set():
        while number < (time.monotonic() - began) * PER_SECOND:
            producer.produce(topic, value, key(number))
            number += 1
        producer.poll(0.01)
    producer.flush(10)
    done.value += number


def consume_tail(address: str, done: Synchronized[int], stop: Event) -> None:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "tail", "enable.auto.commit": False, "log_level": 3})
    consumer.assign([TopicPartition("plain", 0, OFFSET_END)])
    while not stop.is_set():
        done.value += len(consumer.consume(10_000, 0.1))
    consumer.close()


def consume_cold(address: str, done: Synchronized[int], stop: Event) -> None:
    settings = {"bootstrap.servers": address, "group.id": "cold", "log_level": 3, "queued.min.messages": 10_000}
    consumer = Consumer(settings)
    while not stop.is_set():
        consumer.assign([TopicPartition("cold", 0, 0)])
        while not stop.is_set() and (records := consumer.consume(10_000, 0.5)):
            done.value += len(records)
    consumer.close()


LOADS: dict[str, Work] = {
    "idempotent produce": produce_idempotent,
    "second producer": produce_idempotent,
    "packed anew": produce_packed,
    "compacted": produce_compacted,
    "tail": consume_tail,
    "cold reader": consume_cold,
}


def join_group(address: str) -> bytes:
    """Become the only member of a group; returns the Heartbeat to send."""
    with BlockingWire(address) as wire:
        for _ in range(600):
            protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
            joined = wire.ask(
                ApiKey.JOIN_GROUP,
                2,
                JoinGroupRequest(
                    group_id="timed",
                    session_timeout_ms=60_000,
                    rebalance_timeout_ms=60_000,
                    protocol_type="bench",
                    protocols=[protocol],
                ),
            )
            if not joined.error_code:
                break
            wire.ask(ApiKey.FIND_COORDINATOR, 1, FindCoordinatorRequest(key="timed"))  # makes the offsets topic
            time.sleep(0.1)
        member = {"group_id": "timed", "generation_id": joined.generation_id, "member_id": joined.member_id}
        assignment = SyncGroupRequest.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"")
        wire.ask(ApiKey.SYNC_GROUP, 1, SyncGroupRequest(**member, assignments=[assignment]))
        answer = wire.ask(ApiKey.HEARTBEAT, 0, HeartbeatRequest(**member))
        assert not answer.error_code, answer
    return encode_request(ApiKey.HEARTBEAT, 0, 1, "mixed", HeartbeatRequest(**member))


def timed(sock: socket.socket, request: bytes, seconds: float) -> dict[str, float]:
    """Times of one request at a time, 500 a second."""
    times: list[int] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sent = time.perf_counter_ns()
        sock.sendall(request)
        receive_frame(sock)
        times.append(time.perf_counter_ns() - sent)
        time.sleep(0.002)
    return percentiles(times)


def prepare(peer: Peer, data: Path) -> None:
    for name, config in TOPICS.items():
        peer.admin.create_topics([NewTopic(name, 1, 1, config=config)])[name].result(30)
    fill = ["--size", "1024", "--records", "1000", "--depth", "5", "--megabytes", "300"]
    load(peer.address, peer.pid, "produce", "cold", fill, 30)
    evict(data)


def run(peer: Peer, data: Path, seconds: float) -> dict[str, float]:
    """The two p99, by name."""
    prepare(peer, data)
    heartbeat = join_group(peer.address)
    stop = multiprocessing.Event()
    counters: dict[str, Any] = {name: multiprocessing.Value("q", 0) for name in LOADS}
    processes = [
        multiprocessing.Process(target=work, args=(peer.address, counters[name], stop)) for name, work in LOADS.items()
    ]
    for process in processes:
        process.start()
    time.sleep(2)
    evict(data)
    record = produce_request("timed", 0, make_batch(1, 100))
    with connect(peer.address) as sock:
        first_produce(sock, record)
        produced = timed(sock, record, seconds / 2)
        beaten = timed(sock, heartbeat, seconds / 2)
    stop.set()
    for process in processes:
        process.join(30)
    work = ", ".join(f"{name} {counter.value / (seconds + 2):,.0f}/s" for name, counter in counters.items())
    print(f"{peer.name:8s} produce p50 {produced['p50_us']:,.0f} p99 {produced['p99_us']:,.0f} us", end="; ")
    print(f"heartbeat p50 {beaten['p50_us']:,.0f} p99 {beaten['p99_us']:,.0f} us")
    print(f"{'':8s} records: {work}", flush=True)
    return {"produce": produced["p99_us"], "heartbeat": beaten["p99_us"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few seconds only")
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    seconds = 3.0 if options.quick else options.seconds
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with KafkaBroker(KAFKA_4, home / "kafka", heap="1G") as kafka:
            theirs = run(Peer("Kafka", kafka.address, kafka.pid), kafka.data, seconds)
        with TidelogServer(home / "tidelog") as tidelog:
            ours = run(Peer("Tidelog", tidelog.address, tidelog.pid), tidelog.data, seconds)
    print("p99, Tidelog to Kafka: " + ", ".join(f"{name} {ours[name] / theirs[name]:.2f}x" for name in ours))


if __name__ == "__main__":
    main()
