"""ColumnReader: the records of many batches as columns, written straight into Arrow's buffers.

`add` names the batches of a buffer that are wanted; packed ones are unpacked there, one at a time. `fill` then reads
every record once and writes the columns that have a buffer. The caller (records.arrow) owns Arrow; here are only
addresses. Columns come in two forms: copied (offsets and bytes) and as views that point into the batches themselves.
Which batches are wanted is a `BatchFilter`'s to say.

How a row gets where it belongs: the caller has made buffers for the most rows and bytes that the batches can hold. Each
record is read once (`read_fields`); its numbers are stored at the row's place, its key and value copied behind those
before them, or noted as a view. Rows outside the offset range are passed over, which is how the first and last batch of
a range are cut.

Only `fill` loops over records, and it runs without the GIL. Everything it needs is in structs on the stack: the
compiler keeps copies of them in registers, because no pointer leads to those copies.
"""

cimport cython
from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uintptr_t
from libc.string cimport memset

from tidelog.records.kernel._batches cimport Batch, BatchRun
from tidelog.records.kernel._fields cimport Fields, read_fields
from tidelog.records.kernel._filter cimport BatchFilter
from tidelog.records.kernel._layout cimport CODEC_MASK, RECORD_BATCH_OVERHEAD, TIMESTAMP_TYPE_BIT

from tidelog.common.errors import CorruptRecordError
from tidelog.records.format.attributes import Codec
from tidelog.records.codec.compression import decompress

cdef extern from "tidelog/records/kernel/_wire.h":
    int64_t add_wrapping(int64_t a, int64_t b) nogil
    const uint8_t* read_varint(const uint8_t* p, const uint8_t* end, int32_t* out) nogil

cdef extern from "tidelog/records/kernel/_columns.h":
    void copy_bytes(uint8_t* to, const uint8_t* source, int32_t length, const uint8_t* end) nogil
    void write_view(uint8_t* to, const uint8_t* source, int32_t length, const uint8_t* end, int32_t buffer,
                    int32_t position) nogil
    void clear_bit(uint8_t* bits, int64_t index) nogil

cdef enum:
    SMALLEST_RECORD = 7
    LONGEST_VARINT = 5


cdef struct Headers:
    int32_t* ends               # of each row's headers, in the two child columns
    Column name
    Column value
    int64_t rows
    int64_t count


cdef inline void put(Column* column, const uint8_t* p, int32_t length, Part* part, int64_t row) noexcept nogil:
    """Write the nullable bytes at p as the column's next value.

    A null is a cleared bit and an empty value; the bits were all set before, so that columns without nulls touch none.
    """
    if column.views != NULL:
        if length < 0:
            memset(column.views + 16 * row, 0, 16)
        else:
            write_view(column.views + 16 * row, p, length, part.end, part.buffer, <int32_t>(p - part.base))
            column.used += length
    elif column.ends != NULL:
        if length > 0:
            copy_bytes(column.data + column.used, p, length, part.end)
            column.used += length
        column.ends[row + 1] = <int32_t>column.used
    if length < 0:
        column.nulls += 1
        if column.valid != NULL:
            clear_bit(column.valid, row)


cdef bint fill_part(Part* part, const uint8_t* available, Target* target) noexcept nogil:
    """Append the part's records as far as they are `available` to the columns, and leave those in the part that are
    not; whether they were sound. Then the part is empty, or waits for more bytes; else it starts at the fault."""
    cdef const uint8_t* p = part.start
    cdef Fields f
    cdef int64_t timestamp, offset, row = target.rows, headers = 0
    cdef int32_t left = part.count
    # Copies that no pointer leads to stay in registers, whatever is written to the columns.
    cdef Part own = part[0]
    cdef Column keys = target.key, values = target.value
    cdef int64_t* offsets = target.offset
    cdef int64_t* timestamps = target.timestamp
    cdef int64_t first = target.first, last = target.last
    while left > 0 and read_fields(p, available, &f) == 0:
        p = f.stop
        left -= 1
        offset = add_wrapping(own.base_offset, f.delta)
        if offset < first or offset > last:
            continue
        if offsets != NULL:
            offsets[row] = offset
        if timestamps != NULL:
            timestamp = add_wrapping(own.base_timestamp, f.timestamp)
            if own.timestamp_type:
                timestamp = own.fixed_timestamp
            timestamps[row] = timestamp
            if timestamp == -1:
                target.untimed += 1
        put(&keys, f.key, f.key_length, &own, row)
        put(&values, f.value, f.value_length, &own, row)
        headers += f.header_count
        row += 1
    if target.timestamp_type != NULL:
        memset(target.timestamp_type + target.rows, own.timestamp_type, row - target.rows)
    target.key = keys
    target.value = values
    target.rows = row
    target.headers += headers
    part.start = p
    part.count = left
    if left == 0:
        return p == part.end
    return is_cut_off(p, available, part.end)


cdef bint is_cut_off(const uint8_t* p, const uint8_t* available, const uint8_t* end) noexcept nogil:
    """Whether the record at p could be read if all bytes up to `end` were there, as far as can be seen now.

    Tells a record that is not all there yet from one that is wrong, when a batch is decoded while it is being read: the
    length may be cut itself, or name bytes that have yet to come.
    """
    cdef int32_t length = 0
    cdef const uint8_t* body = read_varint(p, available, &length)
    if body == NULL:
        return available < end and available - p < LONGEST_VARINT
    return length >= 0 and available - body < length <= end - body


cdef void fill_headers_of(Part* part, int64_t first, int64_t last, Headers* headers) noexcept nogil:
    """Count the headers and their bytes in a part that `fill_part` has found to be sound; write them too if there are
    buffers to write them to."""
    cdef const uint8_t* p = part.start
    cdef Fields f
    cdef int32_t length = 0
    cdef int64_t offset
    for _ in range(part.count):
        if read_fields(p, part.end, &f) != 0:
            return
        p = f.stop
        offset = add_wrapping(part.base_offset, f.delta)
        if offset < first or offset > last:
            continue
        for _ in range(f.header_count):
            f.headers = read_varint(f.headers, f.stop, &length)
            put_header(&headers.name, f.headers, length, part, headers.count)
            f.headers = read_varint(f.headers + length, f.stop, &length)
            put_header(&headers.value, f.headers, length, part, headers.count)
            if length > 0:
                f.headers += length
            headers.count += 1
        headers.rows += 1
        if headers.ends != NULL:
            headers.ends[headers.rows] = <int32_t>headers.count


cdef inline void put_header(Column* column, const uint8_t* p, int32_t length, Part* part, int64_t row) noexcept nogil:
    """Without a buffer only the bytes are counted: the first of the two walks over headers."""
    if column.ends != NULL:
        put(column, p, length, part, row)
    elif length > 0:
        column.used += length


@cython.no_gc_clear  # the collector must not drop the buffer's owner before it is released
cdef class Held:
    """A buffer that is kept in place while addresses point into it.

    Arrow's views keep their sources alive by themselves, but the addresses taken here are plain numbers: as long as
    they are used, the buffer must neither move nor go.
    """

    cdef Py_buffer view
    cdef const uint8_t* data

    def __cinit__(self, source):
        cdef Py_buffer base
        PyObject_GetBuffer(source, &self.view, PyBUF_SIMPLE)
        self.data = <const uint8_t*>self.view.buf
        if isinstance(source, memoryview):  # hold what it is a view of (see BatchRun.hold_base)
            PyObject_GetBuffer((<object>source).obj, &base, PyBUF_SIMPLE)
            if 0 <= self.data - <const uint8_t*>base.buf <= base.len - self.view.len:
                PyBuffer_Release(&self.view)
                self.view = base
            else:
                PyBuffer_Release(&base)

    def __dealloc__(self):
        PyBuffer_Release(&self.view)


cdef class ColumnReader:
    """`rows_bound` and `bytes_bound` grow with every `add`: so large must the buffers be that `fill` gets.
    `next_offset` is that behind the last batch seen, wanted or not: where a reader goes on, although compaction or a
    filter has left nothing.
    """
    cdef Part* parts
    cdef Py_ssize_t count, capacity
    cdef BatchFilter filter
    cdef list held
    cdef object limit
    cdef object up_convert
    cdef readonly list buffers  # what a view's buffer number names
    cdef readonly int64_t rows_bound
    cdef readonly int64_t bytes_bound
    cdef readonly int64_t next_offset

    def __init__(self, BatchFilter wanted, up_convert, *, limit):
        """`up_convert` makes batches of the messages of magic 0 and 1 that a buffer holds: `format.convert` builds on
        the kernel, so it is handed in."""
        self.filter = wanted
        self.held = []
        self.buffers = []
        self.limit = limit
        self.up_convert = up_convert
        self.next_offset = -1

    def __dealloc__(self):
        PyMem_Free(self.parts)

    cdef const uint8_t* hold(self, source) except NULL:
        """Keep the buffer and number it; answer its address."""
        cdef Held held = Held(source)
        self.held.append(held)
        self.buffers.append(source)
        return held.data

    def add(self, source, bint check_crc=False):
        """Name the wanted batches of a buffer; return how many bytes of it were whole batches.

        A buffer that holds messages of magic 0 or 1 is converted as a whole, and its batches are then added as any
        others: old segments are rare, and one way to read records is enough. Bytes behind the last whole batch are
        left: the caller reads them again with what follows.
        """
        cdef BatchRun run = BatchRun(source)
        cdef Batch* batch
        end = run.scan()
        if check_crc:
            run.check(crc=True, records=False)
        for index in range(run.count):
            if run.batches[index].magic != 2:
                self.add(self.up_convert(source, limit=self.limit))
                return end
        if run.count == 0:
            return end
        cdef const uint8_t* base = self.hold(source)
        cdef int32_t number = <int32_t>len(self.buffers) - 1
        for index in range(run.count):
            batch = &run.batches[index]
            self.next_offset = batch.base_offset + batch.last_offset_delta + 1
            if not self.filter.wants(batch, base + batch.position):
                continue
            if batch.attributes & CODEC_MASK:
                self.add_packed(run, batch)
            else:
                self.add_part(batch, base, base + batch.position + RECORD_BATCH_OVERHEAD,
                              batch.size - RECORD_BATCH_OVERHEAD, number)
        return end

    cdef int add_packed(self, BatchRun run, Batch* batch) except -1:
        """The unpacked bytes are a buffer of their own, which views may point into; `limit` bounds them."""
        codec = batch.attributes & CODEC_MASK
        if codec > 4:
            raise CorruptRecordError(f"codec {codec}: expected 0 to 4", batch.position)
        packed = run.view_of(batch.position + RECORD_BATCH_OVERHEAD, batch.size - RECORD_BATCH_OVERHEAD)
        cdef bytes plain = decompress(Codec(codec), packed, limit=self.limit)
        cdef const uint8_t* start = self.hold(plain)
        return self.add_part(batch, start, start, len(plain), <int32_t>len(self.buffers) - 1)

    cdef int add_part(self, Batch* batch, const uint8_t* base, const uint8_t* start, Py_ssize_t size,
                      int32_t number) except -1:
        cdef Part* part
        cdef Part* more
        if self.count == self.capacity:
            more = <Part*>PyMem_Realloc(self.parts, max(2 * self.capacity, 16) * sizeof(Part))
            if more == NULL:
                raise MemoryError
            self.parts = more
            self.capacity = max(2 * self.capacity, 16)
        part = &self.parts[self.count]
        set_part(part, batch, start, size)
        part.base = base
        part.buffer = number
        self.count += 1
        self.rows_bound += batch.record_count
        self.bytes_bound += size
        return 0

    def fill(self, **addresses):
        """Write the columns whose addresses are given (see set_target); return what target_sizes says.

        A record that is wrong is an error with its place in its buffer, and no column is handed out: half of a batch
        would look like all of it.
        """
        cdef Target target
        cdef Part part
        cdef bint sound = True
        cdef Py_ssize_t index = 0
        set_target(&target, addresses, self.rows_bound)
        target.first = self.filter.first
        target.last = self.filter.last
        with nogil:
            while index < self.count and sound:
                part = self.parts[index]
                sound = fill_part(&part, part.end, &target)
                index += 1
        if not sound:
            raise CorruptRecordError("malformed record", part.start - part.base)
        return target_sizes(&target)

    def fill_headers(self, int64_t count=0, uintptr_t ends=0, name=None, value=None):
        """Write the `count` headers of the rows that `fill` wrote; without addresses, only measure them.
        Return (name bytes, value bytes, null values)."""
        cdef Headers headers
        headers.ends = <int32_t*>ends
        set_column(&headers.name, name, count)
        set_column(&headers.value, value, count)
        headers.rows = headers.count = 0
        cdef int64_t first = self.filter.first, last = self.filter.last
        if ends:
            headers.ends[0] = 0
        with nogil:
            for index in range(self.count):
                fill_headers_of(&self.parts[index], first, last, &headers)
        return headers.name.used, headers.value.used, headers.value.nulls


cdef int set_part(Part* part, Batch* batch, const uint8_t* start, Py_ssize_t size) except -1:
    """The part that is a batch's records, which lie in `size` bytes from `start` on.

    A record has seven bytes at least, so that a count above a seventh of the bytes is a lie: refused before any buffer
    is made for it.
    """
    if batch.record_count < 0 or batch.record_count > size // SMALLEST_RECORD:
        raise CorruptRecordError(f"{size} bytes cannot hold {batch.record_count} records", batch.position)
    part.start = part.base = start
    part.end = start + size
    part.base_offset = batch.base_offset
    part.base_timestamp = batch.base_timestamp
    part.fixed_timestamp = batch.max_timestamp
    part.timestamp_type = 1 if batch.attributes & TIMESTAMP_TYPE_BIT else 0
    part.count = batch.record_count
    part.buffer = 0
    return 0


cdef int set_target(Target* target, dict addresses, int64_t rows) except -1:
    """Point the columns at their buffers: `offset`, `timestamp`, `timestamp_type`, and for `key` and `value` (ends,
    data, views, valid), zero for none. What is not named is not written."""
    target.offset = <int64_t*><uintptr_t>addresses.get("offset", 0)
    target.timestamp = <int64_t*><uintptr_t>addresses.get("timestamp", 0)
    target.timestamp_type = <int8_t*><uintptr_t>addresses.get("timestamp_type", 0)
    set_column(&target.key, addresses.get("key"), rows)
    set_column(&target.value, addresses.get("value"), rows)
    target.rows = target.untimed = target.headers = 0
    return 0


cdef tuple target_sizes(Target* target):
    """(rows, rows without timestamp, headers, key bytes, null keys, value bytes, null values)"""
    return (target.rows, target.untimed, target.headers, target.key.used, target.key.nulls, target.value.used,
            target.value.nulls)


cdef int set_column(Column* column, addresses, int64_t rows) except -1:
    """Point the column at its buffers; all of its rows are valid until a null is found."""
    cdef uintptr_t ends = 0, data = 0, views = 0, valid = 0
    if addresses is not None:
        ends, data, views, valid = addresses
    column.ends = <int32_t*>ends
    column.data = <uint8_t*>data
    column.views = <uint8_t*>views
    column.valid = <uint8_t*>valid
    column.used = column.nulls = 0
    if ends:
        column.ends[0] = 0
    if valid:
        memset(column.valid, 0xFF, (rows + 7) // 8)
    return 0
