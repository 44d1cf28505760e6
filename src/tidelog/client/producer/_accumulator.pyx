"""Accumulator: a deque of batches per partition, and `send` itself, the few hundred nanoseconds of every record.

    send → topic → partition → the open batch at the end of its deque → RecordFuture

`SendPath.send` is the whole way of a record that needs nothing special: bytes or text, the default partitioner, a topic
that is known, room in the buffer. Everything else (interceptors, serializers, own partitioners, a topic that must be
asked for, a full buffer, a producer that has failed) goes through `_send_slowly` of the face, which ends here again, in
`Accumulator.append`.

What happens between the thread that sends and the loop that sends requests:

- `created` and `filled` are lists of what the sender has not heard of yet: batches begun, partitions whose first batch
  is full. The sender takes them when it has its turn; `wake` asks for one, once until it comes.
- A thread that sends without a pause would hold the GIL for five milliseconds at a time while the loop waits for it. So
  it hands over after every `HANDOVER` bytes, and goes on when the sender has had its turn.

Partitions of records without a partition of their own: by the key's murmur2, as all Java clients do, or sticky
(KIP-480): all go to one partition until its batch is full, then to another. One by one over many partitions they would
make many small batches; so they make few full ones, and over a second or an hour the partitions still get equal shares.
The next one is chosen by `choose` (`partitioners.StickyChoice`).

Memory: a batch takes its whole buffer from the pool when it is begun. If there is none, `append` says so by None; a
thread then puts itself into `waiters`, and the sender calls them in their order when batches are done. While somebody
waits nothing lingers: the way to get room is to send.

Why there is no lock: see `_batch`. From the look at the open batch to the append no Python code runs; where some has to
(a new batch asks the clock, the partitioner asks for chance) the deque is looked at again afterwards.
"""

from _thread import allocate_lock, get_ident
from collections import deque

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.long cimport PyLong_AsLongAndOverflow, PyLong_CheckExact
from cpython.object cimport PyCallable_Check
from cpython.tuple cimport PyTuple_CheckExact, PyTuple_GET_ITEM, PyTuple_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_Check, PyUnicode_CheckExact
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t
from posix.time cimport CLOCK_REALTIME, clock_gettime, timespec

from tidelog.client.producer._batch cimport (
    BufferPool, ProducerBatch, RecordFuture, size_of_headers, size_of_record,
)
from tidelog.client.producer._partition_batches cimport PartitionBatches, TopicBatches
from tidelog.records.kernel._layout cimport RECORD_BATCH_OVERHEAD

from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.errors import ErrorCode, KafkaError, UsageError

cdef extern from "tidelog/records/kernel/_murmur2.h":
    uint32_t murmur2_hash(const uint8_t* p, uint32_t length) nogil

cdef extern from *:
    """
    #include <pthread.h>
    static int forks = 0;
    static void count_fork(void) { forks++; }
    """
    int forks
    int pthread_atfork(void (*before)(), void (*parent)(), void (*child)() noexcept nogil) nogil
    void count_fork() noexcept nogil

pthread_atfork(NULL, NULL, count_fork)

cdef enum:
    HANDOVER = 256 * 1024
    VARINT = 5                      # the most that a record's length takes

#: How long a thread that hands over waits for the sender's turn, in seconds.
_PATIENCE = 0.005


cdef int64_t now_ms() noexcept nogil:
    """The system clock's time without a call of Python: every record has one. (Another clock is asked properly.)"""
    cdef timespec now
    clock_gettime(CLOCK_REALTIME, &now)
    return <int64_t>now.tv_sec * 1000 + now.tv_nsec // 1000000


cdef class Accumulator:
    """All batches of one producer that are not sent yet, and the memory that they share."""
    cdef readonly BufferPool pool
    cdef readonly dict topics
    cdef public bint plain              # a record may take the short way: nothing but bytes, and nothing is wrong
    cdef public list created
    cdef public list filled
    cdef public object wake
    cdef public object admit            # raises if the caller may not send from where it is; None: from anywhere
    cdef public bint threaded           # records come from other threads than the sender's
    cdef bint awake
    cdef int made_after                 # so many forks: in a child of ours the sender is missing
    cdef unsigned long sender
    cdef Py_ssize_t since_turn
    cdef list resting
    cdef readonly object waiters
    cdef object choose
    cdef object clock
    cdef bint system_clock
    cdef Py_ssize_t batch_size
    cdef Py_ssize_t max_request_size
    cdef int16_t attributes
    cdef object level
    cdef bint ignore_keys
    cdef readonly int64_t records
    cdef readonly int64_t byte_count

    def __init__(self, *, clock, choose, Py_ssize_t memory, Py_ssize_t batch_size, Py_ssize_t max_request_size,
                 int16_t attributes=0, level=None, bint ignore_keys=False):
        """`choose(topic_batches)` names the next partition for records without a key."""
        self.batch_size = max(min(batch_size, memory), 1)
        self.pool = BufferPool(memory, self.batch_size)
        self.max_request_size = max_request_size
        self.topics = {}
        self.created, self.filled, self.resting = [], [], []
        self.waiters = deque()
        self.wake = _nobody
        self.clock, self.choose = clock, choose
        self.system_clock = clock is SYSTEM_CLOCK
        self.attributes, self.level, self.ignore_keys = attributes, level, ignore_keys
        self.made_after = forks

    @property
    def is_forked(self):
        """Whether this is a copy in a child process, which has neither the loop nor the sockets."""
        return self.made_after != forks

    # --- partitions ---------------------------------------------------------------------------------------------------

    def place(self, TopicBatches topic, key):
        """The default partitioner's choice for serialized key bytes, or None for no key."""
        if key is None or self.ignore_keys:
            return self.sticky(topic)
        return (murmur2_hash(<const uint8_t*>PyBytes_AS_STRING(key), <uint32_t>PyBytes_GET_SIZE(key))
                & 0x7FFFFFFF) % <uint32_t>len(topic.partitions)

    def next_sticky(self, TopicBatches topic):
        """Another partition for rows that come together and have no key."""
        topic.stick_to(self.choose(topic))
        return topic.sticky

    cdef int sticky(self, TopicBatches topic) except -1:
        """Where records without a key go: to one partition until its batch is full (KIP-480), which makes few large
        batches of many small ones; counted in bytes, so that a fast partition does not get more (KIP-794).
        """
        if topic.sticky < 0 or topic.sticky_bytes >= 2 * self.batch_size:
            topic.stick_to(self.choose(topic))
        return topic.sticky

    # --- records ------------------------------------------------------------------------------------------------------

    def append(self, TopicBatches topic, partition, key, value, timestamp, headers, on_delivery):
        """Add a serialized record; None if there is no room. `partition` None: the default partitioner chooses."""
        cdef const uint8_t* key_data = NULL
        cdef const uint8_t* value_data = NULL
        cdef Py_ssize_t key_size = -1, value_size = -1
        if key is not None:
            key_data, key_size = <const uint8_t*>PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key)
        if value is not None:
            value_data, value_size = <const uint8_t*>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)
        return self.add(topic, -1 if partition is None else partition, key_data, key_size, value_data, value_size,
                        timestamp, headers, on_delivery)

    cdef RecordFuture add(self, TopicBatches topic, int partition, const uint8_t* key, Py_ssize_t key_size,
                          const uint8_t* value, Py_ssize_t value_size, timestamp, headers, on_delivery):
        cdef int64_t time
        cdef Py_ssize_t headers_size = 0, headers_count = 0, size
        cdef bint keyless = partition < 0 and (key_size < 0 or self.ignore_keys)
        cdef PartitionBatches queue
        cdef ProducerBatch batch
        cdef RecordFuture future
        cdef int index
        cdef bint begun = False
        if timestamp is not None:
            time = timestamp
            if time < 0:
                raise UsageError(f"a timestamp of {timestamp} ms: expected milliseconds since 1970, or None for now")
        else:
            time = now_ms() if self.system_clock else self.clock.time_ms()
        if headers is not None:
            headers_count, headers_size = len(headers), size_of_headers(headers)
        if partition < 0:
            if keyless:
                partition = self.sticky(topic)
            else:
                partition = (murmur2_hash(key, <uint32_t>key_size) & 0x7FFFFFFF) % <uint32_t>len(topic.partitions)
        elif partition >= len(topic.partitions):
            raise UsageError(f"{topic.name} has no partition {partition}: it has 0 to {len(topic.partitions) - 1}")
        queue = topic.partitions[partition]
        batch = queue.open
        index = -1
        if batch is not None:
            index = batch.append(time, key, key_size, value, value_size, headers, headers_size)
        # No open batch, or no room in it: a new one. A keyless record whose partition has had its share goes to the
        # next partition instead, now that the batch is full: so batches are full, and shares equal.
        if index < 0:
            size = VARINT + size_of_record(time, 0, key_size, value_size, headers_count, headers_size)
            if keyless and batch is not None and topic.sticky_bytes >= self.batch_size:
                self.fill(queue)
                topic.stick_to(self.choose(topic))
                queue = topic.partitions[topic.sticky]
            batch = self.new_batch(queue, size)
            if batch is None:
                return None
            index = batch.append(time, key, key_size, value, value_size, headers, headers_size)
            begun = True
        size = key_size + value_size + headers_size + 8
        if keyless:
            topic.sticky_bytes += size
        self.since_turn += size
        self.records += 1
        self.byte_count += size
        # The future is made without its constructor: six assignments, which is most of what a record costs here.
        future = RecordFuture.__new__(RecordFuture)
        future.batch = batch
        future.index = index
        future.timestamp = time
        future.key_size = <int32_t>key_size
        future.value_size = <int32_t>value_size
        if on_delivery is not None:
            batch.call_back(future, on_delivery, True)
        # Last of all: from here on the sender has the batch, and its outcome may come at any moment.
        if begun:
            self.publish(queue, batch)
        return future

    cdef ProducerBatch new_batch(self, PartitionBatches queue, Py_ssize_t size):
        """A batch that a record of `size` bytes fits in, which nobody else knows of yet; None if there is no memory."""
        cdef Py_ssize_t wanted = RECORD_BATCH_OVERHEAD + size
        if self.admit is not None:
            self.admit()
        if wanted > self.max_request_size or wanted > self.pool.total:
            raise self.too_large(wanted)
        if max(wanted, self.batch_size) > self.pool.available:
            self.fill(queue)
            self.rouse()
            return None
        return ProducerBatch(self.pool, queue, queue.topic_partition, wanted, self.clock.monotonic(), self.attributes,
                             self.level)

    def too_large(self, Py_ssize_t size, str which=""):
        """What to tell of a record that no request has room for; `which` says which one it is."""
        if size > self.max_request_size:
            limit = f"max.request.size ({self.max_request_size}): set that higher here, and the topic's"
            limit = f"{limit} max.message.bytes if need be, or send less at a time"
        else:
            limit = f"buffer.memory ({self.pool.total}): set that higher"
        return KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"{which}a record of {size} bytes is larger than {limit}")

    cdef int publish(self, PartitionBatches queue, ProducerBatch batch) except -1:
        """Put a batch with its first record at the end of the deque: from here on others see it. The one that was open
        is full (or another thread's, begun at the same moment).
        """
        if queue.open is not None:
            queue.close_open()
            self.filled.append(queue)
        queue.put(batch)
        queue.open = batch
        self.created.append(batch)
        self.rouse()

    cdef int fill(self, PartitionBatches queue) except -1:
        """The open batch takes no more: the sender may have it."""
        if queue.open is not None:
            queue.close_open()
            self.filled.append(queue)
            self.rouse()

    def add_ready_made(self, PartitionBatches queue, ProducerBatch batch):
        """Put a batch that somebody else has encoded behind the others."""
        self.fill(queue)
        queue.put(batch)
        self.created.append(batch)
        self.filled.append(queue)
        self.records += batch.count
        self.byte_count += batch.used
        self.rouse()

    # --- the sender's turns -------------------------------------------------------------------------------------------

    cdef int rouse(self) except -1:
        """Ask for a turn of the sender, unless one is coming."""
        if not self.awake:
            self.awake = True
            try:
                self.wake()
            except BaseException:
                self.awake = False
                raise

    def begin_turn(self):
        """The sender takes what is new: (batches that were begun, partitions with a full batch)."""
        self.awake = False
        self.sender = get_ident()
        created, self.created = self.created, []
        filled, self.filled = self.filled, []
        return created, filled

    def end_turn(self):
        """Whoever has handed over goes on."""
        self.since_turn = 0
        if self.resting:
            resting, self.resting = self.resting, []
            for lock in resting:
                lock.release()

    def hand_over(self):
        """Let the sender have its turn; the GIL is free meanwhile. (A callback sends on the sender's own thread.)"""
        if get_ident() == self.sender:
            self.since_turn = 0
            return
        lock = allocate_lock()
        lock.acquire()
        self.since_turn = 0
        self.resting.append(lock)
        self.rouse()
        lock.acquire(True, _PATIENCE)

    @property
    def is_crowded(self):
        """Somebody waits for room: nothing lingers then."""
        return len(self.waiters) > 0

    def give_room(self):
        """Wake those who wait for room, once there is enough to be worth it, in their order."""
        while self.waiters and self.pool.available >= self.batch_size:
            self.waiters.popleft()()


def _nobody():
    """Nobody sends yet."""


cdef int bytes_of(data, const uint8_t** p, Py_ssize_t* size, Py_buffer* buffer) except -1:
    """Where a value's bytes are. 1: `buffer` has to be released; 2: it is neither bytes in one piece nor text."""
    if data is None:
        size[0] = -1
    elif PyBytes_CheckExact(data):
        p[0] = <const uint8_t*>PyBytes_AS_STRING(data)
        size[0] = PyBytes_GET_SIZE(data)
    elif PyUnicode_CheckExact(data):
        p[0] = <const uint8_t*>PyUnicode_AsUTF8AndSize(data, size)
    elif PyObject_CheckBuffer(data):
        try:
            PyObject_GetBuffer(data, buffer, PyBUF_SIMPLE)
        except BufferError:  # not in one piece
            return 2
        p[0] = <const uint8_t*>buffer.buf
        size[0] = buffer.len
        return 1
    else:
        return 2
    return 0


cdef bint are_plain(list headers) except -1:
    """Whether all headers are pairs of text and bytes (or None). Others take the long way, which knows what else will
    do and says what will not: see `record`.
    """
    for pair in headers:
        if not PyTuple_CheckExact(pair) or PyTuple_GET_SIZE(pair) != 2:
            return False
        if not PyUnicode_Check(<object>PyTuple_GET_ITEM(pair, 0)):
            return False
        value = <object>PyTuple_GET_ITEM(pair, 1)
        if value is not None and not PyBytes_Check(value):
            return False
    return True


cdef class SendPath:
    """What both faces inherit: `send`."""
    cdef readonly Accumulator accumulator

    def _attach(self, Accumulator accumulator):
        """Until then every record takes the long way."""
        self.accumulator = accumulator

    def send(self, topic, value=None, key=None, *, partition=None, timestamp=None, headers=None, on_delivery=None):
        """Queue one record, given by its parts or as a `ProducerRecord`; the future tells where it was written.

        `on_delivery(metadata, error)` is called when the outcome is known, in the order of the partition's records.
        """
        cdef Accumulator accumulator = self.accumulator
        cdef RecordFuture future = None
        if accumulator is not None and accumulator.plain and accumulator.made_after == forks and (
                headers is None or type(headers) is list):
            found = accumulator.topics.get(topic) if PyUnicode_CheckExact(topic) else None
            if found is not None:
                future = self.add_plain(<TopicBatches>found, value, key, partition, timestamp, headers, on_delivery)
                if future is not None:
                    if accumulator.since_turn >= HANDOVER and accumulator.threaded:
                        accumulator.hand_over()
                    return future
        return self._send_slowly(topic, value, key, partition, timestamp, headers, on_delivery)

    cdef RecordFuture add_plain(self, TopicBatches topic, value, key, partition, timestamp, headers, on_delivery):
        """Without a copy of key and value but that into the batch. None: it needs the long way."""
        cdef const uint8_t* key_data = NULL
        cdef const uint8_t* value_data = NULL
        cdef Py_ssize_t key_size = -1, value_size = -1
        cdef Py_buffer key_buffer, value_buffer
        cdef int key_kind = 0, value_kind = 0, number = -1, overflow = 0
        cdef long wanted
        # What is not plainly right is the long way's to take or to refuse, so that both ways have one rule.
        if partition is not None:
            if not PyLong_CheckExact(partition):
                return None
            wanted = PyLong_AsLongAndOverflow(partition, &overflow)
            if overflow or wanted < 0 or wanted >= len(topic.partitions):
                return None
            number = <int>wanted
        if timestamp is not None:
            if not PyLong_CheckExact(timestamp) or PyLong_AsLongAndOverflow(timestamp, &overflow) < 0 or overflow:
                return None
        if on_delivery is not None and not PyCallable_Check(on_delivery):
            return None
        if headers is not None and not are_plain(<list>headers):
            return None
        # The bytes are read where they are. A `bytearray` or `memoryview` is held meanwhile: its owner cannot resize it
        # before the record is copied into the batch, which is before `send` returns.
        key_kind = bytes_of(key, &key_data, &key_size, &key_buffer)
        try:
            value_kind = bytes_of(value, &value_data, &value_size, &value_buffer)
            try:
                if key_kind == 2 or value_kind == 2:
                    return None
                return self.accumulator.add(topic, number, key_data, key_size, value_data, value_size, timestamp,
                                            None if headers is None else tuple(headers), on_delivery)
            finally:
                if value_kind == 1:
                    PyBuffer_Release(&value_buffer)
        finally:
            if key_kind == 1:
                PyBuffer_Release(&key_buffer)
