# cython: language_level=3
"""What a partition remembers of idempotent and transactional producers, applied to a whole run of batches in C.

Per producer id: its epoch, its last five batches (so that a batch sent again is recognised even when five are in
flight), the coordinator's epoch, the time it was last heard of, and where its open transaction began.

`prepare` checks a run against copies of the entries and changes nothing; after the batches are written, the owner puts
the copies in place. The rules, for a batch of a producer:

- a client's batch whose epoch and sequence numbers are among the last five is a duplicate;
- an epoch below the known one is fenced (a replica accepts what its leader accepted);
- a client's first sequence must follow the last one; with a new epoch it must be 0; anything goes for a producer that
  the log does not know (its records may have been deleted);
- a transaction begins with the first transactional batch and ends with the marker; a plain batch inside one is an
  error;
- a marker must come from a coordinator that is not older than the last one.

Why five: `max.in.flight.requests.per.connection` of an idempotent producer may be at most five, and a connection that
breaks makes it send all of them again. Of those that were written before, each must be known, or it would be refused as
out of order and the producer would give up; a sixth cannot be on its way.

What is checked depends on where a batch comes from. A client may be late, doubled or fenced. A leader's bytes were
checked by the leader, so a replica and a recovery only follow them: refusing them would make the logs differ.
"""

from libc.stdint cimport INT16_MAX, INT32_MAX, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memmove

from typing import NamedTuple

from tidelog.common.errors import CorruptRecordError, ErrorCode, KafkaError
from tidelog.records.kernel._layout cimport CONTROL_BIT, RECORD_BATCH_OVERHEAD, TRANSACTIONAL_BIT

cdef enum Origin:
    REPLICATION = 0
    CLIENT = 1


cdef extern from "tidelog/records/kernel/_wire.h":
    int16_t load_i16(const uint8_t* p) nogil
    int32_t load_i32(const uint8_t* p) nogil
    const uint8_t* read_varint(const uint8_t* p, const uint8_t* end, int32_t* out) nogil
    const uint8_t* read_varlong(const uint8_t* p, const uint8_t* end, int64_t* out) nogil


class CompletedTxn(NamedTuple):
    """A transaction that its marker has just ended."""

    producer_id: int
    first_offset: int
    last_offset: int
    aborted: bool


cdef inline int32_t advance(int32_t sequence, int32_t by) noexcept nogil:
    """Sequence numbers wrap from the largest int32 to 0."""
    if sequence > INT32_MAX - by:
        return by - (INT32_MAX - sequence) - 1
    return sequence + by


cdef inline int32_t last_sequence_of(Batch* batch) noexcept nogil:
    return -1 if batch.base_sequence == -1 else advance(batch.base_sequence, batch.last_offset_delta)


cdef class ProducerStateEntry:
    """One producer's state. `window` holds its last batches, oldest first."""

    def __cinit__(self, int64_t producer_id, int16_t epoch=-1, int32_t coordinator_epoch=-1,
                  int64_t last_timestamp=-1, int64_t txn_first_offset=-1):
        self.producer_id = producer_id
        self.epoch = epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.txn_first_offset = txn_first_offset

    def with_batch(self, int32_t last_sequence, int64_t last_offset, int32_t offset_delta, int64_t timestamp):
        """Add the batch that a snapshot remembers."""
        self.add(self.epoch, last_sequence, last_offset, offset_delta, timestamp)
        return self

    cdef ProducerStateEntry copy(self):
        """What `prepare` works on: if a later batch of the run is refused, nothing has happened to the original."""
        cdef ProducerStateEntry other = ProducerStateEntry.__new__(
            ProducerStateEntry, self.producer_id, self.epoch, self.coordinator_epoch, self.last_timestamp,
            self.txn_first_offset
        )
        memcpy(other.window, self.window, sizeof(self.window))
        other.count = self.count
        return other

    cdef bint set_epoch(self, int16_t epoch) noexcept:
        """A new epoch begins with sequence 0: the window of the old one means nothing any more."""
        if epoch == self.epoch:
            return False
        self.epoch = epoch
        self.count = 0
        return True

    cdef void add(self, int16_t epoch, int32_t last_sequence, int64_t last_offset, int32_t offset_delta,
                  int64_t timestamp) noexcept:
        cdef Appended* batch
        self.set_epoch(epoch)
        if self.count == WINDOW:
            memmove(&self.window[0], &self.window[1], (WINDOW - 1) * sizeof(Appended))
            self.count -= 1
        batch = &self.window[self.count]
        batch.last_sequence = last_sequence
        batch.last_offset = last_offset
        batch.offset_delta = offset_delta
        batch.timestamp = timestamp
        self.count += 1
        self.last_timestamp = timestamp

    cdef int find(self, int32_t first_sequence, int32_t last_sequence) noexcept:
        """The place in the window of the batch with exactly these sequence numbers, or -1. Not just any overlap: a
        producer sends a batch again as it was, or not at all."""
        cdef int i
        cdef int64_t first
        for i in range(self.count):
            first = <int64_t>self.window[i].last_sequence - self.window[i].offset_delta
            if first < 0:
                first += <int64_t>INT32_MAX + 1
            if first == first_sequence and self.window[i].last_sequence == last_sequence:
                return i
        return -1

    cdef int32_t newest_sequence(self) noexcept:
        """The one that the next batch must follow; -1 when no batch of the epoch is known."""
        return self.window[self.count - 1].last_sequence if self.count else -1

    @property
    def batches(self):
        """(last sequence, last offset, offset delta, timestamp) of the remembered batches, oldest first."""
        return [
            (self.window[i].last_sequence, self.window[i].last_offset, self.window[i].offset_delta,
             self.window[i].timestamp)
            for i in range(self.count)
        ]

    @property
    def last_sequence(self):
        return self.newest_sequence()

    @property
    def last_offset(self):
        return self.window[self.count - 1].last_offset if self.count else -1

    @property
    def last_offset_delta(self):
        return self.window[self.count - 1].offset_delta if self.count else 0

    def __repr__(self):
        return (f"ProducerStateEntry({self.producer_id}, epoch={self.epoch}, last_sequence={self.last_sequence}, "
                f"last_offset={self.last_offset}, txn_first_offset={self.txn_first_offset})")


cdef class Pending:
    """What a run does to the producers' state, not yet in force."""

    cdef readonly dict entries
    #: (first offset, producer id) of transactions that the run begins, in order.
    cdef readonly list started
    #: The transactions that the run ends, in order.
    cdef readonly list completed
    #: (first offset, last offset, timestamp) of the batch that the run repeats, or None.
    cdef readonly object duplicate

    def __cinit__(self):
        self.entries = {}
        self.started = []
        self.completed = []

    cdef ProducerStateEntry entry(self, dict producers, int64_t producer_id):
        """The producer's entry as this run has it so far: several batches of one producer build on each other."""
        cdef ProducerStateEntry entry
        found = self.entries.get(producer_id)
        if found is not None:
            return <ProducerStateEntry>found
        found = producers.get(producer_id)
        if found is not None:
            entry = (<ProducerStateEntry>found).copy()
        else:
            entry = ProducerStateEntry.__new__(ProducerStateEntry, producer_id)
            entry.fresh = True
        self.entries[producer_id] = entry
        return entry


def has_producers(BatchRun run):
    """Whether any batch of the run belongs to an idempotent or transactional producer."""
    cdef Py_ssize_t i
    for i in range(run.count):
        if run.batches[i].producer_id >= 0:
            return True
    return False


def prepare(dict producers, BatchRun run, Py_ssize_t first, Py_ssize_t stop, int origin, int transaction_version=0):
    """Check the batches [first, stop), which carry their offsets, and work out the new state.

    `origin`: 0 a leader's bytes (a replica, recovery), 1 a client, 2 a coordinator. `transaction_version`: that of the
    coordinator which wrote a marker; from 2 on it raises the producer's epoch with each. Raises KafkaError.
    """
    cdef Pending pending = Pending.__new__(Pending)
    cdef ProducerStateEntry entry
    cdef Batch* batch
    cdef Py_ssize_t i
    cdef int known
    for i in range(first, stop):
        batch = &run.batches[i]
        if batch.producer_id < 0:
            continue
        if origin == CLIENT:
            found = producers.get(batch.producer_id)
            if found is not None:
                entry = <ProducerStateEntry>found
                if entry.epoch == batch.producer_epoch:
                    known = entry.find(batch.base_sequence, last_sequence_of(batch))
                    if known >= 0:
                        pending.duplicate = (
                            entry.window[known].last_offset - entry.window[known].offset_delta,
                            entry.window[known].last_offset, entry.window[known].timestamp,
                        )
                        return pending
        entry = pending.entry(producers, batch.producer_id)
        if batch.attributes & CONTROL_BIT:
            append_marker(pending, entry, run, batch, origin, transaction_version)
        else:
            append_data(pending, entry, batch, origin)
        entry.fresh = False
    return pending


cdef int check_epoch(ProducerStateEntry entry, Batch* batch, int origin) except -1:
    if batch.producer_epoch < entry.epoch and origin != REPLICATION:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"Epoch of producer {entry.producer_id} at offset {batch.base_offset} is {batch.producer_epoch}, "
            f"which is smaller than the last seen epoch {entry.epoch}",
        )
    return 0


cdef int check_sequence(ProducerStateEntry entry, Batch* batch) except -1:
    cdef int32_t first = batch.base_sequence
    cdef int32_t last = entry.newest_sequence()
    if entry.fresh:
        return 0
    if batch.producer_epoch != entry.epoch:
        if first != 0 and entry.epoch != -1:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Invalid sequence number for new epoch of producer {entry.producer_id} at offset "
                f"{batch.base_offset}: {batch.producer_epoch} (request epoch), {first} (seq. number), "
                f"{entry.epoch} (current producer epoch)",
            )
    elif not (<int64_t>first == <int64_t>last + 1 or (first == 0 and last == INT32_MAX)):
        raise KafkaError(
            ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Out of order sequence number for producer {entry.producer_id} at offset {batch.base_offset}: "
            f"{first} (incoming seq. number), {last} (current end sequence number)",
        )
    return 0


cdef int append_data(Pending pending, ProducerStateEntry entry, Batch* batch, int origin) except -1:
    """A data batch: fencing, then the order of sequences (a client's only), then what it does to the transaction. The
    first transactional batch opens one; there is no other sign of its beginning in the log."""
    check_epoch(entry, batch, origin)
    if origin == CLIENT:
        check_sequence(entry, batch)
    entry.add(batch.producer_epoch, last_sequence_of(batch), batch.base_offset + batch.last_offset_delta,
              batch.last_offset_delta, batch.max_timestamp)
    if batch.attributes & TRANSACTIONAL_BIT:
        if entry.txn_first_offset < 0:
            entry.txn_first_offset = batch.base_offset
            pending.started.append((batch.base_offset, entry.producer_id))
    elif entry.txn_first_offset >= 0:
        raise KafkaError(
            ErrorCode.INVALID_TXN_STATE,
            f"Expected transactional write from producer {entry.producer_id} at offset {batch.base_offset}",
        )
    return 0


cdef int check_marker_epoch(ProducerStateEntry entry, Batch* batch) except -1:
    """A coordinator of version 2 raises the epoch with every marker: one with the same epoch is late, unless it only
    repeats a marker that ended the transaction before (or the epoch cannot rise any further)."""
    if batch.producer_epoch == entry.epoch and entry.txn_first_offset >= 0 and batch.producer_epoch != INT16_MAX:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"Epoch of producer {entry.producer_id} at offset {batch.base_offset} is {batch.producer_epoch}, "
            f"which is not above the last seen epoch {entry.epoch}",
        )
    return 0


cdef int append_marker(Pending pending, ProducerStateEntry entry, BatchRun run, Batch* batch, int origin,
                       int transaction_version) except -1:
    """The end of a transaction. A marker without an open one is no error (the coordinator repeats those whose answer it
    did not get), and still moves the epoch: with it a producer that was fenced cannot write here any more."""
    cdef int marker, coordinator_epoch = -1
    cdef int64_t timestamp = batch.max_timestamp
    if batch.record_count == 0:
        return 0  # the cleaner has taken the marker, and the transaction with it
    marker = read_marker(run.data + batch.position, batch.size, &coordinator_epoch)
    if marker < 0:
        raise CorruptRecordError("a control batch without an end-of-transaction marker", batch.position)
    check_epoch(entry, batch, origin)
    if transaction_version >= 2 and origin != REPLICATION:
        check_marker_epoch(entry, batch)
    if entry.coordinator_epoch > coordinator_epoch and origin != REPLICATION:
        raise KafkaError(
            ErrorCode.TRANSACTION_COORDINATOR_FENCED,
            f"Invalid coordinator epoch for producer {entry.producer_id} at offset {batch.base_offset}: "
            f"{coordinator_epoch} (zombie), {entry.coordinator_epoch} (current)",
        )
    if entry.txn_first_offset >= 0:
        pending.completed.append(
            CompletedTxn(entry.producer_id, entry.txn_first_offset, batch.base_offset, marker == 0)
        )
    entry.set_epoch(batch.producer_epoch)
    entry.txn_first_offset = -1
    entry.coordinator_epoch = coordinator_epoch
    entry.last_timestamp = timestamp
    return 0


cdef int read_marker(const uint8_t* batch, int32_t size, int* coordinator_epoch) noexcept nogil:
    """The marker's type (0 abort, 1 commit), or -1 when the record is none."""
    cdef const uint8_t* p = batch + RECORD_BATCH_OVERHEAD
    cdef const uint8_t* end = batch + size
    cdef int64_t timestamp = 0
    cdef int32_t value = 0
    cdef int kind
    p = read_varint(p, end, &value)                      # record length
    if p == NULL or p >= end:
        return -1
    p = read_varlong(p + 1, end, &timestamp)             # attributes, timestamp delta
    if p != NULL:
        p = read_varint(p, end, &value)                  # offset delta
    if p != NULL:
        p = read_varint(p, end, &value)                  # key: version, type
    if p == NULL or value < 4 or end - p < value:
        return -1
    kind = load_i16(p + 2)
    p = read_varint(p + value, end, &value)              # value: version, coordinator epoch
    if p == NULL or kind < 0 or kind > 1 or value < 6 or end - p < value:
        return -1
    coordinator_epoch[0] = load_i32(p + 2)
    return kind
