"""ProducerBatch for the other compiled parts of the producer."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t


cdef class BufferPool:
    cdef readonly Py_ssize_t buffer_size
    cdef readonly Py_ssize_t total
    cdef readonly Py_ssize_t available
    cdef void* free[64]
    cdef int kept

    cdef uint8_t* take(self, Py_ssize_t size) except NULL
    cdef void give(self, uint8_t* data, Py_ssize_t size) noexcept


cdef class RecordFuture


cdef class ProducerBatch:
    cdef BufferPool pool
    cdef uint8_t* data
    cdef Py_ssize_t capacity
    cdef Py_ssize_t exports
    cdef Py_ssize_t shape
    cdef object prebuilt
    cdef readonly object queue
    cdef readonly object topic_partition
    cdef readonly double created
    cdef public int64_t place           # among all batches of its partition, as they were queued
    cdef readonly Py_ssize_t used
    cdef readonly int32_t count
    cdef int64_t base_timestamp
    cdef int64_t max_timestamp
    cdef readonly bint closed
    cdef bint packed
    cdef int16_t attributes
    cdef readonly object level
    cdef readonly int64_t producer_id
    cdef readonly int32_t base_sequence
    cdef readonly int16_t producer_epoch
    cdef public int attempts
    cdef public bint in_flight
    cdef public bint in_doubt
    cdef readonly bint of_doubt         # a part of one that was in doubt
    cdef readonly bint done
    cdef readonly int64_t base_offset
    cdef readonly int64_t log_append_time
    cdef readonly object error
    cdef list parts                 # [(index of the first record, batch)], once it was split
    cdef list callbacks
    cdef list waiters

    cdef int append(self, int64_t timestamp, const uint8_t* key, Py_ssize_t key_size, const uint8_t* value,
                    Py_ssize_t value_size, headers, Py_ssize_t headers_size) except -2
    cdef int call_back(self, RecordFuture future, function, bint delivery) except -1
    cdef object call(self, RecordFuture future, function, bint delivery)
    cdef void release(self) noexcept
    cpdef object forget(self, wake)


cdef class RecordFuture:
    cdef ProducerBatch batch
    cdef object failure
    cdef list early
    cdef list early_callbacks
    cdef int32_t index
    cdef int32_t key_size
    cdef int32_t value_size
    cdef int64_t timestamp

    cdef void follow(self) noexcept


cdef Py_ssize_t size_of_record(int64_t since, int32_t delta, Py_ssize_t key_size, Py_ssize_t value_size,
                               Py_ssize_t headers_count, Py_ssize_t headers_size) noexcept
cdef Py_ssize_t size_of_headers(headers) except -1
