"""BatchFilter: which batches a reader wants.

Those that touch the offset range, are no control batches, and do not belong to an aborted transaction. For the last,
`aborted` holds (producer id, first offset) as a Fetch response lists them: from that offset on the producer's
transactional batches do not count, until its abort marker. So a filter must see all batches, in their order.
"""

from libc.stdint cimport int16_t

from tidelog.records.kernel._fields cimport Fields, read_fields_narrow
from tidelog.records.kernel._layout cimport CODEC_MASK, CONTROL_BIT, RECORD_BATCH_OVERHEAD, TRANSACTIONAL_BIT

cdef extern from "tidelog/records/kernel/_wire.h":
    int16_t load_i16(const uint8_t* p) nogil

cdef enum:
    ABORT = 0


cdef class BatchFilter:
    """It has a memory, the producers whose transaction is being left out, and so belongs to one pass over one range.
    The list of aborted transactions comes from the broker (or `.txnindex`) and covers just that range: markers in it
    end what the list began.
    """
    def __init__(self, *, first_offset=None, last_offset=None, bint skip_control=True, aborted=()):
        self.first = -(1 << 62) if first_offset is None else first_offset
        self.last = (1 << 62) if last_offset is None else last_offset
        self.skip_control = skip_control
        self.pending = sorted(((first, producer) for producer, first in aborted), reverse=True)
        self.aborting = set()

    cdef bint wants(self, Batch* batch, const uint8_t* p) except -1:
        """Whether to read the batch at p; of a control batch, all bytes must be there."""
        if (self.pending or self.aborting) and self.is_aborted(batch, p):
            return False
        if batch.attributes & CONTROL_BIT and self.skip_control:
            return False
        return batch.base_offset + batch.last_offset_delta >= self.first and batch.base_offset <= self.last

    cdef bint is_aborted(self, Batch* batch, const uint8_t* p) except -1:
        """Keep the books of aborted transactions: true for a batch that belongs to one.

        A transaction is taken from the list when the first batch that reaches its first offset passes. Its abort marker
        takes the producer off again; a commit marker of the same producer belongs to a later transaction, which is not
        on the list.
        """
        while self.pending and self.pending[len(self.pending) - 1][0] <= batch.base_offset + batch.last_offset_delta:
            self.aborting.add(self.pending.pop()[1])
        if batch.attributes & CONTROL_BIT:
            if batch.producer_id in self.aborting and is_abort_marker(p, batch):
                self.aborting.discard(batch.producer_id)
            return False
        return batch.attributes & TRANSACTIONAL_BIT and batch.producer_id in self.aborting


cdef bint is_abort_marker(const uint8_t* p, Batch* batch) noexcept nogil:
    """Whether a transaction's control batch says abort; its one record is never packed."""
    cdef Fields f
    if batch.record_count < 1 or batch.attributes & CODEC_MASK:
        return False
    if read_fields_narrow(p + RECORD_BATCH_OVERHEAD, p + batch.size, &f) != 0:
        return False
    return f.key_length >= 4 and load_i16(f.key + 2) == ABORT
