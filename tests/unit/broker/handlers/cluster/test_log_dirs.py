"""Log directories, and moving a replica between them."""

from __future__ import annotations

from confluent_kafka import Producer

from support.admin_requests import create
from support.patience import eventually
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m


def test_a_replica_moves_to_another_directory_while_it_serves(ask, broker):
    create(ask, "moves", 1)
    producer = Producer({"bootstrap.servers": broker.address})
    for index in range(500):
        producer.produce("moves", str(index).encode() * 100)
    assert producer.flush(60) == 0

    def places():
        results = ask(m.DescribeLogDirsRequest(topics=None)).results
        assert all(result.total_bytes > result.usable_bytes >= 0 for result in results)
        return {
            result.log_dir: p for result in results for t in result.topics if t.name == "moves" for p in t.partitions
        }

    (here,) = places()
    size = places()[here].partition_size
    other = next(str(d.path) for d in broker.server.log_manager.dirs if str(d.path) != here)

    def move(path, partition=0):
        topic = m.AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name="moves", partitions=[partition])
        wanted = m.AlterReplicaLogDirsRequest.AlterReplicaLogDir(path=path, topics=[topic])
        return ask(m.AlterReplicaLogDirsRequest(dirs=[wanted])).results[0].partitions[0].error_code

    assert move("/nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert move(other, 9) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert move(here) == 0
    assert move(other) == 0
    assert eventually(places, lambda found: set(found) == {other})[other].partition_size == size
    producer.produce("moves", b"after")
    assert producer.flush(60) == 0
    assert (
        broker.server.replicas.partition(next(iter(broker.server.replicas.hosted("moves")))).log.log_end_offset == 501
    )
