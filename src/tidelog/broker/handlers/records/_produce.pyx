"""Produce requests of the common kind, gathered over all connections and appended together.

Most requests that a busy broker sees are alike: one uncompressed batch of magic 2 per partition, partitions that this
broker leads, nothing unusual asked for; in a transaction, one that has written to the partition before. They are read
here without making a Python object per request. Those that were readable in one turn of the event loop are gathered by
partition, checked, and appended with one call per partition; then all answers are encoded into one buffer, and each
connection gets its own in one send.

    take     read the frame; if all of it is of the common kind, note it: request, topics and parts in C arrays, each
             batch in the run of its partition. Batches are not copied: a run points into the receive memory
    flush    check the runs, append them, write the answers in the order in which the requests came

A `Lane` says what has to be known of a partition to tell whether its batches may take this path (`lanes.py`).

What differs (compression, a transaction's first write, old formats, acks that must wait, any error of the request as a
whole) is left to `produce.py`, and so is a batch that does not pass the checks: `Partition.append_client`, which that
uses as well, is the one place that decides what is wrong with it.
"""

from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport INT64_MAX, INT64_MIN, int16_t, int32_t, int64_t, uint8_t

from tidelog.broker.handlers.records._lane cimport Lane, LaneTable
from tidelog.broker.handlers.records._produce_answer cimport Part, Request, Topic, put_answer
from tidelog.broker.requests._reader cimport (
    Cursor, api_version, correlation_id, load_i16, load_i32, load_i64, open_request, read_i16, read_i32, read_length,
    skip, skip_tags,
)
from tidelog.broker.requests._session cimport Session, View
from tidelog.broker.requests._taker cimport Taker
from tidelog.broker.requests._writer cimport Writer
from tidelog.net._connection cimport ServerConnection
from tidelog.records.kernel._batches cimport BatchRun
from tidelog.records.kernel._layout cimport (
    ATTRIBUTES_OFFSET, BASE_OFFSET_OFFSET, LENGTH_OFFSET, LOG_OVERHEAD, MAGIC_OFFSET, PRODUCER_EPOCH_OFFSET,
    PRODUCER_ID_OFFSET, RECORD_BATCH_OVERHEAD, TRANSACTIONAL_BIT,
)

from tidelog.broker.handlers.records.refusals import close_unanswered, foreseen
from tidelog.broker.handlers.records.versions import Produce
from tidelog.common.errors import KafkaError

cdef int FIRST_VERSION = Produce.TRANSACTIONS
cdef int LAST_VERSION = Produce.LAST
cdef int FLEXIBLE = Produce.FLEXIBLE
cdef int TOPIC_IDS = Produce.TOPIC_IDS

cdef enum:
    VIEWS = 64                  # so many tables of lanes are kept at most


# The requests that were noted, and the runs that their batches were put into, are two views of the same parts: a
# request's parts lie side by side in the array, in the order of its answer; a run's parts are linked, in the order of
# the log.

cdef struct Chain:
    int32_t first               # the parts whose batches are in one run: linked by `Part.next`
    int32_t last


cdef class ProduceTaker(Taker):
    """`make_lanes(topic | topic id, by_id)` says how partitions may be treated; `on_moved(partition)` tells of new
    records.

    The arrays are used again for every flush and only ever grow: nothing is allocated for a request that finds room.
    """

    cdef object on_moved
    cdef object purgatories
    cdef object clock
    cdef object make_lanes
    cdef dict tables            # LaneTable, by view
    cdef View view              # of the request looked at last, and its table
    cdef LaneTable table
    cdef readonly Py_ssize_t runs_made
    cdef int64_t parsed         # requests looked at: tells apart which of them has named a lane
    cdef bint flushing

    # What was noted since the last flush. There are `pending` requests; each array knows for how many items it has
    # room.
    cdef Request* requests
    cdef Py_ssize_t request_room
    cdef Topic* topics
    cdef Py_ssize_t topic_count
    cdef Py_ssize_t topic_room
    cdef Part* parts
    cdef Py_ssize_t part_count
    cdef Py_ssize_t part_room
    cdef Chain* chains          # one for each run
    cdef Py_ssize_t chain_room
    # The same in Python objects: those must be counted references, which C arrays do not hold.
    cdef list asked             # the lanes of the request that is being read
    cdef list connections       # of the noted requests
    cdef list lanes             # of the runs
    cdef list runs
    cdef dict errors            # what an append raised, by the part's place
    cdef bytearray owner        # the receive memory that all runs lie in
    cdef Writer out

    def __init__(self, make_lanes, on_moved, purgatories, clock):
        self.make_lanes = make_lanes
        self.tables = {}
        self.on_moved = on_moved
        self.purgatories = purgatories
        self.clock = clock
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
        PyMem_Free(self.chains)

    def forget_lanes(self):
        """A partition's role or a topic's config changed: whatever was derived from them is asked for anew."""
        self.tables.clear()
        self.view = self.table = None

    cdef int look_as(self, View view) except -1:
        """Go on with the lanes of this view. All sessions have the same one as long as there is no authorizer."""
        self.table = self.tables.get(view)
        if self.table is None:
            if len(self.tables) >= VIEWS:
                self.tables.clear()  # most are of views that nobody has any more
            self.table = self.tables[view] = LaneTable(self.make_lanes)
        self.view = view
        return 0

    # -- reading ------------------------------------------------------------------------------------------------------

    cdef int take(self, ServerConnection connection, bytearray owner, uint8_t* base, Py_ssize_t position,
                  Py_ssize_t size) except -1:
        """Note a request for the next flush.

        While a flush is under way nothing is noted: a disk that fails wakes those who wait for its partitions, and they
        may have frames of their own.
        """
        cdef Request request
        cdef View view
        cdef Py_ssize_t topics = self.topic_count, parts = self.part_count
        request.version = api_version(base + position)
        if request.version < FIRST_VERSION or request.version > LAST_VERSION or self.flushing:
            return 0
        view = (<Session?>connection.session).view
        if view is not self.view:
            self.look_as(view)
        request.correlation = correlation_id(base + position)
        self.asked.clear()
        if not self.parse(base, position, size, &request):
            self.topic_count = topics
            self.part_count = parts
            return 0
        self.owner = owner
        self.commit(base, &request)
        self.requests = <Request*>roomy(self.requests, &self.request_room, self.pending, sizeof(Request))
        self.requests[self.pending] = request
        self.connections.append(connection)
        self.pending += 1
        self.taken += 1
        return 1

    cdef int parse(self, uint8_t* base, Py_ssize_t position, Py_ssize_t size, Request* request) except -1:
        """Read the request and see whether all of it is of the common kind. Fills topics, parts and the lanes asked
        for.

        A request succeeds or fails partition by partition, but it takes one way only: a single partition of another
        kind sends all of it the long way. Whether it makes sense to its last byte is known at the end; until then
        nothing is changed that `take` could not undo by setting two counts back.
        """
        cdef Cursor c
        cdef bint compact = request.version >= FLEXIBLE
        cdef Py_ssize_t length, topics
        self.parsed += 1
        open_request(&c, base + position, size, compact)
        length = read_length(&c, compact, 2)
        request.transactional = length >= 0
        if length > 0:
            skip(&c, length)
        request.acks = read_i16(&c)
        read_i32(&c)            # for how long to wait for replicas: nothing here does
        topics = read_length(&c, compact, 4)
        if c.bad or topics < 1 or topics > size or request.acks < -1 or request.acks > 1:
            return 0
        request.first_topic = <int32_t>self.topic_count
        request.topics = <int32_t>topics
        request.first_part = <int32_t>self.part_count
        for _ in range(topics):
            if not self.parse_topic(&c, base, request):
                return 0
        if compact:
            skip_tags(&c)
        request.parts = <int32_t>(self.part_count - request.first_part)
        return 0 if c.bad or c.p != c.end else 1

    cdef int parse_topic(self, Cursor* c, uint8_t* base, Request* request) except -1:
        """One topic with its partitions; 0 when one of them has no lane, or its batch is not what the lane takes.

        A partition that is named twice goes the long way. That is found by a number: every request has one of its own,
        and leaves it on the lanes that it names. To compare all with all would give a client the means to keep the loop
        busy.
        """
        cdef bint compact = request.version >= FLEXIBLE
        cdef bint by_id = request.version >= TOPIC_IDS
        cdef Py_ssize_t length = 16 if by_id else read_length(c, compact, 2)
        cdef Py_ssize_t parts
        cdef list found
        cdef Topic topic
        cdef Part part
        cdef Lane lane
        cdef uint8_t* batch
        topic.name = skip(c, length)
        topic.name_size = <int32_t>length
        parts = read_length(c, compact, 4)
        if c.bad or parts < 1 or parts > c.end - c.p:
            return 0
        topic.parts = <int32_t>parts
        found = self.table.find(topic.name, length, by_id)
        if found is None:
            return 0
        self.topics = <Topic*>roomy(self.topics, &self.topic_room, self.topic_count, sizeof(Topic))
        self.topics[self.topic_count] = topic
        self.topic_count += 1
        for _ in range(parts):
            part.index = read_i32(c)
            length = read_length(c, compact, 4)
            batch = skip(c, length)
            if compact:
                skip_tags(c)
            if c.bad or part.index < 0 or part.index >= len(found):
                return 0
            lane = <Lane>found[part.index]
            if lane is None or lane.named_by == self.parsed or not admits(lane, request, batch, length):
                return 0
            lane.named_by = self.parsed
            self.asked.append(lane)
            # until `commit`, base_offset and log_start hold where the batch lies
            part.base_offset = batch - base
            part.log_start = length
            self.parts = <Part*>roomy(self.parts, &self.part_room, self.part_count, sizeof(Part))
            self.parts[self.part_count] = part
            self.part_count += 1
        if compact:
            skip_tags(c)
        return 1

    cdef int commit(self, uint8_t* base, Request* request) except -1:
        """Put the batches of a request into the runs of their partitions.

        A batch of an idempotent producer gets a run of its own, and so does what follows it: the log compares its
        sequence with those before, and one that it refuses must not take the batches of other producers with it.
        """
        cdef Py_ssize_t index
        cdef int32_t at
        cdef Lane lane
        cdef Part* part
        cdef BatchRun run
        cdef Chain* chain
        cdef bint alone
        for index in range(request.parts):
            lane = <Lane>self.asked[index]
            at = request.first_part + <int32_t>index
            part = &self.parts[at]
            alone = load_i64(base + part.base_offset + PRODUCER_ID_OFFSET) >= 0
            if lane.run < 0 or alone:
                run = BatchRun(self.owner)
                lane.run = len(self.runs)
                self.chains = <Chain*>roomy(self.chains, &self.chain_room, lane.run, sizeof(Chain))
                self.chains[lane.run].first = self.chains[lane.run].last = -1
                self.lanes.append(lane)
                self.runs.append(run)
            else:
                run = <BatchRun>self.runs[lane.run]
            run.append_c(part.base_offset, part.log_start)
            part.run = <int32_t>lane.run
            part.batch = <int32_t>(run.count - 1)
            part.error = 0
            part.next = -1
            chain = &self.chains[lane.run]
            if chain.last < 0:
                chain.first = at
            else:
                self.parts[chain.last].next = at
            chain.last = at
            if alone:
                lane.run = -1
        return 0

    # -- the flush ----------------------------------------------------------------------------------------------------

    cdef int flush(self) except -1:
        """Append all that was gathered, answer, and then wake those who wait for it.

        In that order: a producer's answer does not wait for consumers, and whoever is woken may bring frames of its
        own, which are noted for the next flush. By then this one must be over, and its arrays free. When nobody waits
        for anything, as on a broker that is only written to, no call is made.
        """
        cdef list lanes = self.lanes
        self.flushing = True
        try:
            self.append_runs()
            self.answer_all()
        finally:
            self.pending = self.topic_count = self.part_count = 0
            self.owner = None
            self.connections = []
            self.lanes = []
            self.runs = []
            if self.errors:
                self.errors = {}
            self.flushing = False
        if self.purgatories.anyone_waits:
            for lane in lanes:  # one per run: a partition with two runs is told of twice, which costs little
                self.on_moved((<Lane>lane).partition)
        return 0

    cdef int append_runs(self) except -1:
        """All runs, in the order in which their first batches came.

        They let go of their lanes first, so that what comes next begins runs of its own. The time is asked for once: it
        is compared with timestamps, for which a turn of the event loop is nothing.
        """
        cdef Py_ssize_t run
        cdef int64_t now_ms = self.clock.time_ms()
        for run in range(len(self.lanes)):
            (<Lane>self.lanes[run]).run = -1
        self.runs_made += len(self.lanes)
        for run in range(len(self.lanes)):
            self.append_run(run, now_ms)
        return 0

    cdef int append_run(self, Py_ssize_t at, int64_t now_ms) except -1:
        """Check and append all batches of one run: together, or one by one when something is wrong with one.

        The checks are Kafka's for an uncompressed batch: checksum, lengths and counts of all records, offset deltas;
        then keys (a compacted topic wants them) and timestamps (not too far from the clock). The rest is for the log to
        say: sequences of idempotent producers, their epochs and transactions. What it refuses, it refuses for the whole
        run, which is why such a batch is alone in its own.
        """
        cdef Lane lane = <Lane>self.lanes[at]
        cdef BatchRun run = <BatchRun>self.runs[at]
        try:
            run.check_c(0, run.count, True, True, True)
        except KafkaError:
            return self.append_singly(at)
        cdef int64_t earliest = now_ms - lane.before_max if lane.before_max <= now_ms else INT64_MIN
        cdef int64_t latest = now_ms + lane.after_max if lane.after_max <= INT64_MAX - now_ms else INT64_MAX
        if run.screen_c(0, run.count, -1, lane.needs_keys, earliest, latest) >= 0:
            return self.append_singly(at)
        try:
            info = lane.append(run)
        except Exception as error:
            return self.fail(at, -1, foreseen(error, lane.partition.tp))
        return self.settle(at, -1, info, info.first_offset)

    cdef int append_singly(self, Py_ssize_t at) except -1:
        """The plain form's way, batch by batch: it says what is wrong with the one, and takes the others."""
        cdef Lane lane = <Lane>self.lanes[at]
        cdef BatchRun run = <BatchRun>self.runs[at]
        cdef Py_ssize_t index
        for index in range(run.count):
            try:
                info = lane.partition.append_client(bytearray(run.view(index)))
            except Exception as error:
                self.fail(at, <int32_t>index, foreseen(error, lane.partition.tp))
            else:
                self.settle(at, <int32_t>index, info, info.first_offset)
        return 0

    cdef int settle(self, Py_ssize_t at, int32_t batch, object info, int64_t offset) except -1:
        """Note where the batches of a run (-1: all; or one of them) went: each begins where the one before ended.

        The log tells the offset of the first record of all; a batch takes as many as its last offset delta says, plus
        one.
        """
        cdef BatchRun run = <BatchRun>self.runs[at]
        cdef int64_t append_time = info.log_append_time
        cdef int64_t log_start = info.log_start_offset
        cdef int32_t index = self.chains[at].first
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

    cdef int fail(self, Py_ssize_t at, int32_t batch, object error) except -1:
        """Note that the batches of a run (-1: all; or one of them) were refused.

        The exception is kept for those versions whose answer says more than a code.
        """
        cdef int32_t index = self.chains[at].first
        cdef Part* part
        cdef int64_t log_start = (<Lane>self.lanes[at]).partition.log_start_for_error(error.code)
        while index >= 0:
            part = &self.parts[index]
            if batch < 0 or part.batch == batch:
                part.error = error.code
                part.base_offset = part.append_time = -1
                part.log_start = log_start
                self.errors[index] = error
            index = part.next
        return 0

    cdef int answer_all(self) except -1:
        """Encode the answers in the order of the requests; neighbours of one connection leave together.

        Frames of one read event come one behind the other, so the requests that a client has pipelined are neighbours:
        ten of them are one send. With acks=0 there is nothing to send.
        """
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
                put_answer(self.out, request, self.topics, self.parts, self.errors)
            elif self.errors:
                self.close_on_error(connection, request.first_part, request.parts)
        if self.out.size:
            current.send(self.out.start(), self.out.size)
        return 0

    def close_on_error(self, connection, Py_ssize_t first, Py_ssize_t count):
        """The first error of a request with acks=0, which has no answer that could tell of it."""
        for index in range(first, first + count):
            if index in self.errors:
                lane = <Lane>self.lanes[self.parts[index].run]
                close_unanswered(connection, lane.partition.tp, self.parts[index].error)
                return


cdef int admits(Lane lane, Request* request, const uint8_t* batch, Py_ssize_t size) except -1:
    """Whether one partition's bytes are one plain batch that this lane takes.

    No more is looked at than says which way it goes: whether the batch is sound is checked in `append_run`. The base
    offset is 0, as clients send it; anything else is for the plain form to judge.
    """
    if not (lane.open and (request.acks != -1 or lane.acks_all)
            and size >= RECORD_BATCH_OVERHEAD and size <= lane.max_batch
            and load_i64(batch + BASE_OFFSET_OFFSET) == 0 and load_i32(batch + LENGTH_OFFSET) == size - LOG_OVERHEAD
            and batch[MAGIC_OFFSET] == 2):
        return 0
    # no codec, own timestamps, no control
    if load_i16(batch + ATTRIBUTES_OFFSET) & 0xFF != (TRANSACTIONAL_BIT if request.transactional else 0):
        return 0
    # the first write of a transaction has to be verified with its coordinator (KIP-890)
    return not request.transactional or lane.partition.log.producers.in_transaction(
        load_i64(batch + PRODUCER_ID_OFFSET), load_i16(batch + PRODUCER_EPOCH_OFFSET))


cdef void* roomy(void* array, Py_ssize_t* room, Py_ssize_t count, Py_ssize_t item) except NULL:
    """The array with room for one more item. It grows to twice its size, so that a burst of requests moves it
    seldom."""
    cdef void* grown
    if array != NULL and count < room[0]:
        return array
    grown = PyMem_Realloc(array, (2 * count + 16) * item)
    if grown == NULL:
        raise MemoryError
    room[0] = 2 * count + 16
    return grown
