"""The cleaner's map from a key to its latest offset, in a fixed amount of memory.

An open hash table of 24-byte entries: the key's MD5 (16 bytes) and the offset (8 bytes). Keys themselves are not kept,
so any number of them costs the same. Probing is Kafka's: attempts 0 to 12 read the slot from the digest's bytes at that
position, later ones go on to the next slots. An entry of 24 zero bytes is an empty slot.

`slots` is what the configured memory allows and never grows. A pass over few records uses fewer of them (`clear` is
told how many keys there can be at most): a small table stays in the cache, and an idle broker does not hold 128 MiB. A
large one asks for huge pages, because otherwise every first touch of a page costs more than the probe that caused it.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset


cdef extern from "tidelog/log/cleaner/_md5.h":
    void md5_one(const uint8_t *data, size_t length, uint8_t *digest) noexcept nogil
    void md5_many(const uint8_t **keys, const int32_t *lengths, size_t count, uint8_t (*digests)[16]) noexcept nogil

cdef extern from *:
    """
    #include <stdlib.h>
    #include <sys/mman.h>
    static inline void prefetch_for_write(const void *p) { __builtin_prefetch(p, 1, 1); }
    static void *large_memory(size_t size) {
        void *memory = NULL;
        if (posix_memalign(&memory, (size_t)2 << 20, size) != 0) return NULL;
    #ifdef MADV_HUGEPAGE
        if (size >= (size_t)4 << 20) madvise(memory, size, MADV_HUGEPAGE);
    #endif
        return memory;
    }
    """
    void prefetch_for_write(const void *p) noexcept nogil
    void *large_memory(size_t size) noexcept nogil

cdef enum:
    DIGEST = 16
    ENTRY = 24
    FEWEST = 1024  # slots

BYTES_PER_ENTRY = ENTRY


cdef void hash_keys(const uint8_t **keys, const int32_t *lengths, size_t count, uint8_t *digests) noexcept nogil:
    md5_many(keys, lengths, count, <uint8_t (*)[16]> digests)


cdef inline uint32_t load_be32(const uint8_t *p) noexcept nogil:
    return (<uint32_t> p[0] << 24) | (<uint32_t> p[1] << 16) | (<uint32_t> p[2] << 8) | p[3]


cdef inline int64_t slot_of(const uint8_t *digest, int64_t attempt, int64_t slots) noexcept nogil:
    """The slot of an attempt; the sum wraps at 32 bits and its absolute value counts, as in Java."""
    cdef uint32_t probe = load_be32(digest + (attempt if attempt < DIGEST - 4 else DIGEST - 4))
    if attempt > DIGEST - 4:
        probe += <uint32_t> (attempt - (DIGEST - 4))
    cdef int32_t signed = <int32_t> probe
    if signed == -2147483648:
        return 0
    return (-signed if signed < 0 else signed) % slots


cdef inline bint is_empty(const uint8_t *entry) noexcept nogil:
    cdef uint64_t words[3]
    memcpy(words, entry, ENTRY)
    return (words[0] | words[1] | words[2]) == 0


cdef class OffsetMap:
    """`OffsetMap(memory)` holds `memory // 24` keys. `latest_offset` is the last offset that it knows of, or -1."""

    def __cinit__(self, int64_t memory):
        if memory < ENTRY:
            raise ValueError(f"an offset map needs at least {ENTRY} bytes, not {memory}")
        self.slots = memory // ENTRY
        self.table = NULL
        self.clear(FEWEST)

    def __dealloc__(self):
        free(self.table)

    def clear(self, keys=None):
        """Forget everything, and make room for so many keys (None: as many as the memory allows)."""
        cdef int64_t wanted = self.slots
        if keys is not None:
            wanted = min(wanted, max(<int64_t> FEWEST, <int64_t> keys + <int64_t> keys // 2))
        if self.table == NULL or wanted != self.used_slots:
            free(self.table)
            self.table = <uint8_t *> large_memory(wanted * ENTRY)
            if self.table == NULL:
                self.used_slots = 0
                raise MemoryError(f"no memory for an offset map of {wanted} slots")
            self.used_slots = wanted
        memset(self.table, 0, wanted * ENTRY)
        self.entries = 0
        self.latest_offset = -1

    def __len__(self):
        return self.entries

    @property
    def utilization(self):
        return <double> self.entries / self.slots

    def put(self, key not None, int64_t offset):
        """Remember the offset as the key's latest."""
        cdef uint8_t digest[DIGEST]
        self._digest(key, digest)
        if self.put_digest(digest, offset) < 0:
            raise ValueError("the offset map is full")

    def get(self, key not None):
        """The key's latest offset, or -1."""
        cdef uint8_t digest[DIGEST]
        self._digest(key, digest)
        return self.find_digest(digest)

    def update_latest_offset(self, int64_t offset):
        self.latest_offset = offset

    cdef _digest(self, key, uint8_t *digest):
        cdef Py_buffer view
        PyObject_GetBuffer(key, &view, PyBUF_SIMPLE)
        md5_one(<const uint8_t *> view.buf, view.len, digest)
        PyBuffer_Release(&view)

    cdef void prefetch(self, const uint8_t *digest) noexcept nogil:
        """Start to load the digest's first slot: the table is larger than any cache, and a miss costs most of a
        probe."""
        prefetch_for_write(self.table + slot_of(digest, 0, self.used_slots) * ENTRY)

    cdef int put_digest(self, const uint8_t *digest, int64_t offset) noexcept nogil:
        """0, or -1 when there is no slot left."""
        cdef int64_t attempt = 0
        cdef uint8_t *entry
        if self.entries >= self.used_slots:
            return -1
        while True:
            entry = self.table + slot_of(digest, attempt, self.used_slots) * ENTRY
            if memcmp(entry, digest, DIGEST) == 0:
                break
            if is_empty(entry):
                memcpy(entry, digest, DIGEST)
                self.entries += 1
                break
            attempt += 1
        memcpy(entry + DIGEST, &offset, 8)
        self.latest_offset = offset
        return 0

    cdef int64_t find_digest(self, const uint8_t *digest) noexcept nogil:
        cdef int64_t attempt = 0
        cdef int64_t offset
        cdef const uint8_t *entry
        # Once probing is linear, that many attempts have seen every slot.
        while attempt < self.used_slots + DIGEST - 4:
            entry = self.table + slot_of(digest, attempt, self.used_slots) * ENTRY
            if memcmp(entry, digest, DIGEST) == 0:
                memcpy(&offset, entry + DIGEST, 8)
                return offset
            if is_empty(entry):
                return -1
            attempt += 1
        return -1


def md5_digests(keys):
    """The MD5 digests of some keys, by the code that the cleaner uses (for tests)."""
    cdef size_t count = len(keys)
    cdef size_t i
    cdef list held = [bytes(key) for key in keys]
    cdef bytearray out = bytearray(16 * count)
    cdef uint8_t *digests = out
    cdef const uint8_t **pointers = <const uint8_t **> calloc(count + 1, sizeof(uint8_t *))
    cdef int32_t *lengths = <int32_t *> calloc(count + 1, sizeof(int32_t))
    try:
        if pointers == NULL or lengths == NULL:
            raise MemoryError()
        for i in range(count):
            pointers[i] = <const uint8_t *> <bytes> held[i]
            lengths[i] = <int32_t> len(held[i])
        with nogil:
            hash_keys(pointers, lengths, count, digests)
    finally:
        free(pointers)
        free(lengths)
    return [bytes(out[16 * i:16 * i + 16]) for i in range(count)]
