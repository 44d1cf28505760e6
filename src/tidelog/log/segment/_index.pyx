# cython: language_level=3
"""The two sparse indexes of a segment, and the rule by which entries are made.

    .index       8-byte entries: last offset of a batch - base offset (int32), where that batch starts (int32)
    .timeindex  12-byte entries: largest timestamp so far (int64), last offset of the batch it came with - base offset
                (int32)

Both are arrays of big-endian entries in rising order, without header or checksum. The file of a segment that is written
to is kept at its full size (sparse on disk), so that the map need not grow; it is cut to what is used when the segment
ends. A file found on disk counts as full to its length. The active segment's grows back with its first new entry.

A sparse file has no room on disk for what was never written, and a map that is written to where the disk has none left
ends the process. So entries are only written below `reserved`, which is moved on a few pages at a time by asking the
disk for room (`MappedFile.reserve`): that fails as any write does. A file that is not written to (a closed segment's,
or one found on disk until its first new entry) is mapped without permission to write.

A look-up is a binary search for the largest entry that is not above the target. Nearly all look-ups (followers,
consumers near the end) go to the last pages, so those are searched first: a plain binary search would touch pages all
over the file that the page cache may have dropped ("warm section", 8192 bytes of entries).

An example: `index.interval.bytes` is 4096 and batches are 1,000 bytes each. The entry is made before the sixth batch
(5,000 bytes have come since the segment began, which is more than 4096), and names the sixth batch's last offset and
position 5000; then the counting begins again at 0. An offset within the first five is found by walking from the file's
start.

A closed map is opened on demand (`Handle`): every entry point calls `ready()` and then works on the pointer in C, with
the interpreter lock held, so that no other thread can close the map meanwhile.
"""

from cpython.memoryview cimport PyMemoryView_GET_BUFFER
from libc.stdint cimport INT32_MAX, uint32_t

from tidelog.log.segment._handles cimport FileBudget, Handle
from tidelog.records.kernel._batches cimport Batch, BatchRun

from tidelog.common.errors import StorageError
from tidelog.log.names import file_name

cdef enum:
    WARM_BYTES = 8192
    OFFSET_ENTRY = 8
    TIME_ENTRY = 12
    # How much is reserved at once: a page at first, for there are many small partitions, then as much as there is.
    LEAST_ROOM = 4096
    MOST_ROOM = 65536

cdef extern from "tidelog/records/kernel/_wire.h":
    int32_t load_i32(const uint8_t* p) nogil
    int64_t load_i64(const uint8_t* p) nogil
    void store_32(uint8_t* p, uint32_t v) nogil
    void store_64(uint8_t* p, int64_t v) nogil


class CorruptIndexError(StorageError):
    """An index that contradicts itself; it is rebuilt from its segment's data."""


cdef class SparseIndex(Handle):
    """What both indexes share: the map, the search, cutting and growing."""

    def __init__(self, home, int64_t base_offset, int64_t max_size, str suffix=""):
        Handle.__init__(self, home.files)
        self.home = home
        self.base_offset = base_offset
        self.max_size = max_size - max_size % self.width
        self.suffix = suffix
        self.count = -1

    @property
    def path(self):
        return self.home.file(file_name(self.base_offset, self.kind, self.suffix))

    @property
    def entries(self):
        self.known()
        return self.count

    @property
    def size(self):
        """The bytes in use."""
        self.known()
        return self.count * self.width

    @property
    def full(self):
        self.known()
        return self.count >= self.max_entries()

    def create(self, bint fresh=False):
        """Make the file at its full size; no entry is in use. `fresh`: no such file is there."""
        self.count = 0
        path = self.path
        if not fresh:
            self.home.fs.unlink(path, missing_ok=True)
        self.mapped = self.home.fs.map(path, size=self.max_size)
        self.writing = True
        self.ensure_open()

    def _open(self):
        mapped, self.mapped = self.mapped, None
        if mapped is None:
            mapped = self._map()
        if self.data != NULL:  # another thread opened it meanwhile
            mapped.close()
        else:
            self.attach(mapped)

    def _map(self):
        return self.home.fs.map(self.path, write=self.writing)

    def _close(self):
        self.detach()
        mapped, self.mapped = self.mapped, None
        if mapped is not None:
            mapped.close()

    cdef int attach(self, object mapped) except -1:
        """Use a map. How many entries it holds is known already, or else the file counts as full: zeros behind the last
        entry of a file that was not cut to size are entries to whoever looks, and a recovery takes them out."""
        self.window = memoryview(mapped.data)
        self.data = <uint8_t*>PyMemoryView_GET_BUFFER(self.window).buf
        self.length = PyMemoryView_GET_BUFFER(self.window).len
        self.mapped = mapped
        if self.count < 0 or self.count * self.width > self.length:
            self.count = self.length // self.width
        self.reserved = self.count * self.width if self.writing else 0
        return 0

    cdef int detach(self) except -1:
        """Let go of the map, so that it can be closed or resized."""
        window, self.window = self.window, None
        self.data = NULL
        if window is not None:
            window.release()
        return 0

    cdef int known(self) except -1:
        """The number of entries is known (the file was looked at once)."""
        if self.count < 0:
            self.ready()
        return 0

    cdef int ready(self) except -1:
        """The map is there. Nothing may call Python between this and the use of `data`."""
        while self.data == NULL or not self.is_open:
            self.ensure_open()
        if self.budget.head.older is not self:
            self.touch()
        return 0

    cdef int room(self) except -1:
        """There is room for one entry more, in the map and on disk; false when the index has its full size already."""
        self.ready()
        if (self.count + 1) * self.width <= self.reserved:
            return 1
        return self.make_room((self.count + 1) * self.width)

    cdef int make_room(self, int64_t needed) except -1:
        """Reserve disk space up to `needed` at least: twice what there is, within limits, so that a large index asks
        seldom and a small one takes little. False when the index is at its full size."""
        cdef int64_t end
        if needed > self.max_size:
            return 0
        if not self.writing or self.length < self.max_size:
            self.change(self.max_size, True)
        end = max(self.reserved + min(max(self.reserved, LEAST_ROOM), MOST_ROOM), needed)
        end = min((end + LEAST_ROOM - 1) // LEAST_ROOM * LEAST_ROOM, self.length)
        self.pins += 1  # asking the disk calls Python
        try:
            self.mapped.reserve(self.reserved, end - self.reserved)
        finally:
            self.pins -= 1
        self.reserved = end
        self.ready()
        return 1

    def resize(self, int64_t size):
        """Cut or grow the file to `size` bytes (rounded down to whole entries), to be written to."""
        size -= size % self.width
        self.ready()
        if size != self.length or not self.writing:
            self.change(size, True)

    def trim(self):
        """Cut the file to the entries in use; it is only read from now on."""
        self.known()
        self.ready()
        if self.count * self.width != self.length or self.writing:
            self.change(self.count * self.width, False)

    cdef int change(self, int64_t size, bint writing) except -1:
        """Give the file another size and map it anew, for writing or for reading alone."""
        self.pins += 1  # mapping anew calls Python
        try:
            mapped = self.mapped
            self.detach()
            try:
                if not self.writing:  # it was opened to be read
                    mapped.close()
                    mapped = self.home.fs.map(self.path, size=size)
                self.writing = writing
                if not writing:
                    mapped.seal(size)
                elif mapped.size != size:
                    mapped.resize(size)
            finally:
                self.attach(mapped)
        finally:
            self.pins -= 1
        return 0

    def finish(self):
        """Cut to size and let go of the file; whether that changed it. One that was never opened is as it should be."""
        cdef int64_t size = self.count * self.width
        self.close()
        if self.count < 0 or size == self.length:
            return False
        self.cut_closed(size)
        return True

    def empty(self, int64_t size=-1):
        """No entry is in use, whatever the file holds: its segment is empty. The file is not opened for that, nor
        touched when it is empty already (`size`; -1: not known, or there is none)."""
        self.close()
        self.count = 0
        if size == 0:
            self.length = self.reserved = 0
            self.writing = False
            return
        try:
            self.cut_closed(0)
        except FileNotFoundError:
            self.create()
            self.trim()

    cdef int cut_closed(self, int64_t size) except -1:
        """Cut the file, not mapped: there may be thousands, at the stop of a broker with many partitions."""
        self.home.fs.truncate(self.path, size)
        self.length = size
        self.reserved = 0
        self.writing = False
        return 0

    def sync(self):
        """Make the entries durable. May run on any thread."""
        self.pin()
        try:
            mapped = self.mapped
            if mapped is not None:
                mapped.sync()
        finally:
            self.unpin()

    def reset(self):
        """Forget all entries and grow to the full size: the index is about to be built anew."""
        if not self.home.fs.exists(self.path):
            self.close()
            self.create()
            return
        self.ready()
        self.count = 0
        self.resize(self.max_size)

    def set_suffix(self, str suffix):
        """The file was renamed by its segment."""
        self.suffix = suffix

    cdef int64_t max_entries(self) noexcept:
        """`segment.index.bytes` in entries, rounded down: a full index makes the segment roll."""
        return self.max_size // self.width

    cdef int64_t key_at(self, int64_t slot) noexcept:
        return 0

    cdef int64_t offset_at(self, int64_t slot) noexcept:
        return 0

    cdef int64_t floor_slot(self, int64_t target, bint by_offset) noexcept:
        """The last slot whose key (or offset) is not above `target`, or -1."""
        cdef int64_t low = 0, high = self.count - 1, middle, key
        cdef int64_t hot = max(0, self.count - 1 - self.warm)
        if self.count == 0:
            return -1
        key = self.offset_at(hot) if by_offset else self.key_at(hot)
        if key <= target:
            low = hot
        else:
            key = self.offset_at(0) if by_offset else self.key_at(0)
            if key > target:
                return -1
            high = hot
        while low < high:
            middle = (low + high + 1) // 2
            key = self.offset_at(middle) if by_offset else self.key_at(middle)
            if key <= target:
                low = middle
            else:
                high = middle - 1
        return low

    cdef int cut(self, int64_t count) except -1:
        """Entries from this one on are not in use any more; their bytes stay until they are overwritten or cut off."""
        self.count = count
        return 0

    def truncate_to(self, int64_t offset):
        """Drop the entries of `offset` and above."""
        cdef int64_t slot
        self.ready()
        slot = self.floor_slot(offset, True)
        if slot < 0:
            self.cut(0)
        elif self.offset_at(slot) == offset:
            self.cut(slot)
        else:
            self.cut(slot + 1)


cdef class OffsetIndex(SparseIndex):
    """Offset -> position in the segment's file."""

    def __cinit__(self):
        self.kind = ".index"
        self.width = OFFSET_ENTRY
        self.warm = WARM_BYTES // OFFSET_ENTRY

    cdef int64_t key_at(self, int64_t slot) noexcept:
        return self.base_offset + load_i32(self.data + slot * OFFSET_ENTRY)

    cdef int64_t offset_at(self, int64_t slot) noexcept:
        return self.base_offset + load_i32(self.data + slot * OFFSET_ENTRY)

    cdef int64_t position_at(self, int64_t slot) noexcept:
        return load_i32(self.data + slot * OFFSET_ENTRY + 4)

    cdef int64_t position_floor(self, int64_t offset) except -1:
        """Where to begin to look for an offset: the floor entry's place, or the file's start."""
        cdef int64_t slot
        self.ready()
        slot = self.floor_slot(offset, True)
        return 0 if slot < 0 else self.position_at(slot)

    cdef int add(self, int64_t offset, int64_t position) except -1:
        """Append an entry; false when the index is full."""
        cdef uint8_t* at
        if self.count >= 0 and self.count >= self.max_entries():
            return 0
        if not self.room():
            return 0
        if self.count > 0 and offset <= self.offset_at(self.count - 1):
            raise CorruptIndexError(f"{self.path}: offset {offset} does not follow {self.offset_at(self.count - 1)}")
        if offset - self.base_offset > INT32_MAX or offset < self.base_offset:
            raise CorruptIndexError(f"{self.path}: offset {offset} is too far from {self.base_offset}")
        at = self.data + self.count * OFFSET_ENTRY
        store_32(at, <uint32_t>(offset - self.base_offset))
        store_32(at + 4, <uint32_t>position)
        self.count += 1
        return 1

    def append(self, int64_t offset, int64_t position):
        """Append an entry; return whether there was room."""
        return bool(self.add(offset, position))

    def lookup(self, int64_t offset):
        """(offset, position) of the last entry that is not above `offset`; (base offset, 0) when there is none."""
        cdef int64_t slot
        self.ready()
        slot = self.floor_slot(offset, True)
        if slot < 0:
            return self.base_offset, 0
        return self.offset_at(slot), self.position_at(slot)

    def span(self, int64_t offset):
        """(position, length) of the part of the file to search for `offset`: from the last entry that is not above
        it to the next entry (length 0: to the file's end)."""
        cdef int64_t slot, start
        self.ready()
        slot = self.floor_slot(offset, True)
        start = 0 if slot < 0 else self.position_at(slot)
        return start, (self.position_at(slot + 1) - start if slot + 1 < self.count else 0)

    def entry(self, int64_t slot):
        """(offset, position) of one entry."""
        self.ready()
        if not 0 <= slot < self.count:
            raise IndexError(f"the index has {self.count} entries")
        return self.offset_at(slot), self.position_at(slot)

    @property
    def last_offset(self):
        """The last entry's offset; the base offset when there is none."""
        self.ready()
        return self.offset_at(self.count - 1) if self.count else self.base_offset

    def check(self):
        """Raise CorruptIndexError unless the entries rise (the whole index is read)."""
        cdef int64_t slot, offset = self.base_offset - 1, position = -1
        self.ready()
        for slot in range(self.count):
            if self.offset_at(slot) <= offset or self.position_at(slot) <= position:
                raise CorruptIndexError(f"{self.path}: entry {slot} does not follow the one before it")
            offset = self.offset_at(slot)
            position = self.position_at(slot)


cdef class TimeIndex(SparseIndex):
    """Timestamp -> offset: no record below the entry's offset has a timestamp above the entry's."""

    def __cinit__(self):
        self.kind = ".timeindex"
        self.width = TIME_ENTRY
        self.warm = WARM_BYTES // TIME_ENTRY

    def _map(self):
        try:
            return SparseIndex._map(self)
        except FileNotFoundError:  # directories of brokers before 0.10.1 have none
            return self.home.fs.map(self.path, size=0)

    @property
    def full(self):
        """The last slot is kept for the entry that the segment's end forces."""
        self.known()
        return self.count >= self.max_entries() - 1

    cdef int64_t key_at(self, int64_t slot) noexcept:
        return load_i64(self.data + slot * TIME_ENTRY)

    cdef int64_t offset_at(self, int64_t slot) noexcept:
        return self.base_offset + load_i32(self.data + slot * TIME_ENTRY + 8)

    cdef int maybe_add(self, int64_t timestamp, int64_t offset, bint forced) except -1:
        """Append an entry if its timestamp is above the last one's (and there is room).

        Records that come late add nothing: what they say, that no record so far is newer, was said before.
        """
        cdef uint8_t* at
        cdef int64_t last_timestamp = -1
        self.ready()
        if self.count > 0:
            last_timestamp = self.key_at(self.count - 1)
            if timestamp > last_timestamp and offset < self.offset_at(self.count - 1):
                raise CorruptIndexError(f"{self.path}: offset {offset} lies before {self.offset_at(self.count - 1)}")
        if timestamp <= last_timestamp:
            return 0
        if self.count >= self.max_entries() - (0 if forced else 1) or not self.room():
            return 0
        at = self.data + self.count * TIME_ENTRY
        store_64(at, timestamp)
        store_32(at + 8, <uint32_t>(offset - self.base_offset))
        self.count += 1
        return 1

    def maybe_append(self, int64_t timestamp, int64_t offset, bint forced=False):
        """Append an entry if its timestamp is above the last one's; `forced` may use the reserved last slot."""
        return bool(self.maybe_add(timestamp, offset, forced))

    def lookup(self, int64_t timestamp):
        """(timestamp, offset) of the last entry that is not above `timestamp`; (-1, base offset) when there is none."""
        cdef int64_t slot
        self.ready()
        slot = self.floor_slot(timestamp, False)
        if slot < 0:
            return -1, self.base_offset
        return self.key_at(slot), self.offset_at(slot)

    def entry(self, int64_t slot):
        """(timestamp, offset) of one entry."""
        self.ready()
        if not 0 <= slot < self.count:
            raise IndexError(f"the index has {self.count} entries")
        return self.key_at(slot), self.offset_at(slot)

    @property
    def last_entry(self):
        """(timestamp, offset) of the last entry; (-1, base offset) when there is none."""
        self.ready()
        if not self.count:
            return -1, self.base_offset
        return self.key_at(self.count - 1), self.offset_at(self.count - 1)

    def check(self):
        """Raise CorruptIndexError unless the entries rise (the whole index is read)."""
        cdef int64_t slot, timestamp = -1, offset = self.base_offset - 1
        self.ready()
        for slot in range(self.count):
            if self.key_at(slot) <= timestamp or self.offset_at(slot) < offset:
                raise CorruptIndexError(f"{self.path}: entry {slot} does not follow the one before it")
            timestamp = self.key_at(slot)
            offset = self.offset_at(slot)


cdef class IndexWriter:
    """The rule by which appended batches get index entries, applied to a whole run at once.

    Before each batch: if more than `interval` bytes have come since the last entry, the batch's last offset and its
    position are entered, and the largest timestamp so far (the batch's own included) is offered to the time index.
    """

    def __cinit__(self, OffsetIndex offsets, TimeIndex times, int64_t interval):
        self.offsets = offsets
        self.times = times
        self.interval = interval
        self.max_timestamp = -1
        self.offset_of_max_timestamp = -1

    cdef int add_entries(self, int64_t last_offset, int64_t position) except -1:
        """An entry in both. A full offset index takes none, and then the time index must not get ahead of it."""
        if self.offsets.add(last_offset, position):
            self.times.maybe_add(self.max_timestamp, self.offset_of_max_timestamp, False)
        return 0

    def append(self, BatchRun run, Py_ssize_t first, Py_ssize_t stop, int64_t position):
        """Index the batches [first, stop) of a run that was written from `position` on."""
        cdef Py_ssize_t i
        cdef Batch* batch
        cdef int64_t last_offset
        for i in range(first, stop):
            batch = &run.batches[i]
            last_offset = batch.base_offset + batch.last_offset_delta
            if batch.max_timestamp > self.max_timestamp:
                self.max_timestamp = batch.max_timestamp
                self.offset_of_max_timestamp = last_offset
            if self.since_last_entry > self.interval:
                self.add_entries(last_offset, position)
                self.since_last_entry = 0
            position += batch.size
            self.since_last_entry += batch.size

    def restart(self):
        """Begin to build the indexes anew."""
        self.offsets.reset()
        self.times.reset()
        self.last_indexed_position = 0
        self.since_last_entry = 0
        self.max_timestamp = -1
        self.offset_of_max_timestamp = -1

    def recover(self, BatchRun run, Py_ssize_t first, Py_ssize_t stop, int64_t position):
        """Like `append`, by the rule that recovery uses: the distance of positions."""
        cdef Py_ssize_t i
        cdef Batch* batch
        cdef int64_t last_offset
        for i in range(first, stop):
            batch = &run.batches[i]
            last_offset = batch.base_offset + batch.last_offset_delta
            if batch.max_timestamp > self.max_timestamp:
                self.max_timestamp = batch.max_timestamp
                self.offset_of_max_timestamp = last_offset
            if position - self.last_indexed_position > self.interval:
                self.add_entries(last_offset, position)
                self.last_indexed_position = position
            position += batch.size

    def no_room_for(self, int64_t last_offset):
        """Whether a batch that ends at this offset needs a new segment because of the indexes."""
        self.offsets.known()
        self.times.known()
        return (self.offsets.count >= self.offsets.max_entries() or self.times.count >= self.times.max_entries() - 1
                or last_offset - self.offsets.base_offset > INT32_MAX or last_offset < self.offsets.base_offset)

    def force_time_entry(self):
        """The entry that a segment's end (roll, close, recovery) forces; whether it is new."""
        if self.max_timestamp < 0:
            return False
        return bool(self.times.maybe_add(self.max_timestamp, self.offset_of_max_timestamp, True))
