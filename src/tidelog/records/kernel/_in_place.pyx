"""InPlaceReader: columns from batches that lie in the very buffer which becomes the values' column.

    read from the file       |head|rec value|rec value|rec value|head|rec val
    after the first `take`   value value value........................rec val    <- read on from here

A value's place in the column is never behind its place in the batches, so values are moved to the front, and there is
no second buffer for the caches to hold: the file is read in small steps, and each step is decoded while it is warm.
Offsets, timestamps and keys go to buffers of their own. That the 61 bytes of a batch's header lie in front of its
first value is what makes short copies safe (`_columns.h`).

Only batches that are neither packed nor of an old format can be read so, and no headers, which take two walks. A batch
counts when all of its bytes are there: `sound` is what was filled up to then, `target` may be ahead of it.
"""

from libc.stdint cimport int64_t, uint8_t, uintptr_t

from tidelog.records.kernel._batches cimport Batch, entry_size, read_v2
from tidelog.records.kernel._columns cimport Part, Target, fill_part, set_part, set_target, target_sizes
from tidelog.records.kernel._filter cimport BatchFilter
from tidelog.records.kernel._layout cimport CODEC_MASK, CONTROL_BIT, MAGIC_OFFSET, RECORD_BATCH_OVERHEAD

from tidelog.common.errors import CorruptRecordError



def peek(bytes head, int64_t length):
    """(size, number of records) of the batch that starts with these bytes, or None if it is cut off: there are `length`
    bytes. Of a batch that cannot be read in place, the number is -1."""
    cdef const uint8_t* p = <const uint8_t*><const char*>head
    cdef Batch batch
    cdef Part part
    if len(head) <= MAGIC_OFFSET:
        return None
    cdef int64_t size = entry_size(p, 0)
    if size > length or (p[MAGIC_OFFSET] == 2 and len(head) < RECORD_BATCH_OVERHEAD):
        return None
    if p[MAGIC_OFFSET] != 2:
        return size, -1
    read_v2(&batch, p)
    if batch.attributes & CODEC_MASK:
        return size, -1
    batch.position = 0
    set_part(&part, &batch, p, size - RECORD_BATCH_OVERHEAD)  # a number that cannot be is an error
    return size, part.count


cdef class InPlaceReader:
    """`take` is called with ever more bytes of the same buffer. It decodes what is whole, moves values to the front,
    and remembers where it stopped, in the middle of a batch if need be. Two targets are kept: `target` is ahead, and
    `sound` is where the last whole batch ended, so that half a batch never shows.
    """
    cdef BatchFilter filter
    cdef Target target
    cdef Target sound
    cdef Part part              # of the batch that is being read
    cdef int64_t after          # the offset behind that batch
    cdef Py_ssize_t stop        # its end in the buffer; not above `size` when there is none
    cdef uint8_t* data
    cdef Py_ssize_t capacity
    cdef int64_t rows
    cdef readonly Py_ssize_t size         # bytes of the batches that were read whole
    cdef readonly int64_t next_offset     # behind the last of them

    def __init__(self, BatchFilter wanted, uintptr_t data, Py_ssize_t capacity, int64_t rows, dict addresses):
        """`rows`: how many the columns have room for."""
        self.filter = wanted
        self.data = <uint8_t*>data
        self.capacity = capacity
        self.rows = rows
        set_target(&self.target, addresses, rows)
        self.target.first = wanted.first
        self.target.last = wanted.last
        self.sound = self.target
        self.next_offset = -1

    @property
    def sizes(self):
        """What `ColumnReader.fill` returns."""
        return target_sizes(&self.sound)

    def take(self, Py_ssize_t have):
        """Go on with the buffer's first `have` bytes; whether more bytes would help. What is wrong with the first batch
        is an error, what is wrong with a later one ends the columns in front of it."""
        try:
            return self.take_c(have)
        except CorruptRecordError:
            if self.size == 0:
                raise
            return False

    cdef bint take_c(self, Py_ssize_t have) except -1:
        """Batch by batch, until the bytes or the batches run out; whether more bytes would help."""
        cdef bint sound
        cdef const uint8_t* available
        while self.stop > self.size or self.open_next(have):
            if self.stop <= self.size:
                return True
            available = min(self.data + have, self.part.end)
            with nogil:
                sound = fill_part(&self.part, available, &self.target)
            if not sound:
                raise CorruptRecordError("malformed record", self.part.start - self.data)
            if have < self.stop:
                return True
            self.size = self.stop
            self.next_offset = self.after
            self.sound = self.target
        return False

    cdef bint open_next(self, Py_ssize_t have) except -1:
        """Begin with the batch after the last one, if its header is there; false when it cannot be read into this
        buffer or is not wanted any more.

        A control batch is waited for until it is whole, as its one record tells the filter what it ends. Batches beyond
        the range, packed ones, and those that would need more rows than there is room for end the columns here: the
        caller begins anew behind the last whole batch.
        """
        cdef Batch batch
        cdef const uint8_t* p = self.data + self.size
        cdef Py_ssize_t left = have - self.size
        cdef int64_t size
        if left <= MAGIC_OFFSET:
            return self.capacity - self.size > MAGIC_OFFSET
        size = entry_size(p, self.size)
        if p[MAGIC_OFFSET] != 2 or size > self.capacity - self.size:
            return False
        if left < RECORD_BATCH_OVERHEAD:
            return True
        read_v2(&batch, p)
        batch.position = self.size
        batch.size = <int>size
        if batch.attributes & CODEC_MASK or batch.base_offset > self.filter.last:
            return False
        if batch.attributes & CONTROL_BIT and left < size:
            return True
        set_part(&self.part, &batch, p + RECORD_BATCH_OVERHEAD, size - RECORD_BATCH_OVERHEAD)
        if batch.record_count > self.rows - self.target.rows:
            return False
        if not self.filter.wants(&batch, p):
            self.part.count = 0
            self.part.start = self.part.end
        self.after = batch.base_offset + batch.last_offset_delta + 1
        self.stop = self.size + size
        return True
