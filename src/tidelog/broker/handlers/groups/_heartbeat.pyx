"""Heartbeats of classic members, served from the bytes of their frames: what a quiet group sends all day.

`GroupMachine.beat` decides, as for every heartbeat. One that it refuses, one to a consumer group (which may have to
write), and one that would have to wait for an append go the long way.
"""

from libc.stdint cimport int16_t, int32_t, uint8_t

from tidelog.broker.handlers.groups._group_taker cimport GroupTaker
from tidelog.broker.requests._reader cimport (
    Cursor, api_version, correlation_id, open_request, read_i32, read_text, skip_tags,
)
from tidelog.broker.requests._writer cimport Writer
from tidelog.net._connection cimport ServerConnection

from tidelog.broker.handlers.groups.versions import Heartbeat
from tidelog.common.errors import KafkaError

# Every version is served. 3 named static members (KIP-345), 4 was the first flexible one.
cdef int LAST_VERSION = Heartbeat.LAST
cdef int THROTTLE_TIME = Heartbeat.THROTTLE_TIME
cdef int INSTANCE_IDS = Heartbeat.INSTANCE_IDS
cdef int FLEXIBLE = Heartbeat.FLEXIBLE


cdef class HeartbeatTaker(GroupTaker):
    """Answers at once, with the code that the machine gives.

    0 keeps the member for another session time-out. REBALANCE_IN_PROGRESS tells it to join again; that, too, is an
    ordinary answer: by it the members of a group learn that a rebalance has begun.
    """

    cdef int take(self, ServerConnection connection, bytearray owner, uint8_t* base, Py_ssize_t position,
                  Py_ssize_t size) except -1:
        cdef Cursor c
        cdef str group, member, instance = None
        cdef int32_t generation
        cdef uint8_t* frame = base + position
        cdef int16_t version = api_version(frame)
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
        # A group without a name is INVALID_GROUP_ID, which the plain form says.
        if c.bad or c.p != c.end or not group:
            return 0
        # A heartbeat reads the state of the group and writes nothing. As with any read, its answer may not tell of what
        # is not committed yet: while an append is under way (`settled` is false) it has to wait, the long way.
        try:
            shard = self.runtime.shard_for(group)
            code = shard.machine.beat(group, member, instance, generation) if shard.settled else None
        except KafkaError:
            return 0
        # None: a consumer group, to which a classic member's heartbeat goes by the bridge between the protocols.
        if code is None:
            return 0
        self.taken += 1
        self.answer(connection, correlation_id(frame), version, code)
        return 1

    cdef int answer(self, ServerConnection connection, int32_t correlation, int version, int code) except -1:
        """The whole answer is 10 to 16 bytes, sent from the writer's memory: nothing is allocated for it."""
        cdef Writer out = self.out
        out.size = 0
        out.begin_answer(correlation, version >= FLEXIBLE)
        if version >= THROTTLE_TIME:
            out.put_throttle()
        out.put_16(code)
        out.end_answer(0, version >= FLEXIBLE)
        connection.send(out.start(), out.size)
        return 0
