"""Heartbeats of classic members, served from the bytes of their frames: what a quiet group sends all day.

`GroupMachine.beat` decides, as for every heartbeat. One that it refuses, one to a consumer group (which may have to write),
and one that would have to wait for an append go the long way.
"""

from libc.stdint cimport int16_t, int32_t, uint8_t

from tidelog.broker.network._hot cimport Taker
from tidelog.broker.requests._reader cimport Cursor, load_i16, load_i32, open_request, read_i32, read_text, skip_tags
from tidelog.broker.requests._writer cimport Writer
from tidelog.net._connection cimport ServerConnection

from tidelog.common.errors import KafkaError

cdef enum:
    LAST_VERSION = 4
    THROTTLE_TIME = 1
    INSTANCE_IDS = 3
    FLEXIBLE = 4


cdef class HeartbeatTaker(Taker):
    """`runtime` has the group shards."""

    cdef object runtime
    cdef Writer out

    def __init__(self, runtime):
        self.runtime = runtime
        self.out = Writer(b"")

    cdef int take(self, ServerConnection connection, uint8_t* frame, Py_ssize_t size) except -1:
        cdef Cursor c
        cdef str group, member, instance = None
        cdef int32_t generation
        cdef int16_t version = load_i16(frame + 2)
        cdef bint compact = version >= FLEXIBLE
        if version < 0 or version > LAST_VERSION:
            return 0
        open_request(&c, frame, size, compact)
        group = read_text(&c, compact, False)
        generation = read_i32(&c)
        member = read_text(&c, compact, False)
        if version >= INSTANCE_IDS:
            instance = read_text(&c, compact, True)
        if compact:
            skip_tags(&c)
        if c.bad or c.p != c.end or not group:
            return 0
        try:
            shard = self.runtime.shard_for(group)
            code = shard.machine.beat(group, member, instance, generation) if shard.settled else None
        except KafkaError:
            return 0
        if code is None:
            return 0
        self.taken += 1
        self.answer(connection, load_i32(frame + 4), version, code)
        return 1

    cdef int answer(self, ServerConnection connection, int32_t correlation, int version, int code) except -1:
        cdef Writer out = self.out
        out.size = 0
        out.put_32(0)
        out.put_32(correlation)
        if version >= FLEXIBLE:
            out.put_varint(0)
        if version >= THROTTLE_TIME:
            out.put_32(0)
        out.put_16(code)
        if version >= FLEXIBLE:
            out.put_varint(0)
        out.patch_32(0, <int32_t>(out.size - 4))
        connection.send(out.start(), out.size)
        return 0
