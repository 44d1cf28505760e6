"""OffsetFetch for partitions of one group, from the bytes of the request to those of the answer in one pass.

A fetch for all that a group has, for several groups, by topic ids, with an error, or while something of it is not
committed yet goes the long way; so does one that asks for stable offsets of a group that has offsets in open
transactions.

A consumer asks this once for each partition that it is given, so that after a rebalance of a large group, or when many
consumers start at once, thousands of these come in a second.
"""

from libc.stdint cimport int16_t, int32_t, uint8_t

from tidelog.broker.coordinator.group.offsets._committed cimport Committed
from tidelog.broker.handlers.groups._group_taker cimport GroupTaker
from tidelog.broker.requests._reader cimport (
    Cursor, api_version, correlation_id, open_request, read_i8, read_i32, read_length, read_text, skip_tags,
)
from tidelog.broker.requests._writer cimport Writer
from tidelog.net._connection cimport ServerConnection

from tidelog.broker.handlers.groups.versions import OffsetFetch
from tidelog.common.errors import KafkaError

# Version 10 names topics by id, and a topic that nobody knows gets an error of its own: that is for the plain form.
cdef enum:
    FIRST_VERSION = 1           # before it, offsets were in the store

cdef int GROUP_ERROR = OffsetFetch.GROUP_ERROR
cdef int THROTTLE_TIME = OffsetFetch.THROTTLE_TIME
cdef int LEADER_EPOCHS = OffsetFetch.LEADER_EPOCHS
cdef int FLEXIBLE = OffsetFetch.FLEXIBLE
cdef int REQUIRE_STABLE = OffsetFetch.REQUIRE_STABLE
cdef int GROUPS = OffsetFetch.GROUPS
cdef int MEMBERS = OffsetFetch.MEMBERS
cdef int TOPIC_IDS = OffsetFetch.TOPIC_IDS


cdef class OffsetFetchTaker(GroupTaker):
    """Answers at once: reads a partition's number from the request and writes its offset into the answer, in one pass.

    Offsets are looked up by (topic, partition) in the dictionary of the group, which is the one that replay keeps:
    there is no copy that could be stale.
    """

    cdef int take(self, ServerConnection connection, bytearray owner, uint8_t* base, Py_ssize_t position,
                  Py_ssize_t size) except -1:
        cdef Cursor c
        cdef Writer out = self.out
        cdef str group, member = None
        cdef int32_t epoch = -1
        cdef uint8_t* frame = base + position
        cdef int16_t version = api_version(frame)
        cdef bint compact = version >= FLEXIBLE
        if version < FIRST_VERSION or version >= TOPIC_IDS:
            return 0
        open_request(&c, frame, size, compact)
        # Several groups (an admin client asks so) would have to be looked up on several shards.
        if version >= GROUPS and read_length(&c, True, 4) != 1:
            return 0
        group = read_text(&c, compact, False)
        if version >= MEMBERS:
            member = read_text(&c, True, True)
            epoch = read_i32(&c)
        if c.bad:
            return 0
        # From version 9 on a member of a consumer group says who it is: one whose epoch is stale must not go on with
        # offsets that the partitions' new owner is about to move. The plain form gives it the error.
        try:
            shard = self.runtime.shard_for(group)
            shard.machine.check_fetch(group, member, epoch)
        except KafkaError:
            return 0
        # Commits are replayed before they are committed: as long as one is under way, what the store has may yet be
        # lost with a failed append, and is not told.
        if not shard.settled:
            return 0
        # From here on the answer is written while the request is read. Whatever turns out to be of another kind ends
        # it: nothing was sent, and the writer begins anew with the next request.
        self.begin(correlation_id(frame), version, group)
        store = shard.machine.state.offsets
        if not self.put_topics(&c, store.of_group(group), version):
            return 0
        # The flag stands behind the topics. Where nothing of the group is in an open transaction it changes nothing;
        # else some partitions would be UNSTABLE_OFFSET_COMMIT.
        if version >= REQUIRE_STABLE and read_i8(&c) and store.has_open(group):
            return 0
        if compact:
            skip_tags(&c)
        if c.bad or c.p != c.end:
            return 0
        self.taken += 1
        self.end(version)
        connection.send(out.start(), out.size)
        return 1

    cdef int begin(self, int32_t correlation, int version, str group) except -1:
        """What stands before the topics: from GROUPS on, an array of one group."""
        cdef Writer out = self.out
        out.size = 0
        out.begin_answer(correlation, version >= FLEXIBLE)
        if version >= THROTTLE_TIME:
            out.put_throttle()
        if version >= GROUPS:
            out.put_length(1, True, 4)
            out.put_text(group, True)
        return 0

    cdef int end(self, int version) except -1:
        """What stands behind the topics: the group's error, and from GROUPS on the end of the group."""
        cdef Writer out = self.out
        if version >= GROUP_ERROR:
            out.put_16(0)
        if version >= GROUPS:
            out.put_varint(0)
        return out.end_answer(0, version >= FLEXIBLE)

    cdef int put_topics(self, Cursor* c, dict offsets, int version) except -1:
        """Answer for every partition that is asked for; 0 when the request is of another kind.

        Names and numbers come back as they were asked for, whether such a topic exists or not: the coordinator knows
        offsets, not topics. A null array asks for everything that the group has: that is of another kind.
        """
        cdef bint compact = version >= FLEXIBLE
        cdef Py_ssize_t count, topics = read_length(c, compact, 4)
        cdef str name
        if topics < 0 or topics > c.end - c.p:
            return 0
        self.out.put_length(topics, compact, 4)
        for _ in range(topics):
            name = read_text(c, compact, False)
            count = read_length(c, compact, 4)
            if c.bad or count < 0 or count > c.end - c.p:
                return 0
            self.out.put_text(name, compact)
            self.out.put_length(count, compact, 4)
            for _ in range(count):
                self.put_partition(offsets, name, read_i32(c), version)
            if compact:
                skip_tags(c)
                self.out.put_varint(0)
        if version >= GROUPS:
            skip_tags(c)
        return not c.bad

    cdef int put_partition(self, dict offsets, str name, int32_t index, int version) except -1:
        """A partition without a committed offset is no error: -1, and no words."""
        cdef Writer out = self.out
        cdef Committed entry = <Committed>offsets.get((name, index)) if offsets else None
        out.put_32(index)
        out.put_64(-1 if entry is None else entry.offset)
        if version >= LEADER_EPOCHS:
            out.put_32(-1 if entry is None else entry.leader_epoch)
        out.put_text("" if entry is None else entry.metadata, version >= FLEXIBLE)
        out.put_16(0)
        if version >= FLEXIBLE:
            out.put_varint(0)
        return 0
