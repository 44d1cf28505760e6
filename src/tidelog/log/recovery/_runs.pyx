# cython: language_level=3
"""What a partition log asks about a run of batches before it writes it, answered without a loop in Python.

A run may hold thousands of small batches, of as many requests: whatever is asked of each of them is asked here. All of
it is read off the parsed headers (`BatchRun.batches`); no record is touched.
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t

from tidelog.records.kernel._batches cimport Batch, BatchRun

cdef enum:
    CONTROL_BIT = 0x20


cdef class Survey:
    """The run as a whole. Offsets are those that the batches carry; an append asks for it after stamping them.

    `in_order`: each batch begins behind the one before it. `legacy`: at least one has magic 0 or 1, and then the first
    offset is only known to be at or below what the header says.
    """

    cdef readonly int64_t first_offset
    cdef readonly int64_t last_offset
    cdef readonly int64_t max_timestamp
    cdef readonly int32_t largest_batch
    cdef readonly bint in_order
    cdef readonly bint has_producers
    cdef readonly bint legacy


def survey(BatchRun run, Py_ssize_t first, Py_ssize_t stop):
    """Look at the headers of the batches [first, stop), at least one."""
    cdef Py_ssize_t i
    cdef Batch* batch
    cdef int64_t last = -1
    cdef Survey facts = Survey.__new__(Survey)
    facts.first_offset = run.batches[first].base_offset
    facts.max_timestamp = -1
    facts.in_order = True
    for i in range(first, stop):
        batch = &run.batches[i]
        if batch.base_offset <= last or batch.last_offset_delta < 0:
            facts.in_order = False
        last = batch.base_offset + batch.last_offset_delta
        if batch.max_timestamp > facts.max_timestamp:
            facts.max_timestamp = batch.max_timestamp
        if batch.size > facts.largest_batch:
            facts.largest_batch = batch.size
        if batch.producer_id >= 0:
            facts.has_producers = True
        if batch.magic < 2:
            facts.legacy = True
    facts.last_offset = last
    return facts


def fit(BatchRun run, Py_ssize_t first, int64_t room):
    """The end of the longest part of the run from `first` on that takes no more than `room` bytes."""
    cdef Py_ssize_t i = first
    while i < run.count and run.batches[i].size <= room:
        room -= run.batches[i].size
        i += 1
    return i


def size_of(BatchRun run, Py_ssize_t first, Py_ssize_t stop):
    """Bytes of a part of the run."""
    cdef int64_t size = 0
    cdef Py_ssize_t i
    for i in range(first, stop):
        size += run.batches[i].size
    return size


def after_control(BatchRun run, Py_ssize_t first, Py_ssize_t stop):
    """The end of the part of [first, stop) that ends with its first control batch of a producer.

    A replay goes marker by marker: the last stable offset that an aborted transaction is indexed with is that of the
    moment when its marker was written, before anything behind it.
    """
    cdef Py_ssize_t i
    for i in range(first, stop):
        if run.batches[i].attributes & CONTROL_BIT and run.batches[i].producer_id >= 0:
            return i + 1
    return stop


def epoch_starts(BatchRun run, Py_ssize_t first, Py_ssize_t stop, int32_t latest):
    """(epoch, offset) of the batches [first, stop) that begin an epoch later than `latest`."""
    cdef Py_ssize_t i
    cdef list found = []
    for i in range(first, stop):
        if run.batches[i].magic == 2 and run.batches[i].leader_epoch > latest:
            latest = run.batches[i].leader_epoch
            found.append((latest, run.batches[i].base_offset))
    return found


def in_order(BatchRun run, int64_t base_offset, int64_t after):
    """How many batches, from the first on, lie behind the offset `after` and each other, and within reach of a
    segment with this base offset."""
    cdef Py_ssize_t i
    cdef Batch* batch
    for i in range(run.count):
        batch = &run.batches[i]
        if batch.base_offset <= after or batch.last_offset_delta < 0:
            return i
        after = batch.base_offset + batch.last_offset_delta
        if after < base_offset or after - base_offset > INT32_MAX:
            return i
    return run.count


def batch_at(BatchRun run, int64_t position):
    """The index of the batch that starts at this position of the buffer, or the number of batches."""
    cdef Py_ssize_t i
    for i in range(run.count):
        if run.batches[i].position >= position:
            return i
    return run.count


def drop_below(BatchRun run, int64_t offset):
    """The index of the first batch that ends at `offset` or above."""
    cdef Py_ssize_t i
    for i in range(run.count):
        if run.batches[i].base_offset + run.batches[i].last_offset_delta >= offset:
            return i
    return run.count
