"""How to spread the reading of a topic, to copy from; and the two accidents that every reader has to choose between.

    one consumer per thread     each thread has a consumer of its own; the group shares out the partitions
    one consumer per process    the same with processes, for handlers that use the CPU
    one poller with workers     one consumer, many handlers at a time: `consumer.run`

A consumer belongs to one thread at a time. More consumers than partitions do no harm, but no work either: a partition
belongs to one of a group at a time.

    python examples/consumer_patterns.py localhost:9092 orders threads
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Callable
from multiprocessing.synchronize import Event as ProcessEvent
from typing import Any, Protocol

from tidelog import Consumer, ConsumerRecord, dead_letter, retry

Handler = Callable[[ConsumerRecord], Any]
Settings = dict[str, Any]


class Stop(Protocol):
    """An event of threading's or of multiprocessing's."""

    def is_set(self) -> bool: ...


def read_until(settings: Settings, topic: str, handler: Handler, stop: Stop) -> None:
    """What each thread or process does: read, handle, commit. The records of a poll are committed when all of them are
    handled, so that one that was begun and not ended is read again by whoever takes over.
    """
    with Consumer({**settings, "enable.auto.commit": False}) as consumer:
        consumer.subscribe([topic])
        while not stop.is_set():
            records = consumer.poll(0.1)
            for record in records:
                handler(record)
            if records:
                consumer.commit()


# --- three ways of spreading the work ---------------------------------------------------------------------------------


def one_consumer_per_thread(
    settings: Settings, topic: str, handler: Handler, threads: int, stop: threading.Event
) -> list[threading.Thread]:
    """Threads of one process: for handlers that wait for others (a database, a service)."""
    started = [
        threading.Thread(target=read_until, args=(settings, topic, handler, stop), name=f"reader-{number}")
        for number in range(threads)
    ]
    for thread in started:
        thread.start()
    return started


def one_consumer_per_process(
    settings: Settings, topic: str, handler: Handler, processes: int, stop: ProcessEvent
) -> list[multiprocessing.process.BaseProcess]:
    """Processes of one program: for handlers that compute. Each makes its own consumer; one that was made before a fork
    cannot be used after it, and says so. The handler has to be a function that a new process can import.
    """
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=read_until, args=(settings, topic, handler, stop)) for _ in range(processes)]
    for process in started:
        process.start()
    return list(started)


def one_poller_with_workers(consumer: Consumer, topic: str, handler: Handler, workers: int) -> None:
    """One consumer for all: records with the same key are handled in order, the others at the same time; what fails
    three times goes to a topic of its own. Commits pass over nothing. Ends with `consumer.wakeup()`.
    """
    consumer.subscribe([topic])
    policy = retry(2, backoff=0.01).then(dead_letter(f"{topic}-dead"))
    consumer.run(handler, ordering="key", concurrency=workers, on_error=policy)


# --- the two accidents ------------------------------------------------------------------------------------------------


def commit_then_handle(settings: Settings, topic: str, handler: Handler) -> None:
    """At most once: a crash between commit and handling loses what was read. Nobody reads it again."""
    with Consumer({**settings, "enable.auto.commit": False}) as consumer:
        consumer.subscribe([topic])
        while not (records := consumer.poll(0.5)):
            pass
        consumer.commit()
        for record in records:
            handler(record)


def handle_then_commit(settings: Settings, topic: str, handler: Handler) -> None:
    """At least once: a crash between handling and commit has the same records handled again. Handlers should not mind,
    or write what they make in the same transaction as the offsets (`Producer.send_offsets_to_transaction`).
    """
    with Consumer({**settings, "enable.auto.commit": False}) as consumer:
        consumer.subscribe([topic])
        while not (records := consumer.poll(0.5)):
            pass
        for record in records:
            handler(record)
        consumer.commit()


def show(record: ConsumerRecord) -> None:
    print(threading.current_thread().name, record.topic_partition, record.offset, record.value)


def main() -> None:
    address, topic, way = sys.argv[1:4]
    settings: Settings = {"bootstrap.servers": address, "group.id": "patterns", "auto.offset.reset": "earliest"}
    if way == "threads":
        for thread in one_consumer_per_thread(settings, topic, show, 4, threading.Event()):
            thread.join()
    elif way == "processes":
        stop = multiprocessing.get_context("spawn").Event()
        for process in one_consumer_per_process(settings, topic, show, 4, stop):
            process.join()
    else:
        with Consumer(settings) as consumer:
            one_poller_with_workers(consumer, topic, show, 16)


if __name__ == "__main__":
    main()
