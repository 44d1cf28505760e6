"""Transactions of the producer, by both protocols, against a broker in this process and one that fails on demand."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.patience import eventually
from support.produced import batches_of, values_of
from tidelog import Producer, ProducerRecord, aio
from tidelog.client.config import parse
from tidelog.client.config import producer as keys
from tidelog.client.producer.core import ProducerCore
from tidelog.client.values import ConsumerGroupMetadata, OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import TopicPartition
from tidelog.testing import Broker


@pytest.fixture(params=[False, True], ids=["first protocol", "second protocol"])
def second(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Makes every producer of the test use that protocol; the broker serves both."""
    wanted = bool(request.param)
    original = ProducerCore.__init__

    def init(self: ProducerCore, *arguments: Any, **named: Any) -> None:
        original(self, *arguments, **{**named, "second_protocol": wanted})

    monkeypatch.setattr(ProducerCore, "__init__", init)
    return wanted


def transactional(broker: Broker, name: str, **settings: Any) -> Producer:
    return Producer(bootstrap_servers=broker.address, transactional_id=name, **settings)


def outcomes(broker: Broker, topic: str, partition: int) -> list[str]:
    """The partition's batches as words: data, commit, abort."""
    words = {0: "abort", 1: "commit"}
    found = []
    for batch in batches_of(broker, topic, partition):
        key = batch.records()[0].key
        found.append(words[key[3]] if batch.header.is_control and key else "data")
    return found


def test_commit_and_abort(broker: Broker, topic: str, second: bool) -> None:
    with transactional(broker, topic) as producer:
        producer.init_transactions()
        for number in range(4):
            producer.begin_transaction()
            producer.send(topic, b"%d" % number, partition=0)
            producer.send(topic, b"%d" % number, partition=1)
            if number % 2:
                producer.abort_transaction()
            else:
                producer.commit_transaction()
        producer.begin_transaction()
        producer.commit_transaction()  # an empty one
        producer.begin_transaction()
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send(topic, b"last", partition=0).result(10)
        producer.commit_transaction()
    found = eventually(lambda: outcomes(broker, topic, 0), lambda found: found.count("commit") == 3)
    assert [word for word in found if word != "data"][:1] == ["commit"]
    assert values_of(broker, topic, 0)[-1] == b"last"
    epochs = {batch.header.producer_epoch for batch in batches_of(broker, topic, 0) if not batch.header.is_control}
    assert len(epochs) >= (3 if second else 2)


def test_a_transaction_over_many_batches(broker: Broker, topic: str, second: bool) -> None:
    with transactional(broker, topic, batch_size=500) as producer:
        producer.init_transactions()
        for start in (0, 500):
            producer.begin_transaction()
            for number in range(start, start + 500):
                producer.send(topic, b"%d" % number, partition=1)
            producer.commit_transaction()
    assert values_of(broker, topic, 1) == [b"%d" % number for number in range(1000)]


def test_what_is_not_allowed_when(broker: Broker, topic: str) -> None:
    with transactional(broker, topic) as producer:
        with pytest.raises(UsageError, match=r"not initialized: call init_transactions\(\) first"):
            producer.send(topic, b"x")
        with pytest.raises(KafkaError, match=r"cannot begin: .* call init_transactions\(\) first"):
            producer.begin_transaction()
        producer.init_transactions()
        with pytest.raises(UsageError, match=r"ready: call begin_transaction\(\) first"):
            producer.send(topic, b"x")
        with pytest.raises(KafkaError, match="cannot begin commit"):
            producer.commit_transaction()
        producer.begin_transaction()
        with pytest.raises(KafkaError, match="cannot begin"):
            producer.begin_transaction()
        producer.abort_transaction()
    with Producer(bootstrap_servers=broker.address) as plain, pytest.raises(UsageError, match=r"transactional\.id"):
        plain.begin_transaction()


def test_a_newer_producer_fences_the_older(broker: Broker, topic: str, second: bool) -> None:
    with transactional(broker, topic) as old, transactional(broker, topic) as new:
        old.init_transactions()
        old.begin_transaction()
        old.send(topic, b"old", partition=0).result(10)
        new.init_transactions()
        with pytest.raises(KafkaError) as caught:
            old.commit_transaction()
        assert caught.value.code is ErrorCode.PRODUCER_FENCED
        assert isinstance(caught.value.__cause__, KafkaError)
        for call in (old.begin_transaction, old.abort_transaction, old.init_transactions):
            with pytest.raises(KafkaError, match=rf"PRODUCER_FENCED: another producer with transactional.id {topic}"):
                call()
        new.begin_transaction()
        new.send(topic, b"new", partition=0)
        new.commit_transaction()
    eventually(lambda: outcomes(broker, topic, 0), lambda found: found == ["data", "abort", "data", "commit"])


def test_a_record_of_a_fenced_producer_says_so(broker: Broker, topic: str, second: bool) -> None:
    with transactional(broker, topic) as old, transactional(broker, topic) as new:
        old.init_transactions()
        old.begin_transaction()
        old.send(topic, b"old", partition=0).result(10)
        new.init_transactions()
        late = old.send(topic, b"late", partition=0)
        with pytest.raises(KafkaError, match="PRODUCER_FENCED"):
            late.result(10)
        with pytest.raises(KafkaError, match="PRODUCER_FENCED"):
            old.abort_transaction()


def test_an_abort_warns_of_nothing(broker: Broker, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    with transactional(broker, topic, linger_ms=60_000) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        dropped = producer.send(topic, b"x")
        producer.abort_transaction()
        assert isinstance(dropped.exception(), KafkaError)
    assert not [record for record in caplog.records if record.name.startswith("tidelog.client.producer")]


def test_a_lost_record_makes_the_transaction_abort(broker: Broker, second: bool) -> None:
    name = f"limited-{second}"
    broker.create_topic(name, 1, config={"max.message.bytes": "2000"})
    with transactional(broker, name) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(name, b"fits").result(10)
        future = producer.send(name, b"x" * 5000)
        with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
            producer.commit_transaction()
        assert isinstance(future.exception(), KafkaError)
        with pytest.raises(KafkaError, match="MESSAGE_TOO_LARGE"):
            producer.send(name, b"more")
        producer.abort_transaction()
        producer.begin_transaction()
        producer.send(name, b"again")
        producer.commit_transaction()
    eventually(lambda: outcomes(broker, name, 0), lambda found: found == ["data", "abort", "data", "commit"])


def test_offsets_in_a_transaction(broker: Broker, topic: str, second: bool) -> None:
    source, group = TopicPartition(topic, 1), f"group-{topic}"
    with transactional(broker, topic) as producer:
        producer.init_transactions()
        for number, end in ((5, producer.commit_transaction), (9, producer.abort_transaction)):
            producer.begin_transaction()
            producer.send(topic, b"%d" % number, partition=0)
            offsets = {source: OffsetAndMetadata(number, metadata="mine")}
            producer.send_offsets_to_transaction(offsets, ConsumerGroupMetadata(group))
            end()
        producer.begin_transaction()
        producer.send_offsets_to_transaction({source: 7}, ConsumerGroupMetadata(group))
        producer.commit_transaction()  # offsets alone
        producer.begin_transaction()
        stale = ConsumerGroupMetadata(group, 3, "somebody")
        with pytest.raises(KafkaError):
            producer.send_offsets_to_transaction({source: OffsetAndMetadata(8)}, stale)
        producer.abort_transaction()
    eventually(lambda: committed(broker, group, source), lambda offset: offset == 7)


def committed(broker: Broker, group: str, tp: TopicPartition) -> int:
    from tidelog.client.blocking import BlockingClient
    from tidelog.client.offsets import committed_group_offsets

    with BlockingClient({"bootstrap.servers": broker.address}) as client:
        return int(client.run(committed_group_offsets(client.cluster, group))[tp])


def test_transactions_in_asyncio(broker: Broker, topic: str, second: bool) -> None:
    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address, transactional_id=topic) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            producer.send(topic, b"a", partition=0)
            await producer.commit_transaction()
            producer.begin_transaction()
            producer.send(topic, b"b", partition=0)
            await producer.abort_transaction()

    asyncio.run(main())
    eventually(lambda: outcomes(broker, topic, 0)[:2], lambda found: found == ["data", "commit"])


def test_a_record_in_line_is_aborted_with_its_transaction(broker: Broker, topic: str, second: bool) -> None:
    """Its topic is not known yet when the transaction is aborted: it must not come into the next one."""

    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address, transactional_id=topic) as producer:
            await producer.init_transactions()
            producer.begin_transaction()
            aborted = producer.send(topic, b"a", partition=0)
            await producer.abort_transaction()
            producer.begin_transaction()
            await producer.send(topic, b"b", partition=0)
            await producer.commit_transaction()
            with pytest.raises(KafkaError, match="aborted"):
                await aborted

    asyncio.run(main())
    eventually(lambda: outcomes(broker, topic, 0), lambda found: found == ["data", "commit"])


def test_a_record_that_waited_for_room_is_of_no_later_transaction(broker: Broker, topic: str) -> None:
    """A thread that waits in `send` while another one ends the transaction."""
    with transactional(broker, topic) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        core = producer._core
        late = core.prepare(ProducerRecord(topic, b"late", partition=0), None)
        producer.send(topic, b"a", partition=0).result(10)
        producer.commit_transaction()
        producer.begin_transaction()
        with pytest.raises(KafkaError, match="ended before"):
            core.try_append(late)
        producer.abort_transaction()


def test_others_hear_that_a_producer_was_closed(broker: Broker) -> None:
    async def main() -> None:
        producer = aio.Producer(bootstrap_servers=broker.address, max_block_ms=60_000)
        future = producer.send("in the making", b"x")
        flushing = asyncio.create_task(producer.flush())
        await asyncio.sleep(0)
        with pytest.raises(KafkaError, match="had not found room"):
            await producer.close(0)
        with pytest.raises(UsageError, match="closed"):
            await flushing
        with pytest.raises(KafkaError, match="closed"):
            await future

    asyncio.run(main())


def test_the_transaction_timeout_is_the_coordinators(broker: Broker, topic: str) -> None:
    with (
        transactional(broker, topic, transaction_timeout_ms=3_600_000) as producer,
        pytest.raises(KafkaError) as caught,
    ):
        producer.init_transactions()
    assert caught.value.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT


def test_a_transactional_id_needs_idempotence() -> None:
    with pytest.raises(KafkaError, match="idempotence"):
        parse(keys.KEYS, {"bootstrap.servers": "x:1", "transactional.id": "t", "enable.idempotence": False})
