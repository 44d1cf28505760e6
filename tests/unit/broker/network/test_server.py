"""The broker's sockets: who comes to its turn when there are more requests than may be under way."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest

from support.loop import until
from support.wire import WireClient, batch, connected, produce_request, run, serving
from tidelog.broker.replication.partition import Partition
from tidelog.protocol.api import ApiKey
from tidelog.records.format.attributes import Codec


class Gatekeeper:
    """Notes in which order the partitions' records are checked, on a thread, and lets one through at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.served: list[int] = []
        self._may_end = threading.Semaphore(0)
        prepare = Partition.prepare

        def held(partition: Partition, *args: Any, **how: Any) -> Any:
            self.served.append(partition.tp.partition)
            assert self._may_end.acquire(timeout=60)
            return prepare(partition, *args, **how)

        monkeypatch.setattr(Partition, "prepare", held)

    async def let_go(self) -> None:
        """The one that is under way ends, and the next one begins."""
        count = len(self.served)
        self._may_end.release()
        await until(lambda: len(self.served) > count)

    def open(self) -> None:
        self._may_end.release(10)


def test_who_waits_for_room_comes_to_its_turn_however_young_its_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request may be under way, and each of three clients has its next one ready at once."""
    keeper = Gatekeeper(monkeypatch)
    packed = batch(random.Random(7).randbytes(40_000), codec=Codec.GZIP)

    def send(client: WireClient, number: int) -> None:
        client.send(ApiKey.PRODUCE, 9, produce_request({"t": {number: packed}}))

    async def main() -> None:
        async with (
            serving(tmp_path, {"queued.max.requests": "1"}) as broker,
            connected(broker) as one,
            connected(broker) as two,
            connected(broker) as three,
        ):
            broker.create_topic("t", 3)
            clients = [one, two, three]
            await until(lambda: len(broker.network.table) == 3)
            connections = list(broker.network.table.connections)
            for number, client in enumerate(clients):
                send(client, number)
            await until(lambda: keeper.served == [0])
            await until(lambda: "paused" in connections[1].conditions and "paused" in connections[2].conditions)
            for number in (0, 1, 2, 0, 1):
                await keeper.let_go()
                await clients[number].receive(ApiKey.PRODUCE, 9)
                send(clients[number], number)
                await until(lambda number=number: "paused" in connections[number].conditions)  # type: ignore[misc]  # bound default
            keeper.open()
            assert keeper.served[:6] == [0, 1, 2, 0, 1, 2]
            for number in (2, 0, 1):
                await clients[number].receive(ApiKey.PRODUCE, 9)

    run(main())
