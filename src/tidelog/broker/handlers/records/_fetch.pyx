"""Fetch requests and answers in C: consumers ask for hundreds of partitions at a time, and ask all the time.

`FetchAsk.decode` reads a request of any version; `FetchAnswer.encode_parts` writes the answer of any version, with file
slices as parts of their own. Both say the same as the messages of `tidelog.protocol` (the tests hold them against each
other); the rest of the broker sees plain attributes.

There is no taker for Fetch: most fetches wait for bytes, and what they are answered with is a slice of a file that
leaves by sendfile. What costs is to read and write the lists of partitions. A consumer of 500 partitions that has no
session names all of them in every request, and its answer has as many.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from tidelog.broker.requests._reader cimport (
    Cursor, read_i8, read_i32, read_i64, read_length, read_unsigned, skip, skip_tags,
)
from tidelog.broker.requests._writer cimport Writer

from tidelog.broker.handlers.records.versions import Fetch
from tidelog.common.errors import ProtocolError
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID

# Copies of the numbers in `versions.py`, made when this module is imported: comparing with them costs what comparing
# with literals would, and they stand in one place for the plain handler and for both directions here.
#
# Fields of a version are read and written in the order of Kafka's schema, which is not that of the versions: a new
# field often stands in the middle.
cdef int THROTTLE_TIME = Fetch.THROTTLE_TIME
cdef int MAX_BYTES = Fetch.MAX_BYTES
cdef int ISOLATION = Fetch.ISOLATION
cdef int LOG_START_OFFSET = Fetch.LOG_START_OFFSET
cdef int SESSIONS = Fetch.SESSIONS
cdef int LEADER_EPOCHS = Fetch.LEADER_EPOCHS
cdef int RACKS = Fetch.RACKS
cdef int FLEXIBLE = Fetch.FLEXIBLE
cdef int LAST_FETCHED_EPOCHS = Fetch.LAST_FETCHED_EPOCHS
cdef int TOPIC_IDS = Fetch.TOPIC_IDS
cdef int REPLICA_STATE = Fetch.REPLICA_STATE
cdef int NODE_ENDPOINTS = Fetch.NODE_ENDPOINTS

cdef bytes NO_ID = ZERO_UUID

Key = tuple[bytes, str, int]


cdef class PartitionFetch:
    """What a request (or its session) asks of one partition. `error` is known before reading: no such topic.

    current_leader_epoch    the epoch that the client believes the leader to be in: any other is refused, so that nobody
                            reads from a leader that was deposed, or has not heard of its election (KIP-320); -1 asks
                            for no such check
    last_fetched_epoch      of followers: the epoch of the last record that they have; if the leader's log differs from
                            there on, the answer says how far to cut back (KIP-595)
    log_start_offset        of followers: where their log begins; -1 from consumers
    """

    def __init__(self, tp, bytes topic_id, int64_t fetch_offset, int32_t max_bytes, int32_t current_leader_epoch=-1,
                 int32_t last_fetched_epoch=-1, int64_t log_start_offset=-1, int error=0):
        self.tp = tp
        self.topic_id = topic_id
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        self.current_leader_epoch = current_leader_epoch
        self.last_fetched_epoch = last_fetched_epoch
        self.log_start_offset = log_start_offset
        self.error = error

    def __repr__(self):
        return f"PartitionFetch({self.tp}, offset={self.fetch_offset}, max_bytes={self.max_bytes})"


cdef class FetchedPartition:
    """The answer for one partition; as made, it is that of an error.

    `records` are bytes, or a slice of a segment file that is sent from where it lies. `aborted` are the transactions of
    that range that were aborted: clients that read committed records drop them by it. None, a null array, is for those
    who read everything. -1 stands for what is not told.
    """

    def __init__(self, int32_t index, int error_code=0, int64_t high_watermark=-1, int64_t last_stable_offset=-1,
                 int64_t log_start_offset=-1, records=b"", aborted=()):
        self.index = index
        self.error_code = error_code
        self.high_watermark = high_watermark
        self.last_stable_offset = last_stable_offset
        self.log_start_offset = log_start_offset
        self.records = records
        self.aborted = aborted
        self.diverging_epoch = -1
        self.diverging_end = -1
        self.leader_id = -1
        self.leader_epoch = -1
        self.preferred_read_replica = -1


cdef class FetchAsk:
    """A Fetch request. What its version does not have is as old clients mean it.

    Before version 3 only partitions had a limit; before 4 everything was read, committed or not; before 7 there were no
    sessions, which is what session id 0 with epoch -1 asks for in later ones.
    """

    @staticmethod
    def decode(buffer, int version, Py_ssize_t position=0):
        """Read the body of a request of this version; ProtocolError when it is none.

        Names and ids are copied: the frame need not outlive this call, while the request may wait for seconds.
        """
        cdef Py_buffer view
        cdef Cursor c
        cdef FetchAsk ask = FetchAsk.__new__(FetchAsk)
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
        try:
            c.p = <uint8_t*>view.buf + position
            c.end = <uint8_t*>view.buf + view.len
            c.bad = position > view.len
            ask.read(&c, version)
        finally:
            PyBuffer_Release(&view)
        return ask

    cdef int read(self, Cursor* c, int version) except -1:
        """All fields, in the order of the wire; those of other versions get the value that means the same.

        A follower asks with its broker id, a consumer with -1. (From version 15 on the id stands in a tag, which
        consumers leave out: see `read_tags`.)
        """
        cdef bint compact = version >= FLEXIBLE
        cdef Py_ssize_t length
        self.version = version
        self.uses_ids = version >= TOPIC_IDS
        self.replica_id = read_i32(c) if version < REPLICA_STATE else -1
        self.max_wait_ms = read_i32(c)
        self.min_bytes = read_i32(c)
        self.max_bytes = read_i32(c) if version >= MAX_BYTES else 0x7FFFFFFF
        self.isolation_level = read_i8(c) if version >= ISOLATION else 0
        self.session_id = read_i32(c) if version >= SESSIONS else 0
        self.session_epoch = read_i32(c) if version >= SESSIONS else -1
        self.topics = self.read_topics(c, compact)
        self.forgotten = self.read_forgotten(c, compact) if version >= SESSIONS else []
        # Where the client is, so that it could be sent to a replica nearby (KIP-392): this broker sends nobody away.
        if version >= RACKS:
            length = read_length(c, compact, 2)
            if length < 0:
                c.bad = True
            skip(c, length)
        if compact:
            self.read_tags(c)
        if c.bad:
            raise ProtocolError(f"FetchRequest v{version} is malformed or cut off")
        return 0

    cdef list read_topics(self, Cursor* c, bint compact):
        """Topics with their partitions. What is cut off ends the loop: `bad` is looked at once, by `read`."""
        cdef list topics = []
        cdef Py_ssize_t count = array_length(c, compact)
        for _ in range(count):
            name, topic_id = self.read_topic(c, compact)
            partitions = self.read_partitions(c, compact, topic_id)
            if compact:
                skip_tags(c)
            if c.bad:
                break
            topics.append((name, topic_id, partitions))
        return topics

    cdef tuple read_topic(self, Cursor* c, bint compact):
        """The (name, id) of a topic, of which each version has one. A name that is no UTF-8 is that of no topic."""
        cdef Py_ssize_t length
        cdef uint8_t* at
        if self.uses_ids:
            at = skip(c, 16)
            return None, NO_ID if at == NULL else PyBytes_FromStringAndSize(<char*>at, 16)
        length = read_length(c, compact, 2)
        at = skip(c, length)
        return ("" if at == NULL else PyUnicode_DecodeUTF8(<char*>at, length, "replace")), NO_ID

    cdef list read_partitions(self, Cursor* c, bint compact, bytes topic_id):
        """Partitions of one topic. Their names are put together with the topic's later, by `fetches`: by then an id has
        been resolved.
        """
        cdef list partitions = []
        cdef Py_ssize_t count = array_length(c, compact)
        cdef PartitionFetch fetch
        for _ in range(count):
            fetch = PartitionFetch.__new__(PartitionFetch)
            fetch.topic_id = topic_id
            fetch.index = read_i32(c)
            fetch.current_leader_epoch = read_i32(c) if self.version >= LEADER_EPOCHS else -1
            fetch.fetch_offset = read_i64(c)
            fetch.last_fetched_epoch = read_i32(c) if self.version >= LAST_FETCHED_EPOCHS else -1
            fetch.log_start_offset = read_i64(c) if self.version >= LOG_START_OFFSET else -1
            fetch.max_bytes = read_i32(c)
            if compact:
                skip_tags(c)
            if c.bad:
                break
            partitions.append(fetch)
        return partitions

    cdef list read_forgotten(self, Cursor* c, bint compact):
        """Partitions that the client no longer wants from its session; whatever else is in it stays (KIP-227)."""
        cdef list topics = []
        cdef Py_ssize_t count = array_length(c, compact), partitions
        for _ in range(count):
            name, topic_id = self.read_topic(c, compact)
            numbers = []
            partitions = array_length(c, compact)
            for _ in range(partitions):
                numbers.append(read_i32(c))
                if c.bad:
                    break
            if compact:
                skip_tags(c)
            if c.bad:
                break
            topics.append((name, topic_id, numbers))
        return topics

    cdef int read_tags(self, Cursor* c) except -1:
        """Tag 1, from version 15 on: the follower that asks, with its broker epoch. Others do not matter here.

        A tag says how long it is, so that one that nobody knows can be passed over; one that is known must end there.
        """
        cdef uint32_t count = read_unsigned(c), tag, size
        cdef uint8_t* end
        while count and not c.bad:
            tag = read_unsigned(c)
            size = read_unsigned(c)
            if c.bad or size > c.end - c.p:
                c.bad = True
                break
            end = c.p + size
            if tag == 1 and self.version >= REPLICA_STATE:
                self.replica_id = read_i32(c)
                read_i64(c)
                skip_tags(c)
                if c.p != end:
                    c.bad = True
            c.p = end
            count -= 1
        return 0

    def fetches(self, resolve):
        """The partitions by their key in a session; `resolve(topic_id)` names a topic or is None.

        A topic that has no name here is no error of the request: each of its partitions is answered UNKNOWN_TOPIC_ID.
        The key has the id where there is one, so that a topic that was deleted and made again is another one to the
        session.
        """
        cdef dict found = {}
        cdef PartitionFetch fetch
        for name, topic_id, partitions in self.topics:
            error = 0
            if self.uses_ids:
                name = resolve(topic_id)
                if name is None:
                    name, error = "", 100  # UNKNOWN_TOPIC_ID
            for item in partitions:
                fetch = <PartitionFetch>item
                fetch.tp = TopicPartition(name, fetch.index)
                fetch.error = error
                found[(topic_id, "", fetch.index) if self.uses_ids else (b"", name, fetch.index)] = fetch
        return found

    def forgotten_keys(self):
        """The keys of the partitions that the session shall forget, of the same form as those of `fetches`."""
        return [
            (topic_id, "", number) if self.uses_ids else (b"", name, number)
            for name, topic_id, numbers in self.forgotten
            for number in numbers
        ]


cdef inline Py_ssize_t array_length(Cursor* c, bint compact) noexcept nogil:
    """The length of an array that may not be null; no more than there can be.

    Each item takes a byte at least: a count beyond the bytes that are left is refused before anything is done for it.
    """
    cdef Py_ssize_t count = read_length(c, compact, 4)
    if count < 0 or count > c.end - c.p:
        c.bad = True
        return 0
    return count


cdef class FetchAnswer:
    """A Fetch response: topics as (name, id, [FetchedPartition])."""

    def __init__(self, int error_code=0, int32_t session_id=0):
        self.error_code = error_code
        self.session_id = session_id
        self.topics = []
        self.node_endpoints = []

    def release(self):
        """Give up the file slices of an answer that is not sent.

        A slice keeps its file open; without this, a client that hangs up while its answer is made would keep the files
        of deleted segments on the disk.
        """
        for _, _, partitions in self.topics:
            for item in partitions:
                records = (<FetchedPartition>item).records
                if not isinstance(records, (bytes, bytearray, memoryview)):
                    records.release()

    def encode_parts(self, int version, bytes head=b""):
        """The response behind `head`, as a list of bytes and file slices.

        A slice stands in the list where its bytes belong; the connection sends the parts one behind the other. `head`
        is what stands before the body of an answer.
        """
        cdef Writer out = Writer(head)
        cdef bint compact = version >= FLEXIBLE
        if version >= THROTTLE_TIME:
            out.put_throttle()
        if version >= SESSIONS:
            out.put_16(self.error_code)
            out.put_32(self.session_id)
        out.put_length(len(self.topics), compact, 4)
        for name, topic_id, partitions in self.topics:
            if version >= TOPIC_IDS:
                out.put_bytes(topic_id)
            else:
                out.put_text(name, compact)
            out.put_length(len(partitions), compact, 4)
            for item in partitions:
                put_partition(out, <FetchedPartition>item, version, compact)
            if compact:
                out.put_varint(0)
        if compact:
            self.put_endpoints(out, version)
        return out.finish()

    cdef int put_endpoints(self, Writer out, int version) except -1:
        """The answer's own tags: where to find the leaders that partitions name, so that the client need not ask for
        metadata first. A tag's size comes before it, so it is written aside.
        """
        cdef Writer inner
        if version < NODE_ENDPOINTS or not self.node_endpoints:
            out.put_varint(0)
            return 0
        inner = Writer(b"")
        inner.put_length(len(self.node_endpoints), True, 4)
        for node in self.node_endpoints:
            inner.put_32(node.node_id)
            inner.put_text(node.host, True)
            inner.put_32(node.port)
            inner.put_text(node.rack, True)
            inner.put_varint(0)
        body = bytes(inner.data[:inner.size])
        out.put_varint(1)
        out.put_varint(0)
        out.put_varint(<uint32_t>len(body))
        out.put_bytes(body)
        return 0


cdef int put_partition(Writer out, FetchedPartition part, int version, bint compact) except -1:
    """One partition. Tag 0 says where a follower's log diverges, tag 1 who leads instead. What is not told is left out.

    Each tag has a size of its own: 13 bytes are an epoch, an offset and an empty tag section, 9 are two numbers and
    one.
    """
    cdef Py_ssize_t size
    cdef bint diverges = part.diverging_epoch != -1 or part.diverging_end != -1
    cdef bint hints = part.leader_id != -1 or part.leader_epoch != -1
    out.put_32(part.index)
    out.put_16(part.error_code)
    out.put_64(part.high_watermark)
    if version >= ISOLATION:
        out.put_64(part.last_stable_offset)
        if version >= LOG_START_OFFSET:
            out.put_64(part.log_start_offset)
        if part.aborted is None:
            out.put_length(-1, compact, 4)
        else:
            out.put_length(len(part.aborted), compact, 4)
            for aborted in part.aborted:
                out.put_64(aborted.producer_id)
                out.put_64(aborted.first_offset)
                if compact:
                    out.put_varint(0)
    if version >= RACKS:
        out.put_32(part.preferred_read_replica)
    size = len(part.records)
    out.put_length(size, compact, 4)
    if size:
        out.splice(part.records)
    if compact:
        out.put_varint(diverges + hints)
        if diverges:
            out.put_varint(0)
            out.put_varint(13)
            out.put_32(part.diverging_epoch)
            out.put_64(part.diverging_end)
            out.put_varint(0)
        if hints:
            out.put_varint(1)
            out.put_varint(9)
            out.put_32(part.leader_id)
            out.put_32(part.leader_epoch)
            out.put_varint(0)
    return 0
