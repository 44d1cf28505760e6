"""ProducerBatch: records of one partition on their way, and RecordFuture: a view of one of them.

A record is written once, by `append`, straight into the bytes that are going to be sent; 61 bytes in front stay free
for the header, which is written when the batch leaves (`seal`): only then producer id and sequence are known. A batch
that must leave again under another id is sealed again; only the header and the checksum change.

The batch is also what everybody waits for. Its outcome is set once (`succeed`, `fail`), for all of its records: a
`RecordFuture` is a batch and an index, and computes its offset when it is asked. So an answer costs the same for a
batch of one record and of a thousand, unless there are callbacks; those are called in the order of the records.

Threads: a record is appended by whichever thread sends, while it holds the GIL. `append` runs no Python code between
its look at the room and its last write (the headers are measured before), so no other thread can come in between;
closing a batch, and taking it for sending, are single steps in the same sense. No lock is needed, and none is taken.

Why a batch and not a record is the unit of everything: a record of a hundred bytes costs a broker as much as one of ten
thousand, if it comes alone. In a batch its share of header, checksum, request and answer is next to nothing, and a
codec finds what records have in common. What remains per record is one call of `append` and one small object, the
future.

The life of a batch:

    open      records are appended; it is the last of its partition's deque
    closed    full, old enough, or flushed: its records are compressed, if there is a codec
    sealed    producer id, epoch and sequence are in the header; it is under way (`in_flight`), perhaps several times
    done      written, or given up: futures and callbacks know, the memory is free

`attempts` counts how often it left, `in_doubt` says that nobody knows whether one of these was written (`recovery`).
One that a broker finds too large is split (`splitting`): it stays, as the whole that its futures and waiters know, and
they find their parts through it.

Memory: the buffer comes from a `BufferPool`, which counts it against `buffer.memory`, and goes back when the outcome is
known, even if somebody keeps a future: but never before the last view of it is gone, as the socket may still read from
it after a time-out.
"""

import asyncio
from _thread import allocate_lock
from functools import partial

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport INT32_MAX
from libc.string cimport memcpy

from tidelog.records.kernel._header cimport Header, crc32c_init, write_header
from tidelog.records.kernel._layout cimport (
    ATTRIBUTES_OFFSET, BASE_TIMESTAMP_OFFSET, CODEC_MASK, MAX_TIMESTAMP_OFFSET, RECORD_BATCH_OVERHEAD,
    RECORDS_COUNT_OFFSET,
)

from tidelog.client.durations import lock_wait
from tidelog.client.producer.record import RecordMetadata
from tidelog.records.codec.compression import compress
from tidelog.records.format.attributes import Codec

cdef extern from "tidelog/records/kernel/_wire.h":
    int WRITE_SLACK
    uint8_t* write_varlong(uint8_t* p, int64_t value) nogil
    int size_of_varlong(int64_t value) nogil
    uint8_t* write_count(uint8_t* p, int64_t value) nogil
    int size_of_count(int64_t value) nogil

cdef extern from "Python.h":
    int PyBUF_SIMPLE

crc32c_init()

cdef enum:
    MOST_KEPT = 64


cdef Py_ssize_t size_of_headers(headers) except -1:
    """Of all names and values with their lengths. Measured first: a record's length stands in front of it."""
    cdef Py_ssize_t size = 0, length
    for name, value in headers:
        if not isinstance(name, str):
            raise TypeError(f"the name of a record header is a str, not {type(name).__name__}")
        if value is not None and not isinstance(value, bytes):
            raise TypeError(f"the value of a record header is bytes or None, not {type(value).__name__}")
        PyUnicode_AsUTF8AndSize(name, &length)
        size += size_of_count(length) + length
        size += 1 if value is None else size_of_count(PyBytes_GET_SIZE(value)) + PyBytes_GET_SIZE(value)
    return size


cdef inline Py_ssize_t size_of_field(Py_ssize_t size) noexcept:
    """Of nullable bytes with their length; -1: null."""
    return 1 if size < 0 else size_of_count(size) + size


cdef inline uint8_t* write_field(uint8_t* p, const uint8_t* data, Py_ssize_t size) noexcept:
    """Null is the length -1, which is the byte 1 in zig-zag."""
    if size < 0:
        p[0] = 1
        return p + 1
    p = write_count(p, size)
    memcpy(p, data, size)
    return p + size


cdef uint8_t* write_headers(uint8_t* p, headers) except NULL:
    """`size_of_headers` has looked at them: names are str, values bytes or None."""
    cdef Py_ssize_t length
    cdef const char* text
    for name, value in headers:
        text = PyUnicode_AsUTF8AndSize(name, &length)
        p = write_count(p, length)
        memcpy(p, text, length)
        if value is None:
            p = write_field(p + length, NULL, -1)
        else:
            p = write_field(p + length, <const uint8_t*>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
    return p


cdef Py_ssize_t size_of_record(int64_t since, int32_t delta, Py_ssize_t key_size, Py_ssize_t value_size,
                               Py_ssize_t headers_count, Py_ssize_t headers_size) noexcept:
    """Without its own length."""
    return (1 + size_of_varlong(since) + size_of_count(delta) + size_of_field(key_size) + size_of_field(value_size)
            + size_of_count(headers_count) + headers_size)


cdef class BufferPool:
    """Memory for batches: `buffer.memory` bytes in all, in buffers of `batch.size`, some of which are kept.

    As Java's: a batch counts with its whole buffer from its first record on, so that the limit holds whatever comes.
    """

    def __init__(self, Py_ssize_t total, Py_ssize_t buffer_size):
        self.total = self.available = total
        self.buffer_size = buffer_size

    def __dealloc__(self):
        while self.kept:
            self.kept -= 1
            PyMem_RawFree(self.free[self.kept])

    def fits(self, Py_ssize_t size):
        """Whether a batch of so many bytes could be begun now."""
        return max(size, self.buffer_size) <= self.available

    def reserve(self, Py_ssize_t size):
        """Count memory that somebody else holds (batches that came ready-made)."""
        self.available -= size

    cdef uint8_t* take(self, Py_ssize_t size) except NULL:
        """A buffer for a batch; the caller has seen that it fits."""
        cdef uint8_t* data
        self.available -= size
        if size == self.buffer_size and self.kept:
            self.kept -= 1
            return <uint8_t*>self.free[self.kept]
        data = <uint8_t*>PyMem_RawMalloc(size + 2 * WRITE_SLACK)
        if data == NULL:
            self.available += size
            raise MemoryError
        return data

    cdef void give(self, uint8_t* data, Py_ssize_t size) noexcept:
        """Free a buffer, or keep it for the next batch. (What it counted for is given back before.)"""
        if size == self.buffer_size and self.kept < MOST_KEPT:
            self.free[self.kept] = data
            self.kept += 1
        else:
            PyMem_RawFree(data)


@cython.no_gc_clear
cdef class ProducerBatch:
    """One batch: open for records, then closed, sealed, sent (perhaps again), and done."""

    def __init__(self, BufferPool pool, queue, topic_partition, Py_ssize_t size, double created, int16_t attributes=0,
                 level=None):
        """Room for `size` bytes, header included; `created` is what linger and delivery time-out count from."""
        self.pool = pool
        self.queue = queue
        self.topic_partition = topic_partition
        self.created = created
        self.attributes = attributes
        self.level = level
        self.capacity = max(size, pool.buffer_size)
        self.data = pool.take(self.capacity)
        self.used = RECORD_BATCH_OVERHEAD
        self.max_timestamp = self.base_timestamp = -1
        self.producer_id = self.base_sequence = self.producer_epoch = -1
        self.base_offset = self.log_append_time = -1

    @staticmethod
    def ready_made(BufferPool pool, queue, topic_partition, data, double created):
        """A batch that somebody else has encoded, header and all (`send_arrow`); it is sealed like any other."""
        cdef ProducerBatch self = ProducerBatch.__new__(ProducerBatch)
        cdef const uint8_t[::1] view = data
        self.pool = pool
        self.queue, self.topic_partition, self.created = queue, topic_partition, created
        self.prebuilt = data
        self.used = self.capacity = view.shape[0]
        self.data = <uint8_t*>&view[0]
        pool.reserve(self.capacity)
        self.count = int.from_bytes(data[RECORDS_COUNT_OFFSET:RECORDS_COUNT_OFFSET + 4], "big")
        self.attributes = int.from_bytes(data[ATTRIBUTES_OFFSET:ATTRIBUTES_OFFSET + 2], "big")
        self.base_timestamp = int.from_bytes(data[BASE_TIMESTAMP_OFFSET:BASE_TIMESTAMP_OFFSET + 8], "big", signed=True)
        self.max_timestamp = int.from_bytes(data[MAX_TIMESTAMP_OFFSET:MAX_TIMESTAMP_OFFSET + 8], "big", signed=True)
        self.producer_id = self.base_sequence = self.producer_epoch = -1
        self.base_offset = self.log_append_time = -1
        self.closed = self.packed = True
        return self

    def __dealloc__(self):
        if self.data != NULL and self.prebuilt is None:
            self.pool.give(self.data, self.capacity)

    # --- records ------------------------------------------------------------------------------------------------------

    cdef int append(self, int64_t timestamp, const uint8_t* key, Py_ssize_t key_size, const uint8_t* value,
                    Py_ssize_t value_size, headers, Py_ssize_t headers_size) except -2:
        """Write a record behind the others; its index, or -1 if there is no room (or the batch is closed)."""
        cdef Py_ssize_t headers_count = len(headers) if headers is not None else 0
        cdef int64_t since = 0 if self.count == 0 else timestamp - self.base_timestamp
        cdef Py_ssize_t length = size_of_record(since, self.count, key_size, value_size, headers_count, headers_size)
        cdef uint8_t* p
        if self.closed or self.used + length + size_of_count(length) > (
                self.capacity if self.count == 0 else self.pool.buffer_size):
            return -1
        # From here to the end nothing can fail, and no Python code runs: the record is whole or not there.
        if self.count == 0:
            self.base_timestamp = timestamp
        p = write_count(self.data + self.used, length)
        p[0] = 0
        p = write_varlong(p + 1, since)
        p = write_count(p, self.count)
        p = write_field(p, key, key_size)
        p = write_field(p, value, value_size)
        p = write_count(p, headers_count)
        if headers_count:
            p = write_headers(p, headers)
        self.used = p - self.data
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        self.count += 1
        return self.count - 1

    def close(self):
        """No more records."""
        self.closed = True

    # --- sending ------------------------------------------------------------------------------------------------------

    @property
    def codec(self):
        return self.attributes & CODEC_MASK

    def pack(self):
        """Compress the records of a closed batch, once."""
        cdef Py_ssize_t size
        if self.packed or not self.attributes & CODEC_MASK:
            self.packed = True
            return
        # Packed bytes go where the plain ones were. They are nearly always fewer; where they are more (random bytes),
        # the buffer grows, and counts for what it is.
        plain = (<char*>self.data)[RECORD_BATCH_OVERHEAD:self.used]
        packed = compress(Codec(self.attributes & CODEC_MASK), plain, level=self.level)
        size = RECORD_BATCH_OVERHEAD + PyBytes_GET_SIZE(packed)
        if size > self.capacity:
            self.data = <uint8_t*>PyMem_RawRealloc(self.data, size)
            if self.data == NULL:
                raise MemoryError
            self.pool.available -= size - self.capacity
            self.capacity = size
        memcpy(self.data + RECORD_BATCH_OVERHEAD, PyBytes_AS_STRING(packed), PyBytes_GET_SIZE(packed))
        self.used = size
        self.packed = True

    def seal(self, int64_t producer_id, int16_t producer_epoch, int32_t base_sequence, bint transactional=False):
        """Write the header and the checksum: the batch may leave, as this producer's."""
        cdef Header header
        if not self.packed:
            self.pack()
        self.producer_id, self.producer_epoch, self.base_sequence = producer_id, producer_epoch, base_sequence
        if transactional:
            self.attributes |= 0x10
        header.base_offset = 0
        header.base_timestamp = self.base_timestamp
        header.max_timestamp = self.max_timestamp
        header.producer_id = producer_id
        header.producer_epoch = producer_epoch
        header.base_sequence = base_sequence
        header.leader_epoch = -1
        header.attributes = self.attributes
        header.count = self.count
        header.last_offset_delta = self.count - 1
        write_header(self.data, self.used, &header)

    def unnumber(self):
        """Its sequence was never used: it gets another when it leaves again."""
        self.base_sequence = self.producer_id = -1

    # The buffer protocol: a request takes a view of the batch, so that its bytes go from where the records were
    # appended to the socket without a copy.

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        if self.data == NULL:
            raise BufferError("the batch is done, and its memory given back")
        PyBuffer_FillInfo(buffer, self, self.data, self.used, 1, flags)
        self.exports += 1

    def __releasebuffer__(self, Py_buffer* buffer):
        self.exports -= 1
        if self.done or self.parts is not None:
            self.release()

    def __len__(self):
        return self.used

    # --- in parts -----------------------------------------------------------------------------------------------------

    def split(self, pieces):
        """Its records leave in several batches instead: `pieces` are these, encoded, in order. They take over its
        sequence numbers, its futures and its callbacks; whoever waits for this batch waits for all of them.
        """
        cdef ProducerBatch part
        cdef RecordFuture future
        cdef int32_t first = 0
        parts = []
        for data in pieces:
            part = ProducerBatch.ready_made(self.pool, self.queue, self.topic_partition, data, self.created)
            part.level = self.level
            part.place = self.place
            part.in_doubt = self.in_doubt
            part.of_doubt = self.in_doubt or self.of_doubt
            if self.base_sequence >= 0:
                part.seal(self.producer_id, self.producer_epoch, (self.base_sequence + first) & INT32_MAX)
            parts.append((first, part))
            first += part.count
        # No Python code runs from here until the callbacks have moved: a thread finds all of them here, or there.
        self.parts = parts
        self.pool.available += self.capacity
        self.release()
        callbacks, self.callbacks = self.callbacks, None
        if callbacks is not None:
            for future, function, delivery in callbacks:
                future.follow()
                future.batch.call_back(future, function, delivery)
        for _, part in parts:
            part.when_done(self._part_done)
        return [part for _, part in parts]

    def _part_done(self):
        """Once all parts are done, so is the whole. What became of a record its own part says."""
        for _, part in self.parts:
            if not part.done:
                return
        self.done = True
        self._wake()

    def leaves(self):
        """The batches that its records are in by now: itself, or what it was split into."""
        if self.parts is None:
            return [self]
        return [leaf for _, part in self.parts for leaf in part.leaves()]

    # --- the outcome --------------------------------------------------------------------------------------------------

    def succeed(self, int64_t base_offset, int64_t log_append_time):
        """Written. Returns what was raised by callbacks, if anything was."""
        self.base_offset, self.log_append_time = base_offset, log_append_time
        return self._finish()

    def fail(self, error):
        """Given up."""
        self.error = error
        return self._finish()

    def _finish(self):
        """Free the memory, tell the callbacks in the order of the records, wake whoever waits."""
        cdef RecordFuture future
        if self.done:
            return None
        # Memory first, so that a callback that sends finds room; then callbacks, then those who wait in threads and
        # tasks: when they wake, everything that belongs to the outcome has happened.
        self.done = self.closed = True
        self.pool.available += self.capacity
        self.release()
        raised = None
        callbacks, self.callbacks = self.callbacks, None
        if callbacks is not None:
            for future, function, delivery in callbacks:
                try:
                    self.call(future, function, delivery)
                except BaseException as error:  # a CancelledError, too: others of the same answer must hear of theirs
                    raised = raised or error
        self._wake()
        return raised

    cdef object call(self, RecordFuture future, function, bint delivery):
        if delivery:
            function(future.metadata(), self.error)
        else:
            function(future)

    def _wake(self):
        """Whoever waits for the outcome goes on."""
        waiters, self.waiters = self.waiters, None
        if waiters is not None:
            for wake in waiters:
                wake()

    cdef int call_back(self, RecordFuture future, function, bint delivery) except -1:
        """Call `function(future)`, or `function(metadata, error)` for a delivery, when the outcome is known. It may
        have become known since the record was appended: what was allocated meanwhile may have let the sender go on.
        """
        entry = (future, function, delivery)
        made = []
        if self.done:
            self.call(future, function, delivery)
        elif self.callbacks is None:
            made.append(entry)
            self.callbacks = made
        else:
            self.callbacks.append(entry)

    cdef void release(self) noexcept:
        """Give the buffer back once nobody looks at it."""
        if self.exports == 0 and self.data != NULL:
            if self.prebuilt is None:
                self.pool.give(self.data, self.capacity)
            self.data = NULL
            self.prebuilt = None

    def when_done(self, wake):
        """Call `wake` (without arguments) once the outcome is known; at once if it is."""
        if self.done:
            wake()
        elif self.waiters is None:
            self.waiters = [wake]
        else:
            self.waiters.append(wake)

    cpdef object forget(self, wake):
        """Whoever gave `wake` to `when_done` does not wait any more. (One who looks at a future now and then would
        leave one behind with each look.)
        """
        if self.waiters is not None and wake in self.waiters:
            self.waiters.remove(wake)

    async def finished(self):
        """Wait for the outcome, on the loop that sends; it is not raised."""
        if not self.done:
            future = asyncio.get_running_loop().create_future()
            wake = partial(_resolve, future)
            self.when_done(wake)
            try:
                await future
            finally:
                self.forget(wake)


def _resolve(future):
    """A future that somebody has cancelled meanwhile stays so."""
    if not future.done():
        future.set_result(None)


def _wake_future(loop, future):
    """Resolve a future of whichever loop, from whichever thread."""
    if asyncio._get_running_loop() is loop:
        _resolve(future)
    else:
        loop.call_soon_threadsafe(_resolve, future)


@cython.no_gc_clear
cdef class RecordFuture:
    """The outcome of one `send`: `RecordMetadata`, or what went wrong.

    `result` waits for it in a thread, `await` in a coroutine. Nobody has to do either: an error of a record that nobody
    waits for is in the log.
    """

    @staticmethod
    def waiting(int64_t timestamp, int32_t key_size, int32_t value_size):
        """Of a record that has no batch yet."""
        cdef RecordFuture self = RecordFuture.__new__(RecordFuture)
        self.timestamp, self.key_size, self.value_size = timestamp, key_size, value_size
        return self

    def join(self, RecordFuture other):
        """The record is in its batch now: be what the other is."""
        self.batch, self.index, self.timestamp = other.batch, other.index, other.timestamp
        self._moved()

    def refuse(self, error):
        """The record never got into a batch. Returns what was raised by callbacks, if anything was."""
        self.failure = error
        return self._moved()

    def _moved(self):
        """Those who came before the record had a batch wait with the others now."""
        raised = None
        early, self.early = self.early, None
        callbacks, self.early_callbacks = self.early_callbacks, None
        for function in callbacks or ():
            try:
                self.add_done_callback(function)
            except BaseException as error:
                raised = raised or error
        for function in early or ():
            self._when_done(function)
        return raised

    cdef void follow(self) noexcept:
        """Its batch may have been split: be a view of the part that has the record."""
        while self.batch is not None and self.batch.parts is not None:
            for first, part in reversed(self.batch.parts):
                if self.index >= <int32_t>first:
                    self.batch = part
                    self.index -= <int32_t>first
                    break

    def _when_done(self, wake):
        """Call `wake` once the outcome is known, wherever the record is by then. Returns the batch that knows of it."""
        self.follow()
        if self.failure is not None:
            wake()
        elif self.batch is not None:
            self.batch.when_done(wake)
        elif self.early is None:
            self.early = [wake]
        else:
            self.early.append(wake)
        return self.batch

    def _forget(self, ProducerBatch told, wake):
        """Nobody waits for that call any more; `told` is what `_when_done` has returned."""
        if self.early is not None and wake in self.early:
            self.early.remove(wake)
        elif told is not None:
            told.forget(wake)
        elif self.batch is not None:
            self.batch.forget(wake)

    def done(self):
        """Whether the outcome is known."""
        self.follow()
        return self.failure is not None or (self.batch is not None and self.batch.done)

    def _outcome(self):
        """All records of a batch share its error: the same object, raised to each who asks."""
        if self.failure is not None:
            raise self.failure
        self.follow()
        if self.batch.error is not None:
            raise self.batch.error
        return self.metadata()

    def metadata(self):
        """What is known of the record; offset -1 if it was not written, or nobody was asked to say (acks=0)."""
        cdef ProducerBatch batch
        self.follow()
        batch = self.batch
        if batch is None:
            return None
        offset = batch.base_offset + self.index if batch.base_offset >= 0 else -1
        timestamp = batch.log_append_time if batch.log_append_time >= 0 else self.timestamp
        return RecordMetadata(batch.topic_partition[0], batch.topic_partition[1], offset, timestamp, self.key_size,
                              self.value_size)

    def result(self, timeout=None):
        """Wait up to `timeout` seconds. TimeoutError if it is not known by then: the record is still on its way."""
        if not self.done():
            lock = allocate_lock()
            lock.acquire()
            told = self._when_done(lock.release)
            try:
                if not lock.acquire(True, lock_wait(timeout)):
                    raise TimeoutError(f"the record is not acknowledged within {timeout:g} s")
            except BaseException:
                self._forget(told, lock.release)
                raise
        return self._outcome()

    def exception(self, timeout=None):
        """What went wrong; None if nothing did."""
        lock_wait(timeout)  # what is wrong with this is not wrong with the record
        try:
            self.result(timeout)
        except TimeoutError:
            raise
        except Exception as error:
            return error
        return None

    def add_done_callback(self, function):
        """Call `function(future)` when the outcome is known, on the producer's loop; at once if it is."""
        if self.done():
            function(self)
        elif self.batch is not None:
            self.batch.call_back(self, function, False)
        elif self.early_callbacks is None:
            self.early_callbacks = [function]
        else:
            self.early_callbacks.append(function)

    def __await__(self):
        return self._wait().__await__()

    async def _wait(self):
        if not self.done():
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            wake = partial(_wake_future, loop, future)
            told = self._when_done(wake)
            try:
                await future
            except BaseException:
                self._forget(told, wake)
                raise
        return self._outcome()

    def __repr__(self):
        where = "" if self.batch is None else f" {self.batch.topic_partition}"
        return f"<RecordFuture{where} {'done' if self.done() else 'pending'}>"
