"""Arrow columns to magic 2 batches, and the placement of keys on partitions; the loops run without the GIL.

The caller (records.arrow) brings every column to 32-bit offsets and hands over addresses: a binary column is
(valid, ends, data, shift): validity bits or 0, offsets, bytes, and the index of the first row in them. An order names
the rows to take and their sequence, so that the rows of one partition are encoded from where they lie.

A batch is cut where the next row would make it larger than `max_batch_bytes`. How many rows fit is not known before:
records are written until one does not fit, and the header, which needs their count, is written last, into the 61 bytes
that were left free in front. With a codec the records are packed from there into a second piece of memory.

Numbers in a record are varints of what they differ from the batch's first: the timestamp and, always, the place in the
batch. Most are one byte long, so that a record of 100 bytes costs some seven more.
"""

from array import array

from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t

from tidelog.records.kernel._header cimport Header, crc32c_init, write_header
from tidelog.records.kernel._layout cimport CODEC_MASK, LENGTH_OFFSET, LOG_OVERHEAD, RECORD_BATCH_OVERHEAD

from tidelog.records.format.attributes import Codec
from tidelog.records.codec.compression import compress

cdef extern from "tidelog/records/kernel/_wire.h":
    void store_32(uint8_t* p, uint32_t v) nogil
    uint8_t* write_varlong(uint8_t* p, int64_t value) nogil
    int size_of_varlong(int64_t value) nogil
    uint8_t* write_count(uint8_t* p, int64_t value) nogil
    int size_of_count(int64_t value) nogil

cdef extern from "tidelog/records/kernel/_columns.h":
    int COPY_SLACK
    void copy_bytes(uint8_t* to, const uint8_t* source, int32_t length, const uint8_t* end) nogil
    int get_bit(const uint8_t* bits, int64_t index) nogil

cdef extern from "tidelog/records/kernel/_murmur2.h":
    uint32_t murmur2_hash(const uint8_t* p, uint32_t length) nogil

crc32c_init()

cdef enum:
    FIXED = 41                  # the most that a record's own numbers take
    LENGTH = 5                  # the most that its length takes


cdef struct Input:
    const uint8_t* valid
    const int32_t* ends         # of the first row; NULL: all rows are null
    const uint8_t* data
    const uint8_t* data_end
    int64_t shift               # of the first row in the validity bits


cdef struct Rows:
    Input key
    Input value
    const int64_t* timestamps   # NULL: `timestamp` holds for all
    int64_t timestamp
    const int32_t* header_ends  # of the first row; NULL: no headers
    const uint8_t* header_valid
    int64_t header_shift
    Input name
    Input header
    const uint64_t* order       # which row comes at each place; NULL: as they lie
    int64_t count               # of places


cdef struct Filled:
    int64_t next_place
    int64_t used
    int64_t needed              # by the row that did not fit
    int64_t base_timestamp
    int64_t max_timestamp


cdef inline int32_t field(Input* column, int64_t row, const uint8_t** p) noexcept nogil:
    """The length of a row's bytes (-1: null) and where they are."""
    if column.ends == NULL or (column.valid != NULL and not get_bit(column.valid, row + column.shift)):
        return -1
    p[0] = column.data + column.ends[row]
    return column.ends[row + 1] - column.ends[row]


cdef inline int64_t size_of_field(int32_t length) noexcept nogil:
    """Bytes of a nullable field with its length: one for null."""
    return size_of_count(length) + length if length >= 0 else 1


cdef inline uint8_t* write_field(uint8_t* out, const uint8_t* p, int32_t length, const uint8_t* end) noexcept nogil:
    """Copies in whole words where the source allows it, up to `end`; there is room behind the last field."""
    if length < 0:
        out[0] = 1
        return out + 1
    out = write_count(out, length)
    copy_bytes(out, p, length, end)
    return out + length


cdef inline int64_t row_at(Rows* rows, int64_t place) noexcept nogil:
    """Which row comes at this place: that of the order, or the place itself."""
    return <int64_t>rows.order[place] if rows.order != NULL else place


cdef inline int32_t headers_of(Rows* rows, int64_t row, int64_t* first) noexcept nogil:
    """How many headers the row has, and the index of the first."""
    if rows.header_valid != NULL and not get_bit(rows.header_valid, row + rows.header_shift):
        return 0
    first[0] = rows.header_ends[row]
    return rows.header_ends[row + 1] - rows.header_ends[row]


cdef int64_t size_of_headers(Rows* rows, int64_t first, int32_t count) noexcept nogil:
    """Bytes of a row's headers: they must be known before the record's length is written, in front of them."""
    cdef const uint8_t* p
    cdef int64_t i, size = 0
    for i in range(first, first + count):
        size += size_of_field(max(field(&rows.name, i, &p), 0)) + size_of_field(field(&rows.header, i, &p))
    return size


cdef uint8_t* write_headers(uint8_t* out, Rows* rows, int64_t first, int32_t count) noexcept nogil:
    cdef const uint8_t* p = NULL
    cdef int64_t i
    cdef int32_t length
    for i in range(first, first + count):
        length = max(field(&rows.name, i, &p), 0)
        out = write_field(out, p, length, rows.name.data_end)
        length = field(&rows.header, i, &p)
        out = write_field(out, p, length, rows.header.data_end)
    return out


cdef void fill_records(Rows* rows, int64_t place, uint8_t* start, int64_t capacity, Filled* filled) noexcept nogil:
    """Write the records from `place` on until the next one does not fit.

    Every length is computed before anything of a record is written: its own length stands in front and is a varint,
    whose size depends on it. Differences of timestamps wrap, as Java's do; a reader adds them with the same wrapping.
    """
    cdef uint8_t* out = start
    cdef const uint8_t* key = NULL
    cdef const uint8_t* value = NULL
    cdef int64_t first = place, header = 0, timestamp = rows.timestamp, row, since, extra, length, base, largest = -1
    cdef int32_t key_length, value_length, headers
    cdef Input keys = rows.key, values = rows.value
    cdef const int64_t* timestamps = rows.timestamps
    cdef bint with_headers = rows.header_ends != NULL
    cdef int64_t count = rows.count
    base = timestamps[row_at(rows, place)] if timestamps != NULL else rows.timestamp
    filled.needed = 0
    while place < count:
        row = row_at(rows, place)
        if timestamps != NULL:
            timestamp = timestamps[row]
        key_length = field(&keys, row, &key)
        value_length = field(&values, row, &value)
        headers = headers_of(rows, row, &header) if with_headers else 0
        extra = size_of_headers(rows, header, headers) if headers else 0
        since = <int64_t>(<unsigned long long>timestamp - <unsigned long long>base)
        length = (1 + size_of_varlong(since) + size_of_count(place - first) + size_of_field(key_length)
                  + size_of_field(value_length) + size_of_count(headers) + extra)
        if length + size_of_count(length) > capacity - (out - start):
            filled.needed = length + size_of_count(length)
            break
        out = write_count(out, length)
        out[0] = 0
        out = write_varlong(out + 1, since)
        out = write_count(out, place - first)
        out = write_field(out, key, key_length, keys.data_end)
        out = write_field(out, value, value_length, values.data_end)
        out = write_count(out, headers)
        if headers:
            out = write_headers(out, rows, header, headers)
        if timestamp > largest:
            largest = timestamp
        place += 1
    filled.next_place = place
    filled.used = out - start
    filled.base_timestamp = base
    filled.max_timestamp = largest


cdef int64_t size_alone(Rows* rows, int64_t row) noexcept nogil:
    """Bytes of a batch that holds nothing but this row, or a few more: the same as the producer counts for `send`."""
    cdef const uint8_t* p = NULL
    cdef int64_t header = 0
    cdef int32_t headers = headers_of(rows, row, &header) if rows.header_ends != NULL else 0
    return (RECORD_BATCH_OVERHEAD + LENGTH + 2
            + size_of_varlong(rows.timestamps[row] if rows.timestamps != NULL else rows.timestamp)
            + size_of_field(field(&rows.key, row, &p)) + size_of_field(field(&rows.value, row, &p))
            + size_of_count(headers) + (size_of_headers(rows, header, headers) if headers else 0))


cdef void set_input(Input* column, addresses, int64_t rows):
    """Point at a column's buffers. Ends are taken from the first row on; the bits have a shift, as bits have no
    address.
    """
    cdef uintptr_t valid, ends, data
    cdef int64_t shift
    column.ends = NULL
    column.valid = column.data = column.data_end = NULL
    column.shift = 0
    if addresses is not None:
        valid, ends, data, shift = addresses
        column.valid = <const uint8_t*>valid
        column.ends = <const int32_t*>ends + shift
        column.data = <const uint8_t*>data
        column.data_end = column.data + column.ends[rows]
        column.shift = shift


cdef inline int64_t bytes_of(Input* column, int64_t row) noexcept nogil:
    return column.ends[row + 1] - column.ends[row] if column.ends != NULL else 0


cdef int64_t bytes_between(Input* column, int64_t row, int64_t end) noexcept nogil:
    return column.ends[end] - column.ends[row] if column.ends != NULL else 0


cdef int64_t bound_of_headers(Rows* rows, int64_t row, int64_t end) noexcept nogil:
    """Ten bytes for the two lengths of a header are the most that they can take."""
    cdef int64_t first, last
    if rows.header_ends == NULL:
        return 0
    first = rows.header_ends[row]
    last = rows.header_ends[end]
    return bytes_between(&rows.name, first, last) + bytes_between(&rows.header, first, last) + 10 * (last - first)


cdef int64_t bound(Rows* rows, int64_t place, int64_t enough) noexcept nogil:
    """More than the records from `place` on can take, counted no further than to `enough`.

    Memory is asked for once per batch: the lesser of what a batch may hold and of what is left to write. Without the
    second, the last few rows of a million would get a megabyte.
    """
    cdef int64_t size = FIXED * (rows.count - place), row
    if rows.order == NULL:
        return (size + bytes_between(&rows.key, place, rows.count) + bytes_between(&rows.value, place, rows.count)
                + bound_of_headers(rows, place, rows.count))
    while place < rows.count and size < enough:
        row = row_at(rows, place)
        size += bytes_of(&rows.key, row) + bytes_of(&rows.value, row) + bound_of_headers(rows, row, row + 1)
        place += 1
    return size


cdef class BatchEncoder:
    """Cuts rows into batches of at most `max_batch_bytes`; a row that is larger gets a batch of its own."""

    cdef Rows rows
    cdef int16_t attributes, producer_epoch
    cdef int32_t base_sequence, leader_epoch
    cdef int64_t producer_id, base_offset, max_batch_bytes
    cdef bint running, checksum
    cdef object level

    def __init__(self, int64_t rows, *, order=None, key=None, value=None, uintptr_t timestamps=0, int64_t timestamp=-1,
                 headers=None, int16_t attributes=0, level=None, int64_t max_batch_bytes, base_offset=None,
                 int64_t producer_id=-1, int16_t producer_epoch=-1, int32_t base_sequence=-1, int32_t leader_epoch=-1,
                 bint checksum=True):
        """`checksum` False leaves it out: for batches whose header is written anew before anybody reads them."""
        cdef uintptr_t ends = 0, valid = 0, chosen = 0
        self.rows.count = rows
        self.rows.order = NULL
        if order is not None:
            chosen, self.rows.count = order
            self.rows.order = <const uint64_t*>chosen
        set_input(&self.rows.key, key, rows)
        set_input(&self.rows.value, value, rows)
        self.rows.timestamps = <const int64_t*>timestamps
        self.rows.timestamp = timestamp
        self.rows.header_ends = NULL
        self.rows.header_valid = NULL
        if headers is not None:
            valid, ends, self.rows.header_shift, names, values, total = headers
            self.rows.header_valid = <const uint8_t*>valid
            self.rows.header_ends = <const int32_t*>ends + self.rows.header_shift
            set_input(&self.rows.name, names, total)
            set_input(&self.rows.header, values, total)
        self.attributes = attributes
        self.level = level
        self.max_batch_bytes = max_batch_bytes
        self.running = base_offset is not None
        self.base_offset = base_offset if self.running else 0
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.leader_epoch = leader_epoch
        self.checksum = checksum

    def encode(self, allocate=bytearray):
        """All rows, as a list of batches in memory from `allocate(size)`: fresh memory costs a page fault each 4 KB,
        which is more than writing it, so the caller brings an allocator that keeps its pages."""
        return list(self.encode_each(allocate))

    def encode_each(self, allocate=bytearray):
        """The same, one batch with each step: who waits for room in between holds no more than one."""
        cdef list batches = []
        cdef int64_t place = 0
        while place < self.rows.count:
            place = self.encode_one(place, batches, allocate)
            yield batches.pop()

    def first_larger(self, int64_t limit):
        """The first place whose record would, alone, make a batch of more than `limit` bytes before it is packed, and
        how many; None: there is no such row. As for a single record, its lengths count for the most that they may take.
        """
        cdef int64_t place = 0, size = 0
        with nogil:
            while place < self.rows.count:
                size = size_alone(&self.rows, row_at(&self.rows, place))
                if size > limit:
                    break
                place += 1
        return (place, size) if place < self.rows.count else None

    cdef int64_t encode_one(self, int64_t place, list batches, allocate) except -1:
        """Append the batch that starts at `place`; return where the next one starts.

        A row that does not fit even an empty batch gets memory for itself on the second try: the broker will refuse it
        if it is larger than `max.message.bytes`, with words that the producer can show.
        """
        cdef Filled filled
        cdef int64_t room = self.max_batch_bytes - RECORD_BATCH_OVERHEAD
        room = min(room, bound(&self.rows, place, room))
        cdef uint8_t[::1] memory
        while True:
            if room + RECORD_BATCH_OVERHEAD + COPY_SLACK > INT32_MAX:
                raise OverflowError(f"row {place} does not fit a batch")
            batch = memoryview(allocate(RECORD_BATCH_OVERHEAD + max(room, 0) + COPY_SLACK)).cast("B")
            memory = batch
            with nogil:
                fill_records(&self.rows, place, &memory[RECORD_BATCH_OVERHEAD], room, &filled)
            if filled.next_place > place:
                break
            room = filled.needed
        batch = batch[:RECORD_BATCH_OVERHEAD + filled.used]
        if self.attributes & CODEC_MASK:
            packed = compress(Codec(self.attributes & CODEC_MASK), batch[RECORD_BATCH_OVERHEAD:], level=self.level)
            batch = memoryview(allocate(RECORD_BATCH_OVERHEAD + len(packed))).cast("B")
            batch[RECORD_BATCH_OVERHEAD:] = packed
            memory = batch
        self.seal(&memory[0], len(batch), place, &filled)
        batches.append(batch)
        return filled.next_place

    cdef int seal(self, uint8_t* p, Py_ssize_t size, int64_t place, Filled* filled) except -1:
        """Write the header of the batch that starts at `place`.

        A producer's batches all begin at offset 0, since only the leader knows better; those that become a segment
        follow each other. Sequence numbers go on from batch to batch and wrap to 0 behind 2^31 - 1.
        """
        cdef Header header
        header.base_offset = self.base_offset + place if self.running else 0
        header.base_timestamp = filled.base_timestamp
        header.max_timestamp = filled.max_timestamp
        header.producer_id = self.producer_id
        header.producer_epoch = self.producer_epoch
        header.base_sequence = <int32_t>((self.base_sequence + place) & 0x7FFFFFFF) if self.base_sequence >= 0 else -1
        header.leader_epoch = self.leader_epoch
        header.attributes = self.attributes
        header.count = <int32_t>(filled.next_place - place)
        header.last_offset_delta = header.count - 1
        with nogil:
            if self.checksum:
                write_header(p, size, &header)
            else:  # as that of a batch of nothing, but for its length: the records are not looked at
                write_header(p, RECORD_BATCH_OVERHEAD, &header)
                store_32(p + LENGTH_OFFSET, <uint32_t>(size - LOG_OVERHEAD))
        return 0


def murmur2(const uint8_t[::1] data):
    """Kafka's hash of a key, as an unsigned number.

    For one key at a time; columns are placed by `place_keys`.
    """
    return murmur2_hash(&data[0] if data.shape[0] else NULL, <uint32_t>data.shape[0])


def place_keys(key, int64_t count, uint32_t partitions, uintptr_t out):
    """Write the partition of each key (-1: null) as int32 to `out`.

    murmur2 with Kafka's seed, its sign bit cleared, modulo the number of partitions: every client of every language
    does the same, so that a key's records are in one partition whoever wrote them.
    """
    cdef Input column
    cdef const uint8_t* p = NULL
    cdef int32_t length
    cdef int32_t* places = <int32_t*>out
    set_input(&column, key, count)
    with nogil:
        for row in range(count):
            length = field(&column, row, &p)
            places[row] = -1 if length < 0 else <int32_t>((murmur2_hash(p, length) & 0x7FFFFFFF) % partitions)


def order_by_place(uintptr_t places, int64_t count, int32_t partitions, uintptr_t out):
    """Write the numbers of the rows as uint64 to `out`, partition by partition, those of each in their order.

    `places` holds each row's partition as int32. Returns how many rows each partition has.

    A counting sort: one pass to count each partition's rows, one to write them where they belong. It is stable, which
    keeps the rows of a partition in their order.
    """
    cdef const int32_t* place = <const int32_t*>places
    cdef uint64_t* order = <uint64_t*>out
    cdef int64_t[::1] begins = array("q", bytes(8 * (partitions + 1)))
    cdef int64_t row, misplaced = -1
    cdef int32_t partition
    with nogil:
        for row in range(count):
            if place[row] < 0 or place[row] >= partitions:
                misplaced = row
                break
            begins[place[row] + 1] += 1
    if misplaced >= 0:
        raise ValueError(f"row {misplaced} is placed in partition {place[misplaced]} of {partitions}")
    counts = [begins[partition + 1] for partition in range(partitions)]
    with nogil:
        for partition in range(partitions):
            begins[partition + 1] += begins[partition]
        for row in range(count):
            order[begins[place[row]]] = <uint64_t>row
            begins[place[row]] += 1
    return counts
