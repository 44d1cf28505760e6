from libc.stdint cimport int32_t, int64_t, uint8_t


cdef class OffsetMap:
    cdef readonly int64_t slots
    cdef readonly int64_t latest_offset
    cdef int64_t entries
    cdef int64_t used_slots
    cdef uint8_t *table

    cdef _digest(self, key, uint8_t *digest)
    cdef int put_digest(self, const uint8_t *digest, int64_t offset) noexcept nogil
    cdef int64_t find_digest(self, const uint8_t *digest) noexcept nogil
    cdef void prefetch(self, const uint8_t *digest) noexcept nogil


cdef void hash_keys(const uint8_t **keys, const int32_t *lengths, size_t count, uint8_t *digests) noexcept nogil
