"""Producers and transactions: ids and epochs, right and wrong, at every step."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from interop.differential.mutate import mutations
from interop.differential.scripts.data import fetch_request, produce_request
from interop.differential.scripts.records import batch
from interop.differential.session import PATIENCE, Session
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)

EPOCHS = [-(2**15), -1, 0, 1, 2**15 - 1]
Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction


class Producer(NamedTuple):
    name: str
    id: int
    epoch: int


def producer(s: Session) -> Producer:
    """A new transactional producer, before its first transaction."""
    name = s.fresh("p")
    s.coordinator(name, 1)
    made = s.producer_id(name)
    return Producer(name, made.producer_id, made.producer_epoch)


def settle(s: Session, who: Producer) -> None:
    """Wait until an ended transaction is complete."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = s.do(DescribeTransactionsRequest(transactional_ids=[who.name]), 0).transaction_states[0]
        if not found.transaction_state.startswith("Prepare"):
            return
        time.sleep(0.002)
    raise AssertionError(f"{who.name} is still {found.transaction_state}")


def ids(who: Producer) -> dict[str, list[Any]]:
    """Odd ids that are the same to both brokers, whatever ids they gave out."""
    return {
        "transactional_id": ["", "no-such-producer"],
        "v3_and_below_transactional_id": ["", "no-such-producer"],
        "producer_id": [-1, 2**62, 2**63 - 1],
        "v3_and_below_producer_id": [-1, 2**62],
        "producer_epoch": EPOCHS,
        "v3_and_below_producer_epoch": EPOCHS,
    }


def init_producer_id(s: Session) -> None:
    for version in s.versions(ApiKey.INIT_PRODUCER_ID):

        def plain() -> InitProducerIdRequest:
            return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)

        s.ask("idempotent", plain(), version)
        values = {
            "transactional_id": ["", " "],
            "transaction_timeout_ms": [-1, 0, 1, 900_000, 900_001, 2**31 - 1],
            "producer_id": [-2, -1, 0, 2**62],
            "producer_epoch": [-2, -1, 0, 5, 2**15 - 1],
        }
        for mutation in mutations(plain(), version, values=values):
            s.ask(f"idempotent: {mutation.label}", mutation.apply(plain()), version)

        def named() -> InitProducerIdRequest:
            name = s.fresh("p")
            s.coordinator(name, 1)
            return InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)

        for mutation in mutations(named(), version, values=values, skip={"transactional_id"}):
            s.ask(f"transactional: {mutation.label}", mutation.apply(named()), version)
        _again(s, version)


def _again(s: Session, version: int) -> None:
    """The same transactional id once more: the epoch grows, and older ones are fenced."""
    who = producer(s)
    request = InitProducerIdRequest(transactional_id=who.name, transaction_timeout_ms=60_000)
    s.ask("again", request, version)
    if version < 3:
        return
    for label, pid, epoch in (
        ("own id and epoch", who.id, who.epoch + 1),
        ("stale epoch", who.id, who.epoch),
        ("future epoch", who.id, who.epoch + 90),
        ("other id", 2**62, who.epoch),
        ("id without epoch", who.id, -1),
        ("epoch without id", -1, 3),
    ):
        request.producer_id, request.producer_epoch = pid, epoch
        s.ask(f"again with {label}", request, version)


def add_partitions_request(who: Producer, topic: str, version: int) -> AddPartitionsToTxnRequest:
    topics = [Topic(name=topic, partitions=[0])]
    if version >= 4:
        transaction = Transaction(
            transactional_id=who.name, producer_id=who.id, producer_epoch=who.epoch, verify_only=False, topics=topics
        )
        return AddPartitionsToTxnRequest(transactions=[transaction])
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=who.name,
        v3_and_below_producer_id=who.id,
        v3_and_below_producer_epoch=who.epoch,
        v3_and_below_topics=topics,
    )


def add_partitions(s: Session) -> None:
    topic = s.topic(2)
    values_of = {"partitions": [0, 1, 7, -1]}
    for version in s.versions(ApiKey.ADD_PARTITIONS_TO_TXN):
        who = producer(s)
        s.ask("as it should be", add_partitions_request(who, topic, version), version)
        s.ask("again", add_partitions_request(who, topic, version), version)
        sample = add_partitions_request(Producer("p", 5, 5), topic, version)
        for mutation in mutations(sample, version, values={**ids(who), **values_of}):
            if mutation.label == "transactions=[]":
                continue  # Kafka 4.3 never answers
            fresh = producer(s)
            s.ask(mutation.label, mutation.apply(add_partitions_request(fresh, topic, version)), version)
        for label, fresh in _impostors(s).items():
            s.ask(f"impostor: {label}", add_partitions_request(fresh, topic, version), version)


def _impostors(s: Session) -> dict[str, Producer]:
    who = producer(s)
    return {
        "older epoch": who._replace(epoch=who.epoch - 1),
        "newer epoch": who._replace(epoch=who.epoch + 1),
        "another's id": who._replace(id=producer(s).id),
    }


def add_offsets(s: Session) -> None:
    for version in s.versions(ApiKey.ADD_OFFSETS_TO_TXN):

        def base(who: Producer) -> AddOffsetsToTxnRequest:
            return AddOffsetsToTxnRequest(
                transactional_id=who.name, producer_id=who.id, producer_epoch=who.epoch, group_id="g"
            )

        who = producer(s)
        s.ask("as it should be", base(who), version)
        s.ask("again", base(who), version)
        values = {**ids(who), "group_id": ["", "x" * 300]}
        for mutation in mutations(base(Producer("p", 5, 5)), version, values=values):
            s.ask(mutation.label, mutation.apply(base(producer(s))), version)
        for label, fresh in _impostors(s).items():
            s.ask(f"impostor: {label}", base(fresh), version)


def txn_offset_commit(s: Session) -> None:
    topic = s.topic(2)
    Part = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition
    CommitTopic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    for version in s.versions(ApiKey.TXN_OFFSET_COMMIT):

        def base(who: Producer, group: str) -> TxnOffsetCommitRequest:
            part = Part(partition_index=0, committed_offset=7, committed_metadata="m")
            return TxnOffsetCommitRequest(
                transactional_id=who.name,
                group_id=group,
                producer_id=who.id,
                producer_epoch=who.epoch,
                topics=[CommitTopic(name=topic, partitions=[part])],
            )

        values = {
            **ids(Producer("p", 5, 5)),
            "group_id": ["", "other-group"],
            "generation_id": [-2, 0, 5],
            "member_id": ["no-such-member"],
            "group_instance_id": ["", "i1"],
            "committed_offset": [-(2**63), -1, 0, 2**63 - 1],
            "committed_metadata": ["", "x" * 4096, "x" * 4097],
            "partition_index": [-1, 1, 2],
        }
        for added in (True, False):
            for mutation in [None, *mutations(base(Producer("p", 5, 5), "g"), version, values=values)]:
                who, group = producer(s), s.fresh("g")
                s.coordinator(group)
                if added:
                    add = AddOffsetsToTxnRequest(
                        transactional_id=who.name, producer_id=who.id, producer_epoch=who.epoch, group_id=group
                    )
                    assert s.do(add, 3).error_code == 0
                request = base(who, group)
                label = "as it should be"
                if mutation is not None:
                    label = mutation.label
                    mutation.apply(request)
                s.ask(f"{'added' if added else 'not added'}: {label}", request, version)


def end(s: Session) -> None:
    topic = s.topic(2)
    for version in s.versions(ApiKey.END_TXN):

        def base(who: Producer, committed: bool = True) -> EndTxnRequest:
            return EndTxnRequest(
                transactional_id=who.name, producer_id=who.id, producer_epoch=who.epoch, committed=committed
            )

        for committed in (True, False):
            who = producer(s)
            s.ask(f"nothing done, commit {committed}", base(who, committed), version)
            who = producer(s)
            s.do(add_partitions_request(who, topic, 3), 3)
            s.ask(f"as it should be, commit {committed}", base(who, committed), version)
            settle(s, who)
            s.ask(f"again, commit {committed}", base(who, committed), version)
            settle(s, who)
            s.ask(f"the other way, commit {committed}", base(who, not committed), version)
        for mutation in mutations(base(Producer("p", 5, 5)), version, values=ids(who)):
            who = producer(s)
            s.do(add_partitions_request(who, topic, 3), 3)
            s.ask(mutation.label, mutation.apply(base(who)), version)
        for label, fresh in _impostors(s).items():
            s.ask(f"impostor: {label}", base(fresh), version)


def transactional_produce(s: Session) -> None:
    """Records inside a transaction, and what readers of both kinds then see."""
    for version in s.versions(ApiKey.PRODUCE):
        if version < 3:
            continue
        for committed in (True, False):
            topic = s.topic()
            who = producer(s)
            _produce(s, "not added", version, topic, who, 0)
            s.do(add_partitions_request(who, topic, 3), 3)
            for label, sequence in (("first", 0), ("next", 1), ("gap", 7), ("again", 1)):
                _produce(s, label, version, topic, who, sequence)
            _produce(s, "other name", version, topic, who._replace(name="no-such-producer"), 2)
            _produce(s, "older epoch", version, topic, who._replace(epoch=who.epoch - 1), 2)
            _produce(s, "newer epoch", version, topic, who._replace(epoch=who.epoch + 1), 0)
            for isolation in (0, 1):
                request = fetch_request(s, topic, 11)
                request.isolation_level = isolation
                s.ask(f"open, isolation {isolation}", request, 11)
            end = EndTxnRequest(
                transactional_id=who.name, producer_id=who.id, producer_epoch=who.epoch, committed=committed
            )
            s.ask(f"ended, commit {committed}", end, 4)
            settle(s, who)
            s.ask("described", DescribeTransactionsRequest(transactional_ids=[who.name]), 0)
            _produce(s, "after the end", version, topic, who, 3)


def _produce(s: Session, label: str, version: int, topic: str, who: Producer, sequence: int) -> None:
    records = batch([b"v"], producer_id=who.id, producer_epoch=who.epoch, base_sequence=sequence, transactional=True)
    request = produce_request(s, topic, version, records)
    request.transactional_id = who.name
    s.ask(label, request, version)


def admin(s: Session) -> None:
    topic = s.topic(2)
    who = producer(s)
    s.do(add_partitions_request(who, topic, 3), 3)
    idle = producer(s)
    for version in s.versions(ApiKey.DESCRIBE_TRANSACTIONS):
        s.ask("ongoing", DescribeTransactionsRequest(transactional_ids=[who.name]), version)
        s.ask("empty", DescribeTransactionsRequest(transactional_ids=[idle.name]), version)
        for mutation in mutations(DescribeTransactionsRequest(transactional_ids=["no-such"]), version):
            s.ask(mutation.label, mutation.apply(DescribeTransactionsRequest(transactional_ids=["no-such"])), version)
    for version in s.versions(ApiKey.LIST_TRANSACTIONS):
        values: dict[str, list[Any]] = {
            "state_filters": ["NoSuchState", "PrepareEpochFence"],
            "duration_filter": [2**62],
            "transactional_id_pattern": ["(", "no-such.*", f"{who.name}.*"],
        }
        base = {"producer_id_filters": [2**62]}
        for mutation in mutations(
            ListTransactionsRequest(**base), version, values=values, skip={"producer_id_filters"}
        ):
            s.ask(mutation.label, mutation.apply(ListTransactionsRequest(**base)), version)
        for pid in (who.id, idle.id):
            s.ask("by producer id", ListTransactionsRequest(producer_id_filters=[pid]), version)
            s.ask(
                "by producer id and state",
                ListTransactionsRequest(producer_id_filters=[pid], state_filters=["Ongoing", "Nonsense"]),
                version,
            )
    Asked = DescribeProducersRequest.TopicRequest
    for version in s.versions(ApiKey.DESCRIBE_PRODUCERS):

        def ask() -> DescribeProducersRequest:
            return DescribeProducersRequest(topics=[Asked(name=topic, partition_indexes=[0, 1])])

        s.ask("as it should be", ask(), version)
        for mutation in mutations(ask(), version, values={"partition_indexes": [0, 7, -1]}):
            if "__consumer_offsets" not in mutation.label:
                s.ask(mutation.label, mutation.apply(ask()), version)


def write_markers(s: Session) -> None:
    topic = s.topic(2)
    Marker, MarkerTopic = WriteTxnMarkersRequest.WritableTxnMarker, WriteTxnMarkersRequest.WritableTxnMarkerTopic
    values = {
        "producer_id": [-1, 2**62],
        "producer_epoch": EPOCHS,
        "partition_indexes": [0, 1, 7, -1],
        "coordinator_epoch": [-1, 0, 1, 5],
        "transaction_version": [0, 1, 2],
    }
    for version in s.versions(ApiKey.WRITE_TXN_MARKERS):

        def base(who: Producer) -> WriteTxnMarkersRequest:
            marker = Marker(
                producer_id=who.id,
                producer_epoch=who.epoch,
                transaction_result=True,
                topics=[MarkerTopic(name=topic, partition_indexes=[0])],
                coordinator_epoch=0,
            )
            return WriteTxnMarkersRequest(markers=[marker])

        s.ask("as it should be", base(producer(s)), version)
        for mutation in mutations(base(Producer("p", 5, 5)), version, values=values):
            # Kafka 4.3 never answers to a partition that is named twice
            if "__consumer_offsets" not in mutation.label and not mutation.label.endswith(
                ("topics=twice", "indexes=twice")
            ):
                s.ask(mutation.label, mutation.apply(base(producer(s))), version)
