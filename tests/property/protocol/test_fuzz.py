"""Any bytes into any decoder: a message or a ProtocolError, in time and memory that the input justifies."""

from __future__ import annotations

import contextlib
import random
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.messages import Randomizer, all_messages, message_class
from tidelog.common.errors import KafkaError, ProtocolError
from tidelog.protocol.disk import CONSUMER_OFFSETS, TRANSACTION_STATE, decode_metadata_record
from tidelog.protocol.frames import FrameReader, scan
from tidelog.protocol.headers import decode_request_header, decode_response

EVERYTHING = all_messages()
HUGE_COUNTS = (b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\xff" * 10)


def decodes(name: str, version: int, data: bytes | memoryview) -> bool:
    """Whether it is a message; anything but a ProtocolError escapes and fails the test."""
    try:
        _, end = message_class(name).decode_from(data, version)
    except ProtocolError:
        return False
    assert 0 <= end <= len(data)
    return True


@pytest.mark.parametrize("part", range(8))
def test_random_bytes(part: int) -> None:
    source = random.Random(part)
    for name, version in EVERYTHING[part::8]:
        for size in (0, 1, 7, 40, 300):
            decodes(name, version, source.randbytes(size))
        decodes(name, version, bytes(200))
        decodes(name, version, b"\xff" * 200)


@pytest.mark.parametrize("part", range(8))
def test_mutated_messages(part: int) -> None:
    source = random.Random(part)
    for name, version in EVERYTHING[part::8]:
        data = bytearray(Randomizer((name, version), tags=True).message(name, version).encode(version))
        for _ in range(12):
            mutant = bytearray(data)
            for _ in range(source.randint(1, 3)):
                if mutant:
                    mutant[source.randrange(len(mutant))] = source.choice(
                        (0, 1, 0x7F, 0x80, 0xFF, source.randrange(256))
                    )
            decodes(name, version, bytes(mutant))
        for count in HUGE_COUNTS:
            at = source.randrange(len(data) + 1)
            decodes(name, version, bytes(data[:at] + count + data[at:]))


@pytest.mark.parametrize("part", range(8))
def test_cut_anywhere_is_an_error_and_a_tail_is_not(part: int) -> None:
    for name, version in EVERYTHING[part::8]:
        message = Randomizer((name, version, "cut")).message(name, version)
        data = message.encode(version)
        cls = message_class(name)
        assert cls.decode_from(data + b"\xff tail", version) == (message, len(data))
        assert cls.decode_from(b"head" + data, version, 4) == (message, len(data) + 4)
        assert cls.decode(memoryview(bytearray(data)), version) == message
        step = max(1, len(data) // 60)
        for end in range(0, len(data), step):
            assert not decodes(name, version, data[:end]), (name, version, end)


def test_counts_do_not_allocate() -> None:
    """A count of two thousand million in a frame of a few bytes is refused before a list is made."""
    tracemalloc.start()
    try:
        for name, version in EVERYTHING:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            for count in HUGE_COUNTS:
                for lead in (0, 1, 2, 4, 6, 8, 10, 14):
                    decodes(name, version, bytes(lead) + count + bytes(16))
            # what a decoder compiled on the way takes is a few hundred kilobytes; a list of such a length, gigabytes
            assert tracemalloc.get_traced_memory()[1] - before < 8_000_000, (name, version)
    finally:
        tracemalloc.stop()


@given(st.binary(max_size=60))
@settings(max_examples=300, deadline=None)
def test_headers(data: bytes) -> None:
    try:
        header, position = decode_request_header(data)
        assert position <= len(data)
        assert header.correlation_id == int.from_bytes(data[4:8], "big", signed=True)
    except (ProtocolError, KafkaError):
        pass


@given(st.binary(max_size=60), st.sampled_from([(18, 4), (3, 12), (0, 9), (17, 0)]))
@settings(max_examples=300, deadline=None)
def test_responses(data: bytes, api: tuple[int, int]) -> None:
    with contextlib.suppress(ProtocolError):
        decode_response(*api, data)


@given(st.binary(max_size=60))
@settings(max_examples=300, deadline=None)
def test_disk_frames(data: bytes) -> None:
    for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE):
        with contextlib.suppress(ProtocolError):
            topic.decode_value(topic.decode_key(data), data)
    with contextlib.suppress(ProtocolError):
        decode_metadata_record(data)


@given(st.lists(st.binary(max_size=20), max_size=8), st.lists(st.integers(0, 40), max_size=8))
@settings(max_examples=200, deadline=None)
def test_frames_come_out_however_the_stream_is_cut(frames: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    found, rest = scan(stream, 0, len(stream), 100)
    assert [stream[start:end] for start, end in found] == frames
    assert rest == len(stream)
    reader, out, position = FrameReader(100), [], 0
    for size in [*sizes, len(stream)]:
        out += reader.feed(stream[position : position + size])
        position += size
    assert out == frames
    assert reader.pending == 0


@pytest.mark.parametrize("length", [-1, 101, 2**31 - 1])
def test_frame_lengths_are_limited(length: int) -> None:
    with pytest.raises(ProtocolError, match="0 to 100"):
        FrameReader(100).feed(length.to_bytes(4, "big", signed=True))
