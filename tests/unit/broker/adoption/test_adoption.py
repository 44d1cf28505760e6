"""Adoption, piece by piece: the metadata log folded, the directories read, the plan against what the store knows."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.managed_logs import append
from tidelog.broker.adoption.disk import DiskTopic, read_topics
from tidelog.broker.adoption.metadata_log import KafkaMetadata, read_metadata_log
from tidelog.broker.adoption.plan import ELSEWHERE, plan_adoption
from tidelog.broker.adoption.situation import Situation
from tidelog.broker.controller.topic_plans import ClusterFacts, NewTopic, plan_topic
from tidelog.broker.metadata.images import PartitionState, TopicImage
from tidelog.broker.store.adopted import Note
from tidelog.broker.store.api import Create, Delete
from tidelog.common.errors import StorageError
from tidelog.common.fs import LOCAL_FS
from tidelog.common.rng import seeded_rng
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import uuid_to_text
from tidelog.protocol import messages
from tidelog.protocol.disk import encode_metadata_record
from tidelog.protocol.message import Message
from tidelog.records.format.builder import BatchBuilder
from tidelog.testing import Broker

ID = bytes(range(16))
OTHER_ID = bytes(range(1, 17))


def batch(first: int, *records: Message) -> bytes:
    builder = BatchBuilder(base_offset=first)
    for record in records:
        builder.append(0, None, encode_metadata_record(record, 0))
    return builder.build()


def partition(index: int, **changes: object) -> Message:
    values = {"partition_id": index, "topic_id": ID, "replicas": [1], "isr": [1], "leader": 1, "leader_epoch": 4}
    return messages.PartitionRecord(**{**values, **changes})


def config(name: str, value: str | None, topic: str = "t") -> Message:
    return messages.ConfigRecord(resource_type=2, resource_name=topic, name=name, value=value)


def folded(*records: Message) -> KafkaMetadata:
    metadata = KafkaMetadata()
    for record in records:
        metadata.replay(record)
    return metadata


TOPIC = messages.TopicRecord(name="t", topic_id=ID)


def plan(disk, known=None, metadata=None, **internal):
    return plan_adoption(Situation(disk, known or {}, {}, metadata, 1, internal), seeded_rng(1))


# -- metadata log ----------------------------------------------------------------------------------------------------


def test_records_fold_into_topics_and_configs():
    metadata = folded(
        TOPIC,
        partition(0),
        messages.PartitionChangeRecord(partition_id=0, topic_id=ID, isr=[1, 2], leader=2, replicas=[2, 1]),
        config("retention.ms", "5"),
        config("segment.ms", "6"),
        config("segment.ms", None),
        messages.ProducerIdsRecord(next_producer_id=3000),
    )
    topic = metadata.topics[ID]
    assert (topic.partitions[0].replicas, topic.partitions[0].isr, topic.partitions[0].leader_epoch) == (
        (2, 1),
        (1, 2),
        5,
    )
    assert metadata.configs == {(2, "t"): {"retention.ms": "5"}}
    assert metadata.next_producer_id == 3000


def test_a_removed_topic_takes_its_configs_along():
    assert folded(TOPIC, config("a", "1"), messages.RemoveTopicRecord(topic_id=ID)) == KafkaMetadata()


def test_transactions_of_the_metadata_log_count_when_they_end():
    begin, end = messages.BeginTransactionRecord(), messages.EndTransactionRecord()
    assert not folded(begin, TOPIC).topics
    assert folded(begin, TOPIC, end).topics
    assert not folded(begin, TOPIC, messages.AbortTransactionRecord()).topics


def test_the_log_goes_on_where_the_newest_snapshot_ends(tmp_path: Path):
    old = messages.TopicRecord(name="old", topic_id=OTHER_ID)
    (tmp_path / "00000000000000000000-0000000000.checkpoint").write_bytes(batch(0, old))
    (tmp_path / "00000000000000000002-0000000001.checkpoint").write_bytes(batch(0, TOPIC, partition(0)))
    torn = batch(3, old)[:-5]
    (tmp_path / "00000000000000000000.log").write_bytes(batch(0, old, old) + batch(2, partition(1)) + torn)
    metadata = read_metadata_log(LOCAL_FS, tmp_path)
    assert [topic.name for topic in metadata.topics.values()] == ["t"]
    assert list(metadata.topics[ID].partitions) == [0, 1]


def test_a_metadata_log_that_cannot_be_read_stops_the_start(tmp_path: Path):
    data = bytearray(batch(0, TOPIC))
    data[-1] ^= 1
    (tmp_path / "00000000000000000000.log").write_bytes(data)
    with pytest.raises(StorageError, match="metadata log"):
        read_metadata_log(LOCAL_FS, tmp_path)


# -- plan ------------------------------------------------------------------------------------------------------------


def test_a_topic_without_metadata_is_adopted_and_its_configs_are_unknown():
    made = plan({"t": DiskTopic("t", ID, {0: 7, 2: -1})})
    assert (made.adopted, made.unknown) == (["t"], ["t"])
    states = {op.path: op.data for op in made.operations if isinstance(op, Create) and op.path.endswith("state")}
    assert b'"leader":1,"version":1,"leader_epoch":8' in states["/brokers/topics/t/partitions/0/state"]
    assert b'"leader":-1' in states["/brokers/topics/t/partitions/1/state"], "what is elsewhere has no leader here"
    assert b'"leader_epoch":0' in states["/brokers/topics/t/partitions/2/state"]
    assert str(ELSEWHERE).encode() in next(op.data for op in made.operations if op.path == "/brokers/topics/t")


def test_internal_topics_have_known_configs():
    made = plan({"__consumer_offsets": DiskTopic("__consumer_offsets", ID, {0: 0})}, __consumer_offsets={"a": "b"})
    assert made.unknown == []


def test_the_metadata_log_gives_configs_and_epochs():
    metadata = folded(TOPIC, partition(0, leader_epoch=9), partition(1), config("retention.ms", "5"))
    made = plan({"t": DiskTopic("t", ID, {0: 3, 1: 3})}, metadata=metadata)
    assert made.unknown == []
    data = {op.path: op.data for op in made.operations}
    assert made.configs == {"t": {"retention.ms": "5"}}
    assert b'"leader_epoch":10' in data["/brokers/topics/t/partitions/0/state"]


def test_a_topic_of_another_id_is_not_the_metadata_logs():
    metadata = folded(TOPIC, partition(0), config("retention.ms", "5"))
    assert plan({"t": DiskTopic("t", OTHER_ID, {0: 3})}, metadata=metadata).unknown == ["t"]


def test_a_known_topic_is_left_alone_or_extended():
    cluster = ClusterFacts((), {1: None}, 0, 2, 1)  # type: ignore[dict-item]  # only the keys are looked at
    image: TopicImage = plan_topic(NewTopic("t", -1, -1, {0: [1], 1: [1]}), cluster, seeded_rng(1)).image
    assert plan({"t": DiskTopic("t", ID, {0: 0, 1: 0})}, {"t": image}).operations == []
    assert len(plan({"t": DiskTopic("t", ID, {3: 0})}, {"t": image}).operations) == 5


# -- directories -----------------------------------------------------------------------------------------------------


def test_directories_are_read(tmp_path: Path):
    for name, epochs in (("t-0", "0\n2\n0 0\n5 10\n"), ("t-1", "garbage")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "partition.metadata").write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
        (tmp_path / name / "leader-epoch-checkpoint").write_text(epochs)
    found = {TopicPartition("t", index): tmp_path / f"t-{index}" for index in (0, 1)}
    assert read_topics(LOCAL_FS, found) == {"t": DiskTopic("t", ID, {0: 5, 1: -1})}


def test_a_lost_store_is_made_anew_from_the_logs(tmp_path: Path):
    with Broker(tmp_path) as broker:
        broker.create_topic("t", 3)
        topic_id, cluster_id = broker.server.metadata.topic_id("t"), broker.server.metadata.cluster_id
    (tmp_path / "tidelog.store").unlink()
    with Broker(tmp_path) as broker:
        assert broker.server.metadata.topic_id("t") == topic_id
        assert broker.server.metadata.cluster_id == cluster_id
        assert broker.server.metadata.partition_count("t") == 3
        assert broker.server.configs.is_guarded("t")
    with Broker(tmp_path, config={"tidelog.adopt.accept.defaults": "true"}) as broker:
        assert not broker.server.configs.is_guarded("t")
    with Broker(tmp_path) as broker:
        assert not broker.server.configs.is_guarded("t"), "accepted once is accepted"


# -- coming back -----------------------------------------------------------------------------------------------------


def image(topic_id: bytes = ID, *, epoch: int = 0) -> TopicImage:
    return TopicImage("t", topic_id, [PartitionState("t", 0, topic_id, 1, epoch, (1,), (1,))], False)


def comeback(metadata: KafkaMetadata | None, ours: dict[str, str], before: Note, disk=None, known=None):
    found = {"t": DiskTopic("t", ID, {0: 0})} if disk is None else disk
    situation = Situation(found, {"t": known or image(epoch=9)}, {"t": ours}, metadata, 1, {}, before)
    return plan_adoption(situation, seeded_rng(1))


def note(configs: dict[str, str], **more: object) -> Note:
    return Note(topics={"t": uuid_to_text(ID)}, configs={"/config/topics/t": configs})._replace(**more)


def test_what_kafka_changed_wins_and_what_was_set_here_stays():
    now = folded(TOPIC, partition(0), config("cleanup.policy", "delete"), config("segment.ms", "5"))
    made = comeback(
        now,
        {"cleanup.policy": "compact", "retention.ms": "7", "segment.ms": "6"},
        note({"cleanup.policy": "compact", "segment.ms": "5", "retention.bytes": "9"}),
    )
    assert made.configs == {"t": {"cleanup.policy": "delete", "retention.ms": "7", "segment.ms": "6"}}
    assert (made.unknown, made.gone) == ([], set())


def test_where_nobody_knows_what_kafka_had_the_topic_is_guarded():
    now = folded(TOPIC, partition(0), config("cleanup.policy", "delete"))
    assert comeback(now, {"cleanup.policy": "compact"}, Note()).unknown == ["t"]
    assert comeback(now, {"cleanup.policy": "delete"}, Note()).unknown == []
    made = comeback(None, {"cleanup.policy": "delete"}, Note())
    assert (made.unknown, made.changes) == (["t"], ["how it configured t is not known"])
    known = comeback(now, {}, note({}, unknown=["t"]))
    assert (known.configs, known.unknown) == ({"t": {"cleanup.policy": "delete"}}, [])


def test_a_topic_that_kafka_deleted_is_forgotten_unless_the_disk_has_it():
    gone = comeback(folded(), {}, note({}), disk={})
    assert gone.gone == {"t"}
    assert Delete("/brokers/topics/t") in gone.operations
    assert Delete("/config/topics/t") in gone.operations
    kept = comeback(folded(), {}, note({}))
    assert (kept.gone, kept.unknown) == (set(), ["t"])
    ours = comeback(folded(), {}, Note(), disk={})
    assert (ours.gone, ours.operations) == (set(), []), "Kafka never knew it"


def test_a_topic_that_was_made_anew_takes_the_place_of_the_old_one():
    now = folded(messages.TopicRecord(name="t", topic_id=OTHER_ID), partition(0, topic_id=OTHER_ID), config("a", "1"))
    made = comeback(now, {}, note({}), disk={"t": DiskTopic("t", OTHER_ID, {0: 0})})
    assert (made.gone, made.adopted, made.configs) == ({"t"}, ["t"], {"t": {"a": "1"}})
    deleted = made.operations.index(Delete("/brokers/topics/t"))
    assert deleted < next(i for i, op in enumerate(made.operations) if isinstance(op, Create))


def test_leader_epochs_go_on_above_kafkas():
    made = comeback(folded(TOPIC, partition(0, leader_epoch=4)), {}, note({}), known=image(epoch=3))
    assert [b'"leader_epoch":5' in op.data for op in made.operations] == [True]
    assert comeback(folded(TOPIC, partition(0, leader_epoch=2)), {}, note({}), known=image(epoch=3)).operations == []


def write_metadata(directory: Path, *records: Message) -> None:
    folder = directory / "__cluster_metadata-0"
    folder.mkdir(exist_ok=True)
    (folder / "00000000000000000000.log").write_bytes(batch(0, *records))


def kafkas_directory(home: Path, *records: Message) -> Path:
    (home / "t-0").mkdir()
    (home / "t-0" / "partition.metadata").write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
    (home / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":5}')
    write_metadata(home, TOPIC, partition(0), *records)
    return home


def test_a_value_out_of_our_range_is_fitted_and_told(tmp_path: Path, caplog):
    kafkas_directory(tmp_path, config("segment.bytes", "1000000"), config("retention.ms", "5"))
    with caplog.at_level("WARNING"), Broker(tmp_path) as broker:
        assert broker.server.configs.overrides("t") == {"segment.bytes": "1048576", "retention.ms": "5"}
    assert "Topic t: segment.bytes=1000000 is out of range here, 1048576 is used instead" in caplog.text
    caplog.clear()
    with caplog.at_level("WARNING"), Broker(tmp_path) as broker:
        assert broker.server.configs.overrides("t") == {"segment.bytes": "1048576", "retention.ms": "5"}
    assert "segment.bytes" not in caplog.text


def test_what_the_metadata_log_says_now_is_compared_with_the_last_time(tmp_path: Path, caplog):
    kafkas_directory(tmp_path, config("cleanup.policy", "compact"))
    with Broker(tmp_path):
        pass
    write_metadata(tmp_path, TOPIC, partition(0), config("cleanup.policy", "compact"), config("cleanup.policy", None))
    with caplog.at_level("WARNING"), Broker(tmp_path) as broker:
        assert not broker.server.configs.log_config("t").compact
        assert not broker.server.configs.is_guarded("t")
    assert "t was configured: cleanup.policy unset" in caplog.text


def test_a_refused_adoption_leaves_no_trace(tmp_path: Path):
    kafkas_directory(tmp_path, config("cleanup.policy", "sometimes"))
    with pytest.raises(StorageError, match=r"Topic t cannot be adopted: .*cleanup.policy"):
        Broker(tmp_path).start()
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    write_metadata(tmp_path, TOPIC, partition(0), config("cleanup.policy", "compact"))
    with Broker(tmp_path) as broker:
        assert broker.server.configs.overrides("t") == {"cleanup.policy": "compact"}


def test_a_kafka_that_left_no_metadata_log_is_known_by_its_mark(tmp_path: Path):
    with Broker(tmp_path) as broker:
        broker.create_topic("t")
    (tmp_path / "tidelog.store").unlink()
    with Broker(tmp_path, config={"tidelog.adopt.accept.defaults": "true"}) as broker:
        assert not broker.server.configs.is_guarded("t")
    mark = tmp_path / ".kafka_cleanshutdown"
    mark.write_text(mark.read_text().rstrip())  # as Kafka spells it
    with Broker(tmp_path) as broker:
        assert broker.server.configs.is_guarded("t")


def test_what_kafka_set_aside_is_put_back(tmp_path: Path):
    kafkas_directory(tmp_path)
    with Broker(tmp_path) as broker:
        broker.create_topic("own", 2)
        broker.create_topic("twice")
        append(broker.server.log_manager.logs[TopicPartition("own", 1)], [(b"k", b"v")])
    for name in ("own-0", "own-1"):
        (tmp_path / name).rename(tmp_path / f"{name}.0123456789abcdef0123456789abcdef-stray")
        assert not (tmp_path / name).exists()
    shutil.copytree(tmp_path / "twice-0", tmp_path / "twice-0.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-stray")
    (tmp_path / "twice-0").rename(tmp_path / "twice-0.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb-stray")
    write_metadata(tmp_path, TOPIC, partition(0), config("segment.ms", "5"))
    with Broker(tmp_path) as broker:
        log = broker.server.log_manager.logs[TopicPartition("own", 1)]
        assert (log.log_end_offset, log.topic_id) == (1, broker.server.metadata.topic_id("own"))
    assert {path.name[:7] for path in tmp_path.glob("*-stray")} == {"twice-0"}, "nobody knows which of them it is"
