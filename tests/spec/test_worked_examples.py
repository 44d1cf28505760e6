"""The look-ups that the documents walk through, with their own numbers, to the message at the end of them.

000 日志索引 and 001 三. 日志索引 (offsets 23 and 268, time 1526384718288), 003 3.3 (offset 999), 004 日志索引 (offset
230, time 1540). Each log is written so that its indexes come out as in the pictures: none is made by hand.
"""

from __future__ import annotations

from pathlib import Path

from support.logs import LogBench, batch, records_of, sized, small_config
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.segment.segment import Segment

#: The times of the picture in 000 end like this one.
TIME = 1526384718000


def write(log: PartitionLog, base: int, layout: list[tuple[int, int, int]]) -> None:
    """Append batches (position where the next one begins, last relative offset, time of all but the last record)."""
    position, first = 0, 0
    for end, last, time in layout:
        times = [time - 5] * (last - first) + [time]
        log.append_as_follower(bytearray(sized(end - position, base + first, times)))
        position, first = end, last + 1
    log.advance_high_watermark(log.log_end_offset)


#: 000 and 001: [6, 0], [14, 459], [22, 656], [26, 838], [31, 1050], and the newest time of them at 28.
PICTURE = [
    (459, 6, TIME + 235),
    (656, 14, TIME + 256),
    (838, 22, TIME + 270),
    (943, 26, TIME + 278),
    (1050, 28, TIME + 283),
    (1170, 31, TIME + 281),
    (1290, 34, TIME + 290),
]


def log_of_the_picture(path: Path, base: int) -> PartitionLog:
    """A log with an older segment before the one that begins at `base`, if that is not 0."""
    log = LogBench(path, config=small_config(segment_bytes=1 << 20, index_interval_bytes=150)).open()
    for offset in range(base):
        log.append_as_follower(bytearray(batch([b"%d" % offset], timestamp=TIME, base_offset=offset)))
    if base:
        log.roll()
    write(log, base, PICTURE)
    return log


def offset_entries(segment: Segment) -> list[tuple[int, int]]:
    """(relative offset, position) as they lie in the file."""
    index = segment.offset_index
    return [(offset - segment.base_offset, place) for offset, place in map(index.entry, range(index.entries))]


def found_at(log: PartitionLog, offset: int) -> int:
    """Where in its file the batch begins that a read of this offset starts with; the message must be in it."""
    result = log.read(offset, 1 << 20)
    assert result.slice is not None
    position = result.slice.position
    result.slice.release()
    record = records_of(log, offset)[0]
    assert (record.offset, bytes(record.value or b"").strip()) == (offset, b"%d" % offset)
    return position


def test_offset_23_is_read_behind_entry_22(tmp_path: Path) -> None:
    """001 偏移量索引: [22, 656] is the largest entry not above 23; from 656 on, the message 23 is found."""
    log = log_of_the_picture(tmp_path, 0)
    # The first batch of a segment, [6, 0] in the picture, needs no entry: a search that finds none starts there.
    assert offset_entries(log.active_segment)[:4] == [(14, 459), (22, 656), (26, 838), (31, 1050)]
    assert log.active_segment.offset_index.lookup(23) == (22, 656)
    assert found_at(log, 23) == 838
    log.close()


def test_offset_268_is_read_in_the_segment_251(tmp_path: Path) -> None:
    """000 and 001 偏移量索引: 268 − 251 = 17, the entry not above it is [14, 459]; from there, 268 is found."""
    log = log_of_the_picture(tmp_path, 251)
    assert [segment.base_offset for segment in log.segments] == [0, 251]
    assert log.active_segment.offset_index.lookup(268) == (251 + 14, 459)
    assert found_at(log, 268) == 656
    log.close()


def test_time_1526384718288_is_read_behind_28_and_838(tmp_path: Path) -> None:
    """000 时间戳索引: [1526384718283, 28], then [26, 838], then the first message that is not older."""
    log = log_of_the_picture(tmp_path, 0)
    segment = log.active_segment
    assert segment.largest_timestamp >= 1526384718288
    assert segment.time_index.lookup(1526384718288) == (1526384718283, 28)
    assert segment.offset_index.lookup(28) == (26, 838)
    found = log.offset_for_timestamp(1526384718288)
    assert found is not None
    assert (found.timestamp, found.offset) == (1526384718290, 34)
    assert found_at(log, found.offset) == 1170
    log.close()


def test_offset_999_is_read_behind_1365(tmp_path: Path) -> None:
    """003 3.3 基于索引文件查询: 999 − 900 = 99, the nearest entry is 90 at 1365; from there, 999 is found."""
    log = LogBench(tmp_path, config=small_config(segment_bytes=1 << 20, index_interval_bytes=400)).open()
    log.append_as_follower(bytearray(batch([b"x"] * 900, timestamp=TIME)))
    log.roll()
    write(log, 900, [(1365, 89, TIME), (1500, 90, TIME), (1800, 99, TIME)])
    assert log.active_segment.offset_index.lookup(999) == (990, 1365)
    assert found_at(log, 999) == 1500
    log.close()


def log_of_single_messages(path: Path) -> PartitionLog:
    """004's segment 217 as messages of format 1, one by one: twelve of 38 bytes, so that the thirteenth lies at 456."""
    log = LogBench(path, config=small_config(segment_bytes=1 << 20, index_interval_bytes=455)).open()
    for offset in range(217 + 40):
        if offset in (217, 217 + 30):
            log.roll()
        time = 1530 if offset == 217 + 12 else 1300 + offset - (offset < 217 + 12) * 20
        value = b"%d" % offset if offset != 217 + 12 else None
        one = batch([value and value.ljust(4)], keys=[None], timestamp=time, base_offset=offset, magic=1)
        log.append_as_follower(bytearray(one))
    log.advance_high_watermark(log.log_end_offset)
    return log


def test_offset_230_is_read_behind_456(tmp_path: Path) -> None:
    """004 偏移量索引文件的查找原理: 230 − 217 = 13, [12, 456]; from 456 on, the message 13 is the next one.

    The document finds it at 468. That is twelve bytes further: what the offset and the size of a message take. The
    least message of format 0 has 26 bytes with them, one of format 1 34: it lies at 482 or behind, here at 490.
    """
    log = log_of_single_messages(tmp_path)
    assert [segment.base_offset for segment in log.segments] == [0, 217, 247]
    segment = log.segments[1]
    assert offset_entries(segment)[0] == (12, 456)
    assert segment.offset_index.lookup(230) == (217 + 12, 456)
    assert found_at(log, 230) == 456 + 34
    assert len(batch([None], keys=[None], magic=0)) == 26
    log.close()


def test_time_1540_is_read_behind_12_and_456(tmp_path: Path) -> None:
    """004 时间戳索引文件的查找原理: [1530, 12], then [12, 456], then from 456 on the first message not below 1540."""
    log = log_of_single_messages(tmp_path)
    assert [segment.largest_timestamp >= 1540 for segment in log.segments] == [False, True, True]
    segment = log.segments[1]
    assert segment.time_index.lookup(1540) == (1530, 217 + 12)
    assert segment.offset_index.lookup(217 + 12) == (217 + 12, 456)
    found = log.offset_for_timestamp(1540)
    assert found is not None
    assert (found.timestamp, found.offset) == (1540, 240)
    assert found_at(log, found.offset) > 456
    log.close()
