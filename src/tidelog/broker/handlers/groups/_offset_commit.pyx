"""OffsetCommit requests of the common kind, served from the bytes of their frames.

A consumer that commits after every poll sends the same few bytes again and again, and a broker may have thousands of
those. What such a request goes through is what every request of a coordinator goes through (check, records, append,
replay, answer after commit), but without a message, a coroutine or a future:

    take     read the frame; ask the machine whether this member may commit (`GroupMachine.check_commit`, as ever);
             write the records straight from the frame's bytes into the batch that the shard gathers; replay them
    Answers  once that batch is committed: the answers, made from the frames again, for all who waited for it

Whatever is unusual goes the long way (`offset_commit.py`), which also says what is wrong with it: a topic
that nobody knows, an explicit retention time, bytes that are no text, a group that refuses the commit, a shard that is
not here. Until everything is known to be well, nothing has been changed.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from tidelog.broker.coordinator._offset_record cimport MAX_TEXT, Text, offset_record, text_of
from tidelog.broker.coordinator.group.offsets._committed cimport Committed
from tidelog.broker.handlers.groups._group_taker cimport GroupTaker
from tidelog.broker.requests._reader cimport (
    Cursor, api_version, correlation_id, open_request, read_i32, read_i64, read_length, read_text, skip, skip_tags,
)
from tidelog.broker.requests._writer cimport Writer
from tidelog.net._connection cimport ServerConnection

from tidelog.broker.coordinator.group.offsets.commits import commit_error
from tidelog.broker.coordinator.shard import RECORD_OVERHEAD
from tidelog.broker.handlers.groups.versions import OffsetCommit
from tidelog.common.errors import KafkaError

cdef int FIRST_VERSION = OffsetCommit.RETENTION_TIME  # before it, a commit names its own time, or goes to the store
cdef int LAST_VERSION = OffsetCommit.LAST
cdef int LAST_WITH_RETENTION_TIME = OffsetCommit.LAST_WITH_RETENTION_TIME
cdef int THROTTLE_TIME = OffsetCommit.THROTTLE_TIME
cdef int LEADER_EPOCHS = OffsetCommit.LEADER_EPOCHS
cdef int INSTANCE_IDS = OffsetCommit.INSTANCE_IDS
cdef int FLEXIBLE = OffsetCommit.FLEXIBLE
cdef int TOPIC_IDS = OffsetCommit.TOPIC_IDS

# What a record takes in a batch beside its key and value, at most: the shard must know how full its batch is, without
# having encoded the record.
cdef Py_ssize_t OVERHEAD = RECORD_OVERHEAD


cdef class Ask:
    """One request while it waits for its answer.

    The receive memory is used again long before that, so what the answer is made of is copied: some 40 bytes for the
    commit of one partition.
    """

    cdef ServerConnection connection
    cdef bytes frame             # from the array of topics on: all that its answer is made of
    cdef int32_t correlation
    cdef int16_t version


cdef class Answers:
    """Those who wait for one append of one shard.

    A shard gathers the records of all requests of a turn in one append. They share one object here, and one entry in
    the shard's list of those to be told: a thousand commits of a turn cost one call when their append is committed.
    """

    cdef CommitTaker taker
    cdef object shard
    cdef object sequence
    cdef list asks

    def give(self, error):
        """The append is committed, or it failed: then for all alike, as the code that OffsetCommit has for it.

        Whose answer is sent may have its next commit ready, which begins the next append: so this one is taken out of
        `open` first, and a later one that stands there already is left alone.
        """
        cdef Ask ask
        cdef int code = 0 if error is None else commit_error(error.code)
        if self.taker.open.get(self.shard) is self:
            del self.taker.open[self.shard]
        for ask in self.asks:
            self.taker.answer(ask, code)


cdef class CommitTaker(GroupTaker):
    """`metadata` has the topics; `open` the answers that wait for the append that each shard gathers at present."""

    cdef object metadata
    cdef object clock
    cdef int32_t max_metadata
    cdef dict open

    # Of the request at hand: its group, the records with their size in a batch, and what replaying them is to put into
    # the store. They stay until the next request, and nobody looks at them in between.
    cdef str group
    cdef list records
    cdef list entries
    cdef Py_ssize_t size

    def __init__(self, runtime, metadata, clock, int32_t max_metadata):
        super().__init__(runtime)
        self.metadata = metadata
        self.clock = clock
        self.max_metadata = min(max_metadata, MAX_TEXT)
        self.open = {}

    cdef int take(self, ServerConnection connection, bytearray owner, uint8_t* base, Py_ssize_t position,
                  Py_ssize_t size) except -1:
        """Read, ask, write. Asking is a sign of life of the member, as in the plain form; only writing changes more."""
        cdef Cursor c
        cdef Ask ask
        cdef str member, instance = None
        cdef int32_t generation
        cdef uint8_t* topics
        cdef uint8_t* frame = base + position
        cdef int16_t version = api_version(frame)
        cdef bint compact = version >= FLEXIBLE
        if version < FIRST_VERSION or version > LAST_VERSION:
            return 0
        open_request(&c, frame, size, compact)
        self.group = read_text(&c, compact, False)
        generation = read_i32(&c)
        member = read_text(&c, compact, False)
        if version >= INSTANCE_IDS:
            instance = read_text(&c, compact, True)
        # -1: as long as `offsets.retention.minutes` says. Any other becomes an expiry in the record.
        if version <= LAST_WITH_RETENTION_TIME and read_i64(&c) != -1:
            return 0
        topics = c.p
        if c.bad or not self.read_topics(&c, version):
            return 0
        # `topics=None`: an epoch of a consumer group's member must be the current one. One that has passed is good
        # enough for partitions that the member has had since then (KIP-1251): to look at those is left to the plain
        # form.
        try:
            shard = self.runtime.shard_for(self.group)
            shard.machine.check_commit(self.group, member, instance, generation, None, version=version)
            sequence = shard.write_encoded(self.records, self.size, shard.machine.replay_commits, self.group,
                                           self.entries)
        except KafkaError:
            return 0
        ask = Ask.__new__(Ask)
        ask.connection = connection
        ask.version = version
        ask.correlation = correlation_id(frame)
        ask.frame = PyBytes_FromStringAndSize(<char*>topics, c.end - topics)
        connection.begin()
        self.taken += 1
        self.wait(shard, sequence, ask)
        return 1

    cdef int read_topics(self, Cursor* c, int version) except -1:
        """Make the records of the request; 0 when something about them is unusual.

        One topic that nobody knows sends the whole request the long way: there the others are committed, and this one
        gets UNKNOWN_TOPIC_OR_PARTITION or UNKNOWN_TOPIC_ID. All records have the same commit time, as in Kafka.
        """
        cdef bint compact = version >= FLEXIBLE
        cdef Py_ssize_t topics = read_length(c, compact, 4)
        cdef int64_t now = self.clock.time_ms()
        cdef Text group = text_of(self.group)
        cdef uint8_t* topic_id
        cdef str name
        self.records = []
        self.entries = []
        self.size = 0
        if group.size > MAX_TEXT or topics < 1 or topics > c.end - c.p:
            return 0
        for _ in range(topics):
            if version >= TOPIC_IDS:
                topic_id = skip(c, 16)
                name = None if c.bad else self.metadata.topic_name(PyBytes_FromStringAndSize(<char*>topic_id, 16))
            else:
                name = read_text(c, compact, False)
            if name is None or not self.read_partitions(c, group, name, version, now):
                return 0
            if compact:
                skip_tags(c)
        if compact:
            skip_tags(c)
        return not c.bad and c.p == c.end

    cdef int read_partitions(self, Cursor* c, Text group, str name, int version, int64_t now) except -1:
        """One topic: for each partition the record that goes into the log, and what replaying it puts into the store.

        Both are made from the same fields here: `Committed` is what loading the record from the log would give, and a
        test compares the two.
        """
        cdef bint compact = version >= FLEXIBLE
        cdef Py_ssize_t partitions = read_length(c, compact, 4)
        cdef int32_t index, epoch
        cdef int64_t offset
        cdef Text topic = text_of(name), metadata
        cdef Committed entry
        cdef str words
        cdef tuple record
        count = self.metadata.partition_count(name)
        if count is None or partitions < 1 or partitions > c.end - c.p:
            return 0
        for _ in range(partitions):
            index = read_i32(c)
            offset = read_i64(c)
            epoch = read_i32(c) if version >= LEADER_EPOCHS else -1
            words = read_text(c, compact, True) or ""
            metadata = text_of(words)
            if compact:
                skip_tags(c)
            # Words that are too long are OFFSET_METADATA_TOO_LARGE for this partition alone: the plain form's case.
            if c.bad or index < 0 or index >= <int32_t>count or metadata.size > self.max_metadata:
                return 0
            entry = Committed.__new__(Committed)
            entry.offset = offset
            entry.leader_epoch = epoch
            entry.metadata = words
            entry.commit_timestamp = now
            entry.expire_timestamp = -1
            record = offset_record(group, topic, index, offset, epoch, metadata, now)
            self.records.append(record)
            self.entries.append(((name, index), entry))
            self.size += PyBytes_GET_SIZE(<bytes>record[0]) + PyBytes_GET_SIZE(<bytes>record[1]) + OVERHEAD
        return 1

    # -- answers
    # --------------------------------------------------------------------------------------------------------

    cdef int wait(self, object shard, object sequence, Ask ask) except -1:
        """Join those who wait for the same append, or be the first of the next.

        `sequence` is the number of the append that the shard put the records into. It is the same for all requests of a
        turn of the event loop, unless a batch is full before the turn ends.
        """
        cdef Answers answers = self.open.get(shard)
        if answers is not None and answers.sequence == sequence:
            answers.asks.append(ask)
            return 0
        answers = Answers.__new__(Answers)
        answers.taker = self
        answers.shard = shard
        answers.sequence = sequence
        answers.asks = [ask]
        self.open[shard] = answers
        shard.park(answers.give)
        return 0

    cdef int answer(self, Ask ask, int code) except -1:
        """Send the answer: the topics and partitions of the request, with one error code for all.

        `finish` comes last: it lets the connection look at its next frame, which may well be the next commit.
        """
        cdef Writer out = self.out
        cdef bint compact = ask.version >= FLEXIBLE
        cdef Cursor c
        cdef Py_ssize_t topics, length
        c.p = <uint8_t*>PyBytes_AS_STRING(ask.frame)
        c.end = c.p + PyBytes_GET_SIZE(ask.frame)
        c.bad = False
        out.size = 0
        out.begin_answer(ask.correlation, compact)
        if ask.version >= THROTTLE_TIME:
            out.put_throttle()
        topics = read_length(&c, compact, 4)
        out.put_length(topics, compact, 4)
        for _ in range(topics):
            if ask.version >= TOPIC_IDS:
                length = 16
            else:
                length = read_length(&c, compact, 2)
                out.put_length(length, compact, 2)
            out.put_raw(skip(&c, length), length)
            self.answer_partitions(&c, ask.version, code)
            if compact:
                skip_tags(&c)
                out.put_varint(0)
        out.end_answer(0, compact)
        ask.connection.send(out.start(), out.size)
        ask.connection.finish()
        return 0

    cdef int answer_partitions(self, Cursor* c, int version, int code) except -1:
        """The numbers of the partitions; offset, leader epoch and metadata of each are passed over."""
        cdef bint compact = version >= FLEXIBLE
        cdef Py_ssize_t length, partitions = read_length(c, compact, 4)
        self.out.put_length(partitions, compact, 4)
        for _ in range(partitions):
            self.out.put_32(read_i32(c))
            self.out.put_16(code)
            skip(c, 12 if version >= LEADER_EPOCHS else 8)
            length = read_length(c, compact, 2)
            if length > 0:
                skip(c, length)
            if compact:
                skip_tags(c)
                self.out.put_varint(0)
        return 0
