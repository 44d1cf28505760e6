"""The sink of all frames, and the hot path of Produce.

Most requests that a busy broker sees are alike: Produce, one uncompressed magic 2 batch per partition, partitions that
this broker leads, nothing unusual asked for; in a transaction, one that has written to the partition before. They are parsed here without making a Python object per request. Those
of all connections that were readable in one turn of the event loop are gathered by partition, checked, and appended with one
call per partition; then all answers are encoded into one buffer, and each connection gets its own in one send.

    frame      one request: hot ones are noted, others go on (after the noted ones were dealt with), to the `Taker` of
               their API, if there is one and it takes them, or to the dispatcher
    flush      at the end of the loop's turn, or when the receive memory is wanted: check, append, answer

A `Lane` says what is needed to know whether a partition's batches may take this path. Lanes are dropped whenever a partition
or a topic's config changes (`forget_lanes`) and made again when asked for.

What differs (compression, a transaction's first write, old formats, acks that must wait, any error of the request as a whole)
is left to `handlers/records/produce.py`, and so is a batch that does not pass the checks: `Partition.append_client` is the one place that decides
what is wrong with it.
"""

import logging

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport INT64_MAX, INT64_MIN
from libc.string cimport memcmp, memcpy

from tidelog.broker.requests._reader cimport (
    Cursor, load_i16, load_i32, load_i64, read_i16, read_i32, read_length, skip, skip_tags,
)
from tidelog.broker.requests._writer cimport Writer
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.net._connection cimport FrameSink, ServerConnection
from tidelog.records.kernel._batches cimport BatchRun

logger = logging.getLogger("tidelog.requests")

cdef enum:
    PRODUCE = 0
    APIS = 128                  # more than there are
    FIRST_VERSION = 3           # before it, batches are of magic 0 or 1
    LAST_VERSION = 13
    FLEXIBLE = 9
    TOPIC_IDS = 13
    HEADER = 61
    TRANSACTIONAL = 0x10        # in the attributes of a batch


cdef class Taker:
    """Serves the common requests of one API from the bytes of their frames. `taken` counts them."""

    cdef int take(self, ServerConnection connection, uint8_t* frame, Py_ssize_t size) except -1:
        """Serve a request, now or later (`connection.begin`); 0 when it must go the long way."""
        return 0


cdef class Lane:
    """What the hot path must know of a partition. `open` is False when its batches must go the long way."""

    def __init__(self, partition, *, bint open, bint acks_all, bint needs_keys, max_batch, before_max, after_max):
        self.partition = partition
        self.open = open
        self.acks_all = acks_all
        self.needs_keys = needs_keys
        self.max_batch = min(max_batch, 0x7FFFFFFF)
        self.before_max = before_max
        self.after_max = after_max
        self.append = partition.append_checked
        self.group = -1


cdef void* roomy(void* array, Py_ssize_t* room, Py_ssize_t count, Py_ssize_t item) except NULL:
    """The array with room for one more item."""
    cdef void* grown
    if array != NULL and count < room[0]:
        return array
    room[0] = 2 * count + 16
    grown = PyMem_Realloc(array, room[0] * item)
    if grown == NULL:
        raise MemoryError
    return grown


cdef class RequestSink(FrameSink):
    """`dispatcher` takes what is not hot: `on_request(connection, frame: bytearray)`, and `lanes(topic | topic_id)`."""

    def __init__(self, dispatcher, loop, clock, *, bint hot=True):
        self.dispatcher = dispatcher
        self.loop = loop
        self.clock = clock
        self.hot = hot
        self.takers = [None] * APIS
        self.by_name = {}
        self.by_id = {}
        self.asked = []
        self.connections = []
        self.lanes = []
        self.runs = []
        self.errors = {}
        self.out = Writer(b"")

    def __dealloc__(self):
        PyMem_Free(self.requests)
        PyMem_Free(self.topics)
        PyMem_Free(self.parts)
        PyMem_Free(self.groups)

    def forget_lanes(self):
        """A partition or a topic's config changed: ask again."""
        self.by_name.clear()
        self.by_id.clear()
        self.last_lanes = None

    def set_taker(self, int key, Taker taker not None):
        """Requests of this API are offered to `taker` first."""
        if not 0 <= key < APIS:
            raise ValueError(f"{key} is the key of no API")
        self.takers[key] = taker

    def taken(self):
        """How many requests did not go the long way, by API key."""
        cdef dict counts = {PRODUCE: self.hot_requests}
        for key, taker in enumerate(self.takers):
            if taker is not None:
                counts[key] = (<Taker>taker).taken
        return counts

    def on_lost(self, connection):
        self.dispatcher.on_lost(connection)

    # -- frames in ------------------------------------------------------------------------------------------------------

    cdef int frame(self, ServerConnection connection, bytearray owner, unsigned char* base,
                   Py_ssize_t position, Py_ssize_t size) except -1:
        cdef int16_t version, key
        cdef Taker taker
        if size < 8:
            raise ProtocolError(f"a request of {size} bytes has no room for its header")
        key = load_i16(base + position)
        if key == PRODUCE and self.hot:
            version = load_i16(base + position + 2)
            if FIRST_VERSION <= version <= LAST_VERSION and self.take(connection, owner, base, position, size):
                return 0
        if self.pending:
            self.flush()
            if connection.closing:
                return 0
        if self.hot and 0 <= key < APIS:
            taker = <Taker>self.takers[key]
            if taker is not None and taker.take(connection, base + position, size):
                return 0
        self.dispatcher.on_request(connection, PyByteArray_From(base + position, size))
        return 0

    cdef int take(self, ServerConnection connection, bytearray owner, uint8_t* base, Py_ssize_t position,
                  Py_ssize_t size) except -1:
        """Note a Produce request for the next flush; 0 when it must go the long way."""
        cdef Request request
        cdef list lanes = self.asked
        cdef Py_ssize_t topics = self.topic_count, parts = self.part_count
        lanes.clear()
        request.version = load_i16(base + position + 2)
        request.correlation = load_i32(base + position + 4)
        if not self.parse(base, position, size, &request, lanes):
            self.topic_count = topics
            self.part_count = parts
            return 0
        self.owner = owner
        self.commit(base, &request, lanes)
        self.requests = <Request*>roomy(self.requests, &self.request_room, self.pending, sizeof(Request))
        self.requests[self.pending] = request
        self.connections.append(connection)
        self.pending += 1
        self.hot_requests += 1
        if not self.scheduled:
            self.scheduled = True
            self.loop.call_soon(self._on_turn)
        return 1

    def _on_turn(self):
        self.scheduled = False
        self.flush()

    cdef int parse(self, uint8_t* base, Py_ssize_t position, Py_ssize_t size, Request* request, list lanes) except -1:
        """Read the request and see whether all of it is hot. Fills topics and parts; touches nothing else."""
        cdef Cursor c
        cdef bint compact = request.version >= FLEXIBLE
        cdef Py_ssize_t length, topics, parts
        cdef list found
        cdef Topic topic
        cdef Part part
        cdef Lane lane
        cdef uint8_t* batch
        self.parsed += 1
        c.p = base + position + 8
        c.end = base + position + size
        c.bad = False
        length = read_length(&c, False, 2)
        if length > 0:
            skip(&c, length)
        if compact:
            skip_tags(&c)
        length = read_length(&c, compact, 2)
        request.transactional = length >= 0
        if length > 0:
            skip(&c, length)
        request.acks = read_i16(&c)
        read_i32(&c)
        topics = read_length(&c, compact, 4)
        if c.bad or topics < 1 or topics > size or request.acks < -1 or request.acks > 1:
            return 0
        request.first_topic = <int32_t>self.topic_count
        request.topics = <int32_t>topics
        request.first_part = <int32_t>self.part_count
        for _ in range(topics):
            length = 16 if request.version >= TOPIC_IDS else read_length(&c, compact, 2)
            topic.name = skip(&c, length)
            topic.name_size = <int32_t>length
            parts = read_length(&c, compact, 4)
            if c.bad or parts < 1 or parts > size:
                return 0
            topic.parts = <int32_t>parts
            found = self.lanes_of(topic.name, length, request.version >= TOPIC_IDS)
            if found is None:
                return 0
            self.topics = <Topic*>roomy(self.topics, &self.topic_room, self.topic_count, sizeof(Topic))
            self.topics[self.topic_count] = topic
            self.topic_count += 1
            for _ in range(parts):
                part.index = read_i32(&c)
                length = read_length(&c, compact, 4)
                batch = skip(&c, length)
                if compact:
                    skip_tags(&c)
                if c.bad or part.index < 0 or part.index >= len(found):
                    return 0
                lane = <Lane>found[part.index]
                if lane is None or lane.named_by == self.parsed or not self.admit(lane, request, batch, length):
                    return 0
                lane.named_by = self.parsed  # a partition that is named twice goes the long way
                lanes.append(lane)
                # until `commit`, base_offset and log_start hold where the batch lies
                part.base_offset = batch - base
                part.log_start = length
                self.parts = <Part*>roomy(self.parts, &self.part_room, self.part_count, sizeof(Part))
                self.parts[self.part_count] = part
                self.part_count += 1
            if compact:
                skip_tags(&c)
        if compact:
            skip_tags(&c)
        request.parts = <int32_t>(self.part_count - request.first_part)
        return 0 if c.bad or c.p != c.end else 1

    cdef int admit(self, Lane lane, Request* request, const uint8_t* batch, Py_ssize_t size) except -1:
        """Whether one partition's bytes are one plain batch that this lane takes."""
        if not (lane.open and (request.acks != -1 or lane.acks_all)
                and size >= HEADER and size <= lane.max_batch
                and load_i64(batch) == 0 and load_i32(batch + 8) == size - 12 and batch[16] == 2):
            return 0
        # no codec, own timestamps, no control
        if load_i16(batch + 21) & 0xFF != (TRANSACTIONAL if request.transactional else 0):
            return 0
        # the first write of a transaction has to be verified
        return (not request.transactional
                or lane.partition.log.in_transaction(load_i64(batch + 43), load_i16(batch + 51)))

    cdef list lanes_of(self, const uint8_t* name, Py_ssize_t size, bint by_id):
        """The lanes of a topic; the topic asked for last is found without a look-up."""
        cdef bytes key
        cdef dict known
        if (self.last_lanes is not None and self.last_by_id == by_id and len(self.last_key) == size
                and memcmp(<const char*>self.last_key, name, size) == 0):
            return self.last_lanes
        key = PyBytes_FromStringAndSize(<const char*>name, size)
        known = self.by_id if by_id else self.by_name
        lanes = known.get(key)
        if lanes is None:
            lanes = self.dispatcher.lanes(key, by_id)
            if lanes is None:
                return None
            known[key] = lanes
        self.last_key, self.last_by_id, self.last_lanes = key, by_id, lanes
        return lanes

    cdef int commit(self, uint8_t* base, Request* request, list lanes) except -1:
        """Put the batches of a request into the runs of their partitions. An idempotent batch gets a run of its own."""
        cdef Py_ssize_t index
        cdef Lane lane
        cdef Part* part
        cdef BatchRun run
        cdef Group* group
        cdef bint alone
        for index in range(request.parts):
            lane = <Lane>lanes[index]
            part = &self.parts[request.first_part + index]
            alone = load_i64(base + part.base_offset + 43) >= 0
            if lane.group < 0 or alone:
                run = BatchRun(self.owner)
                lane.group = len(self.runs)
                self.groups = <Group*>roomy(self.groups, &self.group_room, lane.group, sizeof(Group))
                self.groups[lane.group].first = self.groups[lane.group].last = -1
                self.lanes.append(lane)
                self.runs.append(run)
            else:
                run = <BatchRun>self.runs[lane.group]
            run.append_c(part.base_offset, part.log_start)
            part.group = <int32_t>lane.group
            part.batch = <int32_t>(run.count - 1)
            part.error = 0
            part.next = -1
            group = &self.groups[lane.group]
            if group.last < 0:
                group.first = request.first_part + <int32_t>index
            else:
                self.parts[group.last].next = request.first_part + <int32_t>index
            group.last = request.first_part + <int32_t>index
            if alone:
                lane.group = -1
        return 0

    # -- the flush ------------------------------------------------------------------------------------------------------

    cdef int flush(self) except -1:
        cdef list lanes
        if not self.pending or self.flushing:
            return 0
        self.flushing = True
        try:
            self.append_groups()
            self.answer_all()
        finally:
            lanes = self.lanes
            self.pending = self.topic_count = self.part_count = 0
            self.owner = None
            self.connections = []
            self.lanes = []
            self.runs = []
            if self.errors:
                self.errors = {}
            self.flushing = False
        cdef bint waits = self.dispatcher.anyone_waits()
        for lane in lanes:  # only now: whoever wakes up may bring frames of its own
            if waits or (<Lane>lane).partition.watchers:
                self.dispatcher.on_moved((<Lane>lane).partition)
        return 0

    cdef int append_groups(self) except -1:
        cdef Py_ssize_t group
        cdef int64_t now_ms = self.clock.time_ms()
        for group in range(len(self.lanes)):
            (<Lane>self.lanes[group]).group = -1
        self.groups_made += len(self.lanes)
        for group in range(len(self.lanes)):
            self.append_group(group, now_ms)
        return 0

    cdef int append_group(self, Py_ssize_t group, int64_t now_ms) except -1:
        """Check and append all batches of one partition: together, or one by one when something is wrong with one."""
        cdef Lane lane = <Lane>self.lanes[group]
        cdef BatchRun run = <BatchRun>self.runs[group]
        try:
            run.check_c(0, run.count, True, True, True)
        except KafkaError:
            return self.append_singly(group)
        cdef int64_t earliest = now_ms - lane.before_max if lane.before_max <= now_ms else INT64_MIN
        cdef int64_t latest = now_ms + lane.after_max if lane.after_max <= INT64_MAX - now_ms else INT64_MAX
        if run.screen_c(0, run.count, -1, lane.needs_keys, earliest, latest) >= 0:
            return self.append_singly(group)
        try:
            info = lane.append(run)
        except Exception as error:
            return self.fail(group, -1, foreseen(error))
        return self.settle(group, -1, info, info.first_offset)

    cdef int append_singly(self, Py_ssize_t group) except -1:
        cdef Lane lane = <Lane>self.lanes[group]
        cdef BatchRun run = <BatchRun>self.runs[group]
        cdef Py_ssize_t index
        for index in range(run.count):
            try:
                info = lane.partition.append_client(bytearray(run.view(index)))
            except Exception as error:
                self.fail(group, <int32_t>index, foreseen(error))
            else:
                self.settle(group, <int32_t>index, info, info.first_offset)
        return 0

    cdef int settle(self, Py_ssize_t group, int32_t batch, object info, int64_t offset) except -1:
        """Note where the batches of a group (or one of them) went."""
        cdef BatchRun run = <BatchRun>self.runs[group]
        cdef int64_t append_time = info.log_append_time
        cdef int64_t log_start = info.log_start_offset
        cdef int32_t index = self.groups[group].first
        cdef Part* part
        while index >= 0:
            part = &self.parts[index]
            if batch < 0 or part.batch == batch:
                part.base_offset = offset
                part.append_time = append_time
                part.log_start = log_start
                offset += <int64_t>run.batches[part.batch].last_offset_delta + 1
            index = part.next
        return 0

    cdef int fail(self, Py_ssize_t group, int32_t batch, object error) except -1:
        cdef int32_t index = self.groups[group].first
        cdef Part* part
        cdef int64_t log_start = (<Lane>self.lanes[group]).partition.log_start_for_error(error.code)
        while index >= 0:
            part = &self.parts[index]
            if batch < 0 or part.batch == batch:
                part.error = error.code
                part.base_offset = part.append_time = -1
                part.log_start = log_start
                self.errors[index] = error
            index = part.next
        return 0

    # -- answers --------------------------------------------------------------------------------------------------------

    cdef int answer_all(self) except -1:
        """Encode the answers in the order of the requests; neighbours of one connection leave together."""
        cdef Py_ssize_t index, count = self.pending
        cdef ServerConnection connection, current = None
        cdef Request* request
        self.out.size = 0
        for index in range(count):
            connection = <ServerConnection>self.connections[index]
            request = &self.requests[index]
            if connection is not current:
                if self.out.size:
                    current.send(self.out.start(), self.out.size)
                    self.out.size = 0
                current = connection
            if request.acks:
                self.encode(request)
            elif self.errors:
                self.close_on_error(connection, request.first_part, request.parts)
        if self.out.size:
            current.send(self.out.start(), self.out.size)
        return 0

    def close_on_error(self, connection, Py_ssize_t first, Py_ssize_t count):
        """Who asked for no answer learns of an error by losing the connection."""
        for index in range(first, first + count):
            if index in self.errors:
                connection.close(f"a produce request with acks=0 failed: {self.errors[index]}")
                return

    cdef int encode(self, Request* request) except -1:
        cdef Writer out = self.out
        cdef Py_ssize_t start = out.size
        cdef Py_ssize_t topic_at, at = request.first_part, index
        cdef bint compact = request.version >= FLEXIBLE
        cdef Topic* topic
        out.put_32(0)
        out.put_32(request.correlation)
        if compact:
            out.put_varint(0)
        out.put_length(request.topics, compact, 4)
        for topic_at in range(request.first_topic, request.first_topic + request.topics):
            topic = &self.topics[topic_at]
            if request.version < TOPIC_IDS:
                out.put_length(topic.name_size, compact, 2)
            out.put_raw(topic.name, topic.name_size)
            out.put_length(topic.parts, compact, 4)
            for index in range(topic.parts):
                self.encode_part(request, at)
                at += 1
            if compact:
                out.put_varint(0)
        out.put_32(0)  # throttle time
        if compact:
            out.put_varint(0)
        out.patch_32(start, <int32_t>(out.size - start - 4))
        return 0

    cdef int encode_part(self, Request* request, Py_ssize_t at) except -1:
        cdef Writer out = self.out
        cdef Part* part = &self.parts[at]
        cdef bint compact = request.version >= FLEXIBLE
        out.put_32(part.index)
        out.put_16(part.error)
        out.put_64(part.base_offset)
        out.put_64(part.append_time)
        if request.version >= 5:
            out.put_64(part.log_start)
        if request.version >= 8:
            error = self.errors.get(at) if part.error else None
            record_errors = getattr(error, "record_errors", ())
            out.put_length(len(record_errors), compact, 4)
            for batch_index, text in record_errors:
                out.put_32(batch_index)
                out.put_text(text, compact)
                if compact:
                    out.put_varint(0)
            out.put_text(error.message if record_errors else None, compact)
        if compact:
            out.put_varint(0)
        return 0


cdef object foreseen(error):
    """The error to answer with; one that nobody foresaw is logged."""
    if isinstance(error, KafkaError):
        return error
    logger.error("an append failed", exc_info=error)
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


cdef bytearray PyByteArray_From(const uint8_t* data, Py_ssize_t size):
    """The long way may take time: it gets a copy of its own, writable so that batches can be stamped in place."""
    cdef bytearray copy = bytearray(size)
    memcpy(<char*>copy, data, size)
    return copy
