"""Produce: the hot path and the long way give the same answers, and the right ones."""

from __future__ import annotations

import asyncio
import random
import threading

import pytest

from support.wire import NOW, WireClient, batch, connected, produce_request, run, serving
from tidelog.broker.handlers.records import preparation
from tidelog.broker.replication.partition import Partition
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import encode_request
from tidelog.records.codec import compression
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.convert import down_convert

V2_VERSIONS = range(3, 14)


def corrupt(data: bytearray) -> bytearray:
    data[-1] ^= 0xFF
    return data


def malformed(data: bytearray) -> bytearray:
    """A wrong record count under a right checksum."""
    from tidelog.records.kernel.crc32c import crc32c

    data[57:61] = (9).to_bytes(4, "big")
    data[23:27] = (8).to_bytes(4, "big")
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    return data


@pytest.mark.parametrize("hot", [True, False])
@pytest.mark.parametrize("version", V2_VERSIONS)
def test_offsets_and_answers_of_every_version(tmp_path, version, hot):
    async def main():
        async with serving(tmp_path, hot=hot) as broker, connected(broker) as client:
            first, second = broker.create_topic("one", 2), broker.create_topic("two")
            names = (first, second) if version >= 13 else ("one", "two")
            for round_number in range(2):
                response = await client.ask(
                    ApiKey.PRODUCE,
                    version,
                    produce_request(
                        {names[0]: {1: batch(b"a", b"b"), 0: batch(b"c")}, names[1]: {0: batch(b"d", b"e", b"f")}}
                    ),
                )
                parts = [part for topic in response.responses for part in topic.partition_responses]
                assert [part.error_code for part in parts] == [0, 0, 0]
                assert [part.index for part in parts] == [1, 0, 0]
                assert [part.base_offset for part in parts] == [2 * round_number, round_number, 3 * round_number]
                assert [part.log_append_time_ms for part in parts] == [-1] * 3
                assert [part.log_start_offset for part in parts] == ([0] * 3 if version >= 5 else [-1] * 3)
                assert [part.error_message for part in parts] == [None] * 3
                if version >= 13:
                    assert [topic.topic_id for topic in response.responses] == [first, second]
            assert broker.network.sink.taken()[ApiKey.PRODUCE] == (2 if hot else 0)

    run(main())


CASES = {
    "corrupt": lambda: ({"t": {0: corrupt(batch(b"a"))}}, {}),
    "malformed": lambda: ({"t": {0: malformed(batch(b"a"))}}, {}),
    "one good, one bad": lambda: ({"t": {0: batch(b"a"), 1: corrupt(batch(b"b"))}}, {}),
    "future": lambda: ({"t": {0: batch(b"a", b"b", timestamp=NOW + 7_200_000)}}, {}),
    "no key": lambda: ({"compacted": {0: batch(b"a", b"b", key=None)}}, {}),
    "too large": lambda: ({"t": {0: batch(bytes(2_000_000))}}, {}),
    "unknown topic": lambda: ({"nope": {0: batch(b"a")}}, {}),
    "unknown partition": lambda: ({"t": {0: batch(b"a"), 7: batch(b"b")}}, {}),
    "bad acks": lambda: ({"t": {0: batch(b"a")}}, {"acks": 2}),
    "no records": lambda: ({"t": {0: b""}}, {}),
    "null records": lambda: ({"t": {0: None}}, {}),
    "two batches": lambda: ({"t": {0: batch(b"a") + batch(b"b")}}, {}),
    "half a batch": lambda: ({"t": {0: batch(b"a")[:-3]}}, {}),
    "internal": lambda: ({"__consumer_offsets": {0: batch(b"a")}}, {}),
    "too few in sync": lambda: ({"pair": {0: batch(b"a")}}, {"acks": -1}),
    "not the leader": lambda: ({"elsewhere": {0: batch(b"a")}}, {}),
    "append time from a client": lambda: (
        {"t": {0: batch(b"a", timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=NOW)}},
        {},
    ),
}

EXPECTED = {
    "corrupt": [ErrorCode.CORRUPT_MESSAGE],
    "malformed": [ErrorCode.INVALID_RECORD],
    "one good, one bad": [ErrorCode.NONE, ErrorCode.CORRUPT_MESSAGE],
    "future": [ErrorCode.INVALID_TIMESTAMP],
    "no key": [ErrorCode.INVALID_RECORD],
    "too large": [ErrorCode.MESSAGE_TOO_LARGE],
    "unknown topic": [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    "unknown partition": [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
    "bad acks": [ErrorCode.INVALID_REQUIRED_ACKS],
    "no records": [ErrorCode.INVALID_RECORD],
    "null records": [ErrorCode.INVALID_RECORD],
    "internal": [ErrorCode.INVALID_TOPIC_EXCEPTION],
    "too few in sync": [ErrorCode.NOT_ENOUGH_REPLICAS],
    "not the leader": [ErrorCode.NOT_LEADER_OR_FOLLOWER],
    "append time from a client": [ErrorCode.NONE],
}


async def answers_to(path, case, version, hot):
    async with serving(path, hot=hot) as broker, connected(broker) as client:
        broker.create_topic("t", 2)
        broker.create_topic("compacted", 1, {"cleanup.policy": "compact"})
        broker.create_topic("pair", 1, {"min.insync.replicas": "2"}, replicas=(1, 2))
        broker.create_topic("__consumer_offsets")
        broker.create_topic("elsewhere", 1, leader=2, replicas=(2, 1), isr=(2, 1))
        data, fields = CASES[case]()
        client.writer.write(encode_request(ApiKey.PRODUCE, version, 77, "c", produce_request(data, **fields)))
        frame = await client.receive_frame()
        again = await client.produce("t", batch(b"after"), version=version)
        assert again.error_code == 0
        return frame


@pytest.mark.parametrize("version", [3, 8, 9, 12])
@pytest.mark.parametrize("case", CASES)
def test_the_hot_path_answers_as_the_long_way_does(tmp_path, case, version):
    from tidelog.protocol.headers import decode_response

    hot = run(answers_to(tmp_path / "hot", case, version, True))
    long = run(answers_to(tmp_path / "long", case, version, False))
    assert hot == long
    response = decode_response(ApiKey.PRODUCE, version, hot)[1]
    codes = [part.error_code for part in response.responses[0].partition_responses]
    if case in EXPECTED:
        assert codes == EXPECTED[case]
    else:
        assert codes[0] != 0
    if case in ("future", "no key") and version >= 8:
        part = response.responses[0].partition_responses[0]
        assert [error.batch_index for error in part.record_errors] == [0, 1]
        assert part.error_message
    if case == "not the leader" and version >= 10:
        assert response.responses[0].partition_responses[0].current_leader.leader_id == 2


def test_unknown_topic_ids(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            part = await client.produce(bytes(range(16)), batch(b"a"), version=13)
            assert part.error_code == ErrorCode.UNKNOWN_TOPIC_ID

    run(main())


@pytest.mark.parametrize("hot", [True, False])
def test_acks_0_has_no_answer_and_an_error_closes(tmp_path, hot):
    async def main():
        async with serving(tmp_path, hot=hot) as broker, connected(broker) as client:
            broker.create_topic("t")
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"a")}}, acks=0))
            part = await client.produce("t", batch(b"b"))
            assert part.base_offset == 1
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: corrupt(batch(b"c"))}}, acks=0))
            assert await client.closed()

    run(main())


@pytest.mark.parametrize("hot", [True, False])
def test_idempotent_producers(tmp_path, hot):
    def numbered(sequence, *values, epoch=0):
        return batch(*values, producer_id=900, producer_epoch=epoch, base_sequence=sequence)

    async def main():
        async with serving(tmp_path, hot=hot) as broker, connected(broker) as client:
            broker.create_topic("t")
            assert (await client.produce("t", numbered(0, b"a", b"b"))).base_offset == 0
            assert (await client.produce("t", numbered(2, b"c"))).base_offset == 2
            duplicate = await client.produce("t", numbered(0, b"a", b"b"))
            assert (duplicate.error_code, duplicate.base_offset) == (0, 0)
            gap = await client.produce("t", numbered(9, b"z"))
            assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
            assert (await client.produce("t", numbered(0, b"d", epoch=1))).base_offset == 3
            fenced = await client.produce("t", numbered(3, b"old"))
            assert fenced.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
            # several in one read event, mixed with one that has no producer id
            requests = [numbered(1, b"e", epoch=1), batch(b"plain"), numbered(2, b"f", epoch=1)]
            for data in requests:
                client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: data}}))
            parts = [(await client.receive(ApiKey.PRODUCE, 9)).responses[0].partition_responses[0] for _ in requests]
            assert [(part.error_code, part.base_offset) for part in parts] == [(0, 4), (0, 5), (0, 6)]

    run(main())


def test_requests_of_many_connections_become_few_appends(tmp_path):
    async def main():
        async with serving(tmp_path) as broker:
            broker.create_topic("t", 2)
            pairs = [await asyncio.open_connection(broker.host, broker.port) for _ in range(8)]
            for turn in range(20):
                for number, (_, writer) in enumerate(pairs):
                    request = produce_request({"t": {number % 2: batch(b"%d" % number)}})
                    writer.write(encode_request(ApiKey.PRODUCE, 9, turn, "c", request) * 3)

            offsets = {0: [], 1: []}
            for number, (reader, writer) in enumerate(pairs):
                client = WireClient(reader, writer)
                mine = []
                for _ in range(60):
                    response = await client.receive(ApiKey.PRODUCE, 9)
                    mine.append(response.responses[0].partition_responses[0].base_offset)
                assert mine == sorted(mine)
                offsets[number % 2] += mine
                writer.close()
            assert sorted(offsets[0]) == sorted(offsets[1]) == list(range(240))
            assert broker.network.sink.taken()[ApiKey.PRODUCE] == 480
            assert broker.network.sink.taker(ApiKey.PRODUCE).runs_made < 240

    run(main())


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize("topic_codec", ["producer", "uncompressed", "zstd"])
def test_compressed_batches_are_checked_and_packed_anew_where_the_topic_says_so(tmp_path, codec, topic_codec):
    from tidelog.records.format.batch import iter_batches

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"compression.type": topic_codec})
            values = [bytes([n]) * 5000 for n in range(20)]
            assert (await client.produce("t", batch(*values, codec=codec))).base_offset == 0
            assert (await client.produce("t", batch(*values))).base_offset == 20
            data = (await client.fetch("t")).responses[0].partitions[0].records
            stored = list(iter_batches(data))
            expected = {"producer": [codec, Codec.NONE], "uncompressed": [Codec.NONE] * 2, "zstd": [Codec.ZSTD] * 2}
            assert [one.codec for one in stored] == expected[topic_codec]
            assert [record.value for one in stored for record in one.records()] == values * 2
            bad = batch(*values, codec=codec)
            bad[70] ^= 0xFF
            assert (await client.produce("t", bad)).error_code == ErrorCode.CORRUPT_MESSAGE

    run(main())


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_sets_are_converted(tmp_path, version, magic):
    from tidelog.records.format.batch import iter_batches

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            part = await client.produce("t", batch(b"a", b"b", magic=magic), version=version)
            assert (part.error_code, part.base_offset) == (0, 0)
            data = (await client.fetch("t")).responses[0].partitions[0].records
            stored = list(iter_batches(data))
            assert [one.magic for one in stored] == [2]
            assert [record.value for record in stored[0].records()] == [b"a", b"b"]
            refused = await client.produce("t", batch(b"a", magic=magic), version=3)
            assert refused.error_code != 0

    run(main())


@pytest.mark.parametrize("hot", [True, False])
def test_log_append_time(tmp_path, hot):
    async def main():
        async with serving(tmp_path, hot=hot) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"message.timestamp.type": "LogAppendTime"})
            part = await client.produce("t", batch(b"a", timestamp=5))
            assert (part.error_code, part.log_append_time_ms) == (0, NOW)

    run(main())


def test_acks_all_waits_for_the_followers(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as follower:
            broker.create_topic("t", 1, replicas=(1, 2), isr=(1, 2))
            await follower.fetch("t", 0, version=12, replica_id=2)
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"a")}}, acks=-1))
            data = await follower.fetch("t", 0, replica_id=2, max_wait_ms=1000)
            assert data.responses[0].partitions[0].records
            assert broker.replicas.topic("t")[0].log.high_watermark == 0
            await follower.fetch("t", 1, replica_id=2)
            part = (await client.receive(ApiKey.PRODUCE, 9)).responses[0].partition_responses[0]
            assert (part.error_code, part.base_offset) == (0, 0)
            late = await client.produce("t", batch(b"b"), acks=-1, timeout_ms=50)
            assert late.error_code == ErrorCode.REQUEST_TIMED_OUT
            assert not broker.purgatories.produce

    run(main())


def test_flush_messages_syncs_before_the_answer(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"flush.messages": "1"})
            part = await client.produce("t", batch(b"a"))
            log = broker.replicas.topic("t")[0].log
            assert (part.base_offset, log.recovery_point) == (0, 1)

    run(main())


def test_a_changed_config_takes_effect_on_the_hot_path(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            assert (await client.produce("t", batch(bytes(5000)))).error_code == 0
            broker.configs.set("t", {"max.message.bytes": "1000"})
            broker.replicas.update_topic_config("t", broker.configs.log_config("t"))
            assert (await client.produce("t", batch(bytes(5000)))).error_code == ErrorCode.MESSAGE_TOO_LARGE
            broker.create_topic("t", leader=2, leader_epoch=1, replicas=(1, 2), isr=(1, 2))
            assert (await client.produce("t", batch(b"x"))).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    run(main())


# -- before anything is unpacked --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 9])
def test_what_is_too_large_is_never_unpacked(tmp_path, monkeypatch, version):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"max.message.bytes": "2000"})
            noise = random.Random(1).randbytes(3000)
            data = batch(noise, codec=Codec.GZIP)  # as many bytes packed as plain
            if version == 2:
                data = bytearray(down_convert(data, 1))
            assert len(data) > 2000
            monkeypatch.setattr(compression, "_DECOMPRESSORS", {})
            part = await client.produce("t", data, version=version)
            assert part.error_code == ErrorCode.MESSAGE_TOO_LARGE
            assert broker.replicas.topic("t")[0].log.log_end_offset == 0

    run(main())


@pytest.mark.parametrize(
    ("codec", "size", "on_loop"),
    [
        (Codec.LZ4, 30_000, True),
        (Codec.SNAPPY, 30_000, True),
        (Codec.GZIP, 30_000, False),
        (Codec.ZSTD, 30_000, False),
        (Codec.LZ4, 80_000, False),
    ],
)
def test_what_is_unpacked_on_the_loop_is_quick(tmp_path, monkeypatch, codec, size, on_loop):
    """By the codec and the packed size; other topics' codecs mean packing anew, and that is a thread's work."""

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            broker.create_topic("zstd", 1, {"compression.type": "zstd"})
            where = []
            prepare = Partition.prepare

            def noting(self, records, **fields):
                where.append(threading.current_thread() is threading.main_thread())
                return prepare(self, records, **fields)

            monkeypatch.setattr(Partition, "prepare", noting)
            data = batch(random.Random(1).randbytes(size), codec=codec)
            assert len(data) > preparation.PACKED_ON_LOOP
            for topic in ("t", "zstd"):
                assert (await client.produce(topic, data)).error_code == 0
            assert where == [on_loop, False]

    run(main())


def test_a_few_bytes_that_unpack_to_many_are_not_unpacked_on_the_loop(tmp_path, monkeypatch):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            made = []
            prepare = Partition.prepare

            def noting(self, records, **fields):
                made.append((fields.get("on_loop", False), threading.current_thread() is threading.main_thread()))
                return prepare(self, records, **fields)

            monkeypatch.setattr(Partition, "prepare", noting)
            small = batch(bytes(100), codec=Codec.GZIP)
            large = batch(bytes(4 << 20), codec=Codec.GZIP)
            assert len(large) < preparation.PACKED_ON_LOOP
            assert (await client.produce("t", small)).error_code == 0
            assert made == [(True, True)]
            assert (await client.produce("t", large)).error_code == 0
            assert made[1:] == [(True, True), (False, False)]

    run(main())


def test_a_topic_that_takes_the_others_name_meanwhile_gets_none_of_its_records(tmp_path, monkeypatch):
    """By id: the first partition is checked on a thread; until then the topic is deleted, and one of its name made."""
    begun, may_end = threading.Event(), threading.Event()
    prepare = Partition.prepare

    def slow(partition, records, **how):
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            may_end.wait(60)
        return prepare(partition, records, **how)

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            old = broker.create_topic("t", 2)
            packed = batch(random.Random(7).randbytes(40_000), codec=Codec.GZIP)
            monkeypatch.setattr(Partition, "prepare", slow)
            client.send(ApiKey.PRODUCE, 13, produce_request({old: {0: packed, 1: batch(b"old")}}))
            await asyncio.to_thread(begun.wait, 60)
            broker.delete_topic("t")
            new = broker.create_topic("t", 2)
            may_end.set()
            answer = await client.receive(ApiKey.PRODUCE, 13)
            codes = [part.error_code for part in answer.responses[0].partition_responses]
            assert codes == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_ID]
            assert (await client.produce(new, batch(b"new"), version=13, partition=1)).base_offset == 0

    run(main())
