"""The two loops of compaction over records: note every key's latest offset, then keep what is still current.

Both work on a chunk of whole magic 2 batches in three steps, so that the GIL is taken a few times per chunk and never
per record:

1. with the GIL, over headers: the transaction state says which batches are aborted or removable, and compressed ones
   that must be read are decompressed (the codecs release the GIL);
2. without it, over records: walk, hash the keys eight at a time, load the map's slots ahead, decide, copy or rewrite;
3. with it again, only for batches that were compressed and lost records: they are compressed anew.

A batch that keeps all its records is copied byte for byte. A rewritten one keeps its base offset, last offset,
sequence and epochs (the producer state must be derivable from it), drops records, and gets a delete horizon the first
time that it holds a tombstone (or a marker whose transaction is gone): bit 6 is set and the base timestamp is the
moment from which the tombstone may go. Magic 0 and 1 are not handled here: the loops stop in front of them.

Why a tombstone needs a horizon: a consumer that reads from the front must see the delete if it saw the value. From the
pass that first meets the tombstone on it stays for `delete.retention.ms` (24 h), and whoever reads the log through in
that time has seen both. Counting from the record's own timestamp would not do: it may have lain in the dirty part for
days before any pass came along (KIP-534).

What a record is compared by is the 16-byte digest of its key, as in Kafka: two keys with the same digest would be taken
for one, which is so unlikely that neither guards against it.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from tidelog.common.errors import CorruptRecordError
from tidelog.log.cleaner._offset_map cimport OffsetMap, hash_keys
from tidelog.records.codec.compression import Codec, compress, decompress

from tidelog.records.kernel._layout cimport (
    ATTRIBUTES_OFFSET, BASE_TIMESTAMP_OFFSET, CODEC_MASK, CONTROL_BIT, CRC_OFFSET, DELETE_HORIZON_BIT,
    LAST_OFFSET_DELTA_OFFSET, LENGTH_OFFSET, LOG_OVERHEAD, MAGIC_OFFSET, MAX_TIMESTAMP_OFFSET, PRODUCER_EPOCH_OFFSET,
    PRODUCER_ID_OFFSET, RECORDS_COUNT_OFFSET, RECORD_BATCH_OVERHEAD, TIMESTAMP_TYPE_BIT, TRANSACTIONAL_BIT
)

cdef extern from "tidelog/records/kernel/_wire.h":
    int16_t load_i16(const uint8_t *p) noexcept nogil
    uint32_t load_u32(const uint8_t *p) noexcept nogil
    int32_t load_i32(const uint8_t *p) noexcept nogil
    int64_t load_i64(const uint8_t *p) noexcept nogil
    void store_16(uint8_t *p, uint16_t v) noexcept nogil
    void store_32(uint8_t *p, uint32_t v) noexcept nogil
    void store_64(uint8_t *p, uint64_t v) noexcept nogil
    int64_t add_wrapping(int64_t a, int64_t b) noexcept nogil
    const uint8_t *read_varlong(const uint8_t *p, const uint8_t *end, int64_t *out) noexcept nogil
    const uint8_t *read_varint(const uint8_t *p, const uint8_t *end, int32_t *out) noexcept nogil
    uint8_t *write_varlong(uint8_t *p, int64_t value) noexcept nogil
    int size_of_varlong(int64_t value) noexcept nogil

cdef extern from "tidelog/records/kernel/_crc32c.h":
    void crc32c_init() noexcept nogil
    uint32_t crc32c_update(uint32_t value, const void *data, size_t length) noexcept nogil

crc32c_init()

cdef enum:
    SMALLEST_RECORD = 7  # length, attributes, two deltas, two lengths, header count: a byte each
    GROWTH = 14          # by which a record can grow at most when its timestamp delta is written anew
    AHEAD = 16           # map slots that are loaded ahead

#: Why a loop stopped: the chunk holds no further whole batch; a magic 0 or 1 batch comes next; the map is full.
MORE, LEGACY, FULL = 0, 1, 2


# A batch of the chunk at hand. `start` points into the caller's buffer, `records` there as well, or to what was
# unpacked.
cdef struct Batch:
    const uint8_t *start
    const uint8_t *records
    int64_t records_size
    int64_t base_offset
    int64_t out_position
    int64_t out_size
    int32_t size
    int32_t count
    int16_t attributes
    uint8_t skip          # the map: not to be indexed; the filter: to be removed unread
    uint8_t discard       # its records go, whatever they are
    uint8_t retain_empty
    uint8_t empty_marker  # a marker whose transaction's data is gone
    uint8_t repack        # was rewritten and must be compressed again


# A record of the batch at hand, as far as deciding about it needs. Everything from the key on (`tail`) is copied as it
# is when the batch is rewritten: only the length and the two deltas in front of it change.
cdef struct Record:
    int64_t offset
    int64_t timestamp
    const uint8_t *tail   # from the key's length on
    const uint8_t *end
    int32_t offset_delta
    uint8_t attributes
    uint8_t has_key
    uint8_t has_value
    uint8_t keep


cdef inline int64_t last_offset(const Batch *batch) noexcept nogil:
    return batch.base_offset + load_i32(batch.start + LAST_OFFSET_DELTA_OFFSET)


cdef inline int64_t horizon(const Batch *batch) noexcept nogil:
    """The delete horizon, or -1."""
    return load_i64(batch.start + BASE_TIMESTAMP_OFFSET) if batch.attributes & DELETE_HORIZON_BIT else -1


cdef class CleanerKernel:
    """The loops and their scratch memory, used by one cleaner thread for one log after the other."""

    cdef Batch *batches
    cdef Record *records
    cdef const uint8_t **keys
    cdef int32_t *key_lengths
    cdef uint8_t *digests
    cdef uint8_t *out
    cdef int64_t batch_capacity, record_capacity, out_capacity, out_size
    cdef int64_t batch_count, most_records, out_bound
    cdef list plain  # decompressed records, held while C points into them
    cdef readonly int64_t messages_read, messages_retained, keyless

    def __dealloc__(self):
        free(self.batches)
        free(self.records)
        free(self.keys)
        free(self.key_lengths)
        free(self.digests)
        free(self.out)

    def index(self, OffsetMap offsets not None, data not None, int64_t size, int64_t start_offset, int64_t most_entries,
              transactions not None):
        """Put every key from `start_offset` on into the map; (why it stopped, bytes of whole batches done).

        Aborted data and control batches are left out. When the map holds `most_entries`, it stops within the batch.
        """
        cdef Py_buffer view
        cdef int64_t consumed, done, failed
        cdef bint full = False
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            status, consumed = self._plan(<const uint8_t *> view.buf, min(size, view.len), transactions, None, 0)
            with nogil:
                done = self._index_all(offsets, start_offset, most_entries, &full, &failed)
            if failed >= 0:
                raise self._corrupt(failed, "its records do not fit their batch")
            return (FULL, done) if full else (status, consumed)
        finally:
            self.plain = None
            PyBuffer_Release(&view)

    def filter(self, OffsetMap offsets not None, data not None, int64_t size, int64_t now_ms,
               int64_t delete_retention_ms, transactions not None, dict last_records not None):
        """Copy what is to be kept; (why it stopped, bytes of whole batches done, output).

        `last_records` gives for each active producer its last data offset (-1: it only has markers) and its epoch: the
        batch that holds it stays, if need be empty, so that the producer's sequence survives.
        """
        cdef Py_buffer view
        cdef int64_t consumed, failed
        PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
        try:
            status, consumed = self._plan(
                <const uint8_t *> view.buf, min(size, view.len), transactions, last_records, now_ms)
            self._reserve_out(self.out_bound)
            with nogil:
                failed = self._filter_all(offsets, now_ms, delete_retention_ms)
            if failed >= 0:
                raise self._corrupt(failed, "its records do not fit their batch")
            return status, consumed, self._output()
        finally:
            self.plain = None
            PyBuffer_Release(&view)

    # --- step 1: headers ------------------------------------------------------------------------------------------

    cdef tuple _plan(self, const uint8_t *data, int64_t size, transactions, dict last_records, int64_t now_ms):
        """Read the headers of all whole batches; (why it stopped, bytes of them). A batch that the chunk cuts off is
        left for the next one; bytes that are no batch end the pass, as copying on behind them would be guessing."""
        cdef int64_t position = 0
        cdef int64_t length
        cdef Batch *batch
        status = MORE
        self.plain = []
        self.batch_count = self.most_records = self.out_bound = 0
        while size - position >= MAGIC_OFFSET + 1:
            length = LOG_OVERHEAD + <int64_t> load_i32(data + position + LENGTH_OFFSET)
            if data[position + MAGIC_OFFSET] < 2:
                status = LEGACY
                break
            if length < RECORD_BATCH_OVERHEAD or data[position + MAGIC_OFFSET] > 2:
                raise CorruptRecordError(f"a batch of {length} bytes and magic {data[position + MAGIC_OFFSET]}",
                                         position)
            if size - position < length:
                break
            batch = self._next_batch()
            batch.start = data + position
            batch.size = <int32_t> length
            self._read_header(batch)
            if last_records is None:
                self._plan_for_index(batch, transactions)
            else:
                self._plan_for_filter(batch, transactions, last_records, now_ms)
            if not batch.skip:
                self._open(batch)
            position += length
        self._reserve_records(self.most_records)
        return status, position

    cdef Batch *_next_batch(self) except NULL:
        """Room for one more; earlier ones may move, so that no pointer to them outlives this call."""
        cdef void *grown
        if self.batch_count == self.batch_capacity:
            grown = realloc(self.batches, (self.batch_capacity * 2 + 64) * sizeof(Batch))
            if grown == NULL:
                raise MemoryError()
            self.batches = <Batch *> grown
            self.batch_capacity = self.batch_capacity * 2 + 64
        self.batch_count += 1
        return &self.batches[self.batch_count - 1]

    cdef _read_header(self, Batch *batch):
        """Take down what the loops need, and check the checksum: what is rewritten gets a new one, which would vouch
        for whatever is in it."""
        batch.base_offset = load_i64(batch.start)
        batch.attributes = load_i16(batch.start + ATTRIBUTES_OFFSET)
        batch.count = load_i32(batch.start + RECORDS_COUNT_OFFSET)
        batch.records = batch.start + RECORD_BATCH_OVERHEAD
        batch.records_size = batch.size - RECORD_BATCH_OVERHEAD
        batch.skip = batch.discard = batch.retain_empty = batch.empty_marker = batch.repack = 0
        batch.out_position = batch.out_size = 0
        if (crc32c_update(0, batch.start + ATTRIBUTES_OFFSET, batch.size - ATTRIBUTES_OFFSET)
                != load_u32(batch.start + CRC_OFFSET)):
            raise self._corrupt_batch(batch, "its checksum is wrong")

    cdef _plan_for_index(self, Batch *batch, transactions):
        """The map must not know the keys of aborted records: a value that was never committed replaces nothing."""
        if batch.attributes & CONTROL_BIT:
            self._read_control(batch, transactions)
            batch.skip = 1
        elif batch.attributes & TRANSACTIONAL_BIT:
            batch.skip = transactions.on_batch(load_i64(batch.start + PRODUCER_ID_OFFSET), last_offset(batch))

    cdef _plan_for_filter(self, Batch *batch, transactions, dict last_records, int64_t now_ms):
        """What the header decides: aborted data goes, a marker goes once its transaction's data is gone and its horizon
        has passed, and a producer's last batch stays as an empty one, because its sequence number is in the header."""
        cdef int64_t producer_id = load_i64(batch.start + PRODUCER_ID_OFFSET)
        cdef bint removable = False
        if batch.attributes & CONTROL_BIT:
            removable = self._read_control(batch, transactions)
            batch.empty_marker = removable
            batch.discard = removable and 0 <= horizon(batch) <= now_ms
        elif batch.attributes & TRANSACTIONAL_BIT:
            batch.discard = transactions.on_batch(producer_id, last_offset(batch))
        if producer_id >= 0:
            last = last_records.get(producer_id)
            if last is not None:
                if last[0] >= 0:
                    batch.retain_empty = last[0] == last_offset(batch)
                else:
                    batch.retain_empty = (batch.attributes & CONTROL_BIT
                                          and last[1] == load_i16(batch.start + PRODUCER_EPOCH_OFFSET))
        batch.skip = batch.discard and not batch.retain_empty

    cdef bint _read_control(self, Batch *batch, transactions) except -1:
        """Tell the transaction state of a marker; true when the marker may go."""
        cdef const uint8_t *p = batch.records
        cdef const uint8_t *end = batch.records + batch.records_size
        cdef int32_t length
        cdef int64_t delta
        cdef int kind = -1
        if batch.count > 0:
            p = read_varint(p, end, &length)
            if p != NULL and end - p >= 1:
                p = read_varlong(p + 1, end, &delta)
            if p != NULL:
                p = read_varint(p, end, &length)
            if p != NULL:
                p = read_varint(p, end, &length)
            if p == NULL or length < 4 or end - p < 4:
                raise self._corrupt_batch(batch, "its control record has no key")
            kind = load_i16(p + 2)
        return transactions.on_control(load_i64(batch.start + PRODUCER_ID_OFFSET), last_offset(batch), kind)

    cdef _open(self, Batch *batch):
        """Point `records` to plain bytes and bound what the batch can need."""
        cdef int codec = batch.attributes & CODEC_MASK
        if codec and batch.count > 0:
            packed = PyBytes_FromStringAndSize(<const char *> batch.records, batch.records_size)
            plain = decompress(_codec(codec), packed)
            self.plain.append(plain)
            batch.records = <const uint8_t *> <bytes> plain
            batch.records_size = len(plain)
        if batch.count < 0 or <int64_t> batch.count * SMALLEST_RECORD > batch.records_size:
            raise self._corrupt_batch(batch, f"it claims {batch.count} records")
        self.most_records = max(self.most_records, batch.count)
        self.out_bound += max(<int64_t> batch.size,
                              RECORD_BATCH_OVERHEAD + batch.records_size + GROWTH * <int64_t> batch.count)

    cdef _reserve_records(self, int64_t count):
        """Scratch for the records of one batch at a time. It only grows: batches of a log are much alike."""
        if count <= self.record_capacity:
            return
        self.records = <Record *> _grown(self.records, count * sizeof(Record))
        self.keys = <const uint8_t **> _grown(self.keys, count * sizeof(uint8_t *))
        self.key_lengths = <int32_t *> _grown(self.key_lengths, count * sizeof(int32_t))
        self.digests = <uint8_t *> _grown(self.digests, count * 16)
        self.record_capacity = count

    cdef _reserve_out(self, int64_t size):
        """All output of the chunk, at most: step 2 runs without the GIL and cannot ask for more."""
        if size > self.out_capacity:
            self.out = <uint8_t *> _grown(self.out, size)
            self.out_capacity = size
        self.out_size = 0

    # --- step 2: records ------------------------------------------------------------------------------------------

    cdef int _walk(self, const Batch *batch) noexcept nogil:
        """Read the batch's records into the scratch arrays; -1 when they do not fit it.

        Of each record only the lengths in front are read, as far as the key: values and headers are stepped over. The
        records must fill the batch to the last byte. In a batch with LogAppendTime every record has the batch's largest
        timestamp, whatever its delta says.
        """
        cdef const uint8_t *p = batch.records
        cdef const uint8_t *end = p + batch.records_size
        cdef int64_t base_timestamp = load_i64(batch.start + BASE_TIMESTAMP_OFFSET)
        cdef int64_t max_timestamp = load_i64(batch.start + MAX_TIMESTAMP_OFFSET)
        cdef bint append_time = (batch.attributes & TIMESTAMP_TYPE_BIT) != 0
        cdef int32_t i, length
        cdef int64_t delta
        cdef Record *record
        for i in range(batch.count):
            record = &self.records[i]
            p = read_varint(p, end, &length)
            if p == NULL or length < SMALLEST_RECORD - 1 or end - p < length:
                return -1
            record.end = p + length
            record.attributes = p[0]
            p = read_varlong(p + 1, record.end, &delta)
            if p == NULL:
                return -1
            record.timestamp = max_timestamp if append_time else add_wrapping(base_timestamp, delta)
            p = read_varint(p, record.end, &record.offset_delta)
            if p == NULL:
                return -1
            if record.offset_delta < 0:
                return -1
            record.offset = batch.base_offset + record.offset_delta
            record.tail = p
            p = read_varint(p, record.end, &length)
            if p == NULL or length < -1 or record.end - p < length:
                return -1
            record.has_key = length >= 0
            self.keys[i] = p
            self.key_lengths[i] = length
            if length > 0:
                p += length
            p = read_varint(p, record.end, &length)
            if p == NULL or length < -1 or record.end - p < length:
                return -1
            record.has_value = length >= 0
            p = record.end
        return 0 if p == end else -1

    cdef int32_t _hash(self, const Batch *batch, int64_t from_offset, int64_t to_offset) noexcept nogil:
        """Digest the keys of records in the range, gathered at the front of the arrays in order; return how many.

        Gathered, because the hash works on eight keys at a time, and a batch may hold records that have none.
        """
        cdef int32_t i
        cdef int32_t found = 0
        for i in range(batch.count):
            if self.records[i].has_key and from_offset <= self.records[i].offset <= to_offset:
                self.keys[found] = self.keys[i]
                self.key_lengths[found] = self.key_lengths[i]
                found += 1
        hash_keys(self.keys, self.key_lengths, found, self.digests)
        return found

    cdef int64_t _index_all(self, OffsetMap offsets, int64_t start_offset, int64_t most_entries, bint *full,
                            int64_t *failed) noexcept nogil:
        """Index the planned batches; the bytes done. `failed`: the number of a corrupt one, or -1. The map's latest
        offset follows batch by batch, so that a pass which ends here may stop exactly there."""
        cdef int64_t i
        cdef int64_t done = 0
        cdef Batch *batch
        failed[0] = -1
        for i in range(self.batch_count):
            batch = &self.batches[i]
            self.messages_read += batch.count
            if not batch.skip:
                if self._walk(batch) < 0:
                    failed[0] = i
                    return done
                if not self._index_batch(offsets, batch, start_offset, most_entries):
                    full[0] = True
                    return done
            if last_offset(batch) >= start_offset:
                offsets.latest_offset = last_offset(batch)
            done += batch.size
        return done

    cdef bint _index_batch(self, OffsetMap offsets, const Batch *batch, int64_t start_offset,
                           int64_t most_entries) noexcept nogil:
        """Put the batch's keys; false when the map became full on the way.

        A slot is fetched from memory some keys before it is needed: the table is far larger than the caches, and
        waiting for each slot in turn would take most of the time. A batch that is only half in the map does no harm:
        what the map says is true, and the pass ends in front of the batch.
        """
        cdef int32_t i
        cdef int32_t next_digest = 0
        cdef int32_t found = self._hash(batch, start_offset, 0x7FFFFFFFFFFFFFFF)
        for i in range(min(found, AHEAD)):
            offsets.prefetch(self.digests + 16 * i)
        for i in range(batch.count):
            if not self.records[i].has_key or self.records[i].offset < start_offset:
                continue
            if offsets.entries >= most_entries:
                return False
            if next_digest + AHEAD < found:
                offsets.prefetch(self.digests + 16 * (next_digest + AHEAD))
            offsets.put_digest(self.digests + 16 * next_digest, self.records[i].offset)
            next_digest += 1
        return True

    cdef int64_t _filter_all(self, OffsetMap offsets, int64_t now_ms, int64_t delete_retention_ms) noexcept nogil:
        """Write all output; the number of a batch that is corrupt, or -1.

        Three outcomes for a batch: copied byte for byte when all its records stay, rewritten when some do, and nothing
        (or an empty header, for a producer's last batch) when none does. A batch whose records all stay is rewritten
        all the same when it gets its delete horizon, which is in the header and under the checksum.
        """
        cdef int64_t i
        cdef int32_t kept
        cdef bint tombstones, new_horizon
        cdef Batch *batch
        for i in range(self.batch_count):
            batch = &self.batches[i]
            batch.out_position = self.out_size
            if batch.skip:
                continue
            if self._walk(batch) < 0:
                return i
            self.messages_read += batch.count
            tombstones = False
            kept = self._choose(offsets, batch, now_ms, &tombstones)
            self.messages_retained += kept
            if kept > 0:
                new_horizon = (tombstones or batch.empty_marker) and horizon(batch) < 0
                if kept == batch.count and not new_horizon:
                    memcpy(self.out + self.out_size, batch.start, batch.size)
                    self.out_size += batch.size
                else:
                    self._rewrite(batch, kept, now_ms + delete_retention_ms if new_horizon else horizon(batch))
            elif batch.retain_empty:
                self._write_empty(batch)
            batch.out_size = self.out_size - batch.out_position
        return -1

    cdef int32_t _choose(self, OffsetMap offsets, const Batch *batch, int64_t now_ms, bint *tombstones) noexcept nogil:
        """Mark the records to keep; return how many there are, and whether a tombstone is among them.

        A record stays if the map knows no later one with its key, or does not reach as far as the record. A tombstone
        goes when its batch has a horizon that has passed; without one it stays until it has got one. Control records
        were decided about as a batch.
        """
        cdef int32_t i, found
        cdef int32_t next_digest = 0
        cdef int32_t kept = 0
        cdef bint hold_tombstones = not 0 <= horizon(batch) <= now_ms
        cdef Record *record
        if batch.discard:
            return 0
        found = 0 if batch.attributes & CONTROL_BIT else self._hash(batch, batch.base_offset, offsets.latest_offset)
        for i in range(min(found, AHEAD)):
            offsets.prefetch(self.digests + 16 * i)
        for i in range(batch.count):
            record = &self.records[i]
            if batch.attributes & CONTROL_BIT or record.offset > offsets.latest_offset:
                record.keep = 1
            elif not record.has_key:
                record.keep = 0
                self.keyless += 1
            else:
                if next_digest + AHEAD < found:
                    offsets.prefetch(self.digests + 16 * (next_digest + AHEAD))
                record.keep = record.offset >= offsets.find_digest(self.digests + 16 * next_digest)
                record.keep = record.keep and (record.has_value or hold_tombstones)
                next_digest += 1
            kept += record.keep
            if record.keep and not record.has_value:
                tombstones[0] = True
        return kept

    cdef void _rewrite(self, Batch *batch, int32_t kept, int64_t delete_horizon) noexcept nogil:
        """Write the batch with the records that were kept, its records plain for now.

        Offset deltas stay as they are, so the offsets do: a compacted log has gaps and moves nothing. Timestamp deltas
        are counted anew, since the base timestamp is the first kept record's, or the delete horizon.
        """
        cdef uint8_t *start = self.out + self.out_size
        cdef uint8_t *p = start + RECORD_BATCH_OVERHEAD
        cdef int64_t base_timestamp = delete_horizon
        cdef int64_t max_timestamp = -1
        cdef int64_t delta, tail
        cdef int32_t i
        cdef bint first = True
        cdef Record *record
        for i in range(batch.count):
            record = &self.records[i]
            if not record.keep:
                continue
            if first and delete_horizon < 0:
                base_timestamp = record.timestamp
            first = False
            max_timestamp = max(max_timestamp, record.timestamp)
            delta = add_wrapping(record.timestamp, -base_timestamp)
            tail = record.end - record.tail
            p = write_varlong(p, 1 + size_of_varlong(delta) + size_of_varlong(record.offset_delta) + tail)
            p[0] = 0
            p = write_varlong(p + 1, delta)
            p = write_varlong(p, record.offset_delta)
            memcpy(p, record.tail, tail)
            p += tail
        if batch.attributes & TIMESTAMP_TYPE_BIT:
            max_timestamp = load_i64(batch.start + MAX_TIMESTAMP_OFFSET)
        batch.repack = (batch.attributes & CODEC_MASK) != 0
        _write_header(start, batch, p - start,
                      (batch.attributes & 0x3F) | (DELETE_HORIZON_BIT if delete_horizon >= 0 else 0),
                      base_timestamp, max_timestamp, kept)
        self.out_size += p - start

    cdef void _write_empty(self, const Batch *batch) noexcept nogil:
        """A header alone: what a producer's last batch leaves behind."""
        _write_header(self.out + self.out_size, batch, RECORD_BATCH_OVERHEAD,
                      batch.attributes & (TIMESTAMP_TYPE_BIT | TRANSACTIONAL_BIT | CONTROL_BIT), -1,
                      load_i64(batch.start + MAX_TIMESTAMP_OFFSET), 0)
        self.out_size += RECORD_BATCH_OVERHEAD

    # --- step 3: output -------------------------------------------------------------------------------------------

    cdef bytes _output(self):
        """The chunk's output in one piece: copied stretches, and in between what has to be compressed again."""
        cdef int64_t i
        cdef int64_t copied = 0
        cdef Batch *batch
        cdef list parts = []
        for i in range(self.batch_count):
            batch = &self.batches[i]
            if batch.repack and batch.out_size:
                parts.append(PyBytes_FromStringAndSize(<const char *> self.out + copied, batch.out_position - copied))
                parts.append(self._repacked(batch))
                copied = batch.out_position + batch.out_size
        rest = PyBytes_FromStringAndSize(<const char *> self.out + copied, self.out_size - copied)
        return b"".join([*parts, rest]) if parts else rest

    cdef bytes _repacked(self, Batch *batch):
        """A rewritten batch in the codec that it came in. Its size and checksum change with it, nothing else does."""
        cdef const uint8_t *start = self.out + batch.out_position
        plain = PyBytes_FromStringAndSize(<const char *> start + RECORD_BATCH_OVERHEAD,
                                          batch.out_size - RECORD_BATCH_OVERHEAD)
        packed = bytearray(PyBytes_FromStringAndSize(<const char *> start, RECORD_BATCH_OVERHEAD))
        packed += compress(_codec(batch.attributes & CODEC_MASK), plain)
        cdef uint8_t *p = packed
        _seal(p, len(packed))
        return bytes(packed)

    cdef _corrupt(self, int64_t number, str why):
        return self._corrupt_batch(&self.batches[number], why)

    cdef _corrupt_batch(self, const Batch *batch, str why):
        return CorruptRecordError(f"the batch at offset {batch.base_offset} is corrupt: {why}")


cdef _codec(int code):
    try:
        return Codec(code)
    except ValueError:
        raise CorruptRecordError(f"{code} is no compression codec") from None


cdef void *_grown(const void *memory, int64_t size) except NULL:
    """Like realloc, but a failure is an exception and leaves the old memory to whoever has it."""
    cdef void *grown = realloc(<void *> memory, size)
    if grown == NULL:
        raise MemoryError(f"no memory for {size} bytes")
    return grown


cdef void _write_header(uint8_t *out, const Batch *batch, int64_t size, int16_t attributes, int64_t base_timestamp,
                        int64_t max_timestamp, int32_t count) noexcept nogil:
    memcpy(out, batch.start, RECORD_BATCH_OVERHEAD)
    store_16(out + ATTRIBUTES_OFFSET, <uint16_t> attributes)
    store_64(out + BASE_TIMESTAMP_OFFSET, <uint64_t> base_timestamp)
    store_64(out + MAX_TIMESTAMP_OFFSET, <uint64_t> max_timestamp)
    store_32(out + RECORDS_COUNT_OFFSET, <uint32_t> count)
    _seal(out, size)


cdef void _seal(uint8_t *out, int64_t size) noexcept nogil:
    """Length and checksum, last of all: the checksum covers everything behind it, the length lies before it."""
    store_32(out + LENGTH_OFFSET, <uint32_t> (size - LOG_OVERHEAD))
    store_32(out + CRC_OFFSET, crc32c_update(0, out + ATTRIBUTES_OFFSET, size - ATTRIBUTES_OFFSET))
