from libc.stdint cimport int32_t, int64_t

from tidelog.broker.requests._reader cimport Cursor
from tidelog.broker.requests._writer cimport Writer


cdef class PartitionFetch:
    cdef public object tp
    cdef readonly int32_t index
    cdef readonly bytes topic_id
    cdef public int64_t fetch_offset
    cdef readonly int32_t max_bytes
    cdef readonly int32_t current_leader_epoch
    cdef readonly int32_t last_fetched_epoch
    cdef readonly int64_t log_start_offset
    cdef public int error


cdef class FetchedPartition:
    cdef public int32_t index
    cdef public int error_code
    cdef public int64_t high_watermark
    cdef public int64_t last_stable_offset
    cdef public int64_t log_start_offset
    cdef public object records
    cdef public object aborted
    cdef public int32_t diverging_epoch
    cdef public int64_t diverging_end
    cdef public int32_t leader_id
    cdef public int32_t leader_epoch
    cdef public int32_t preferred_read_replica


cdef class FetchAsk:
    cdef readonly int version
    cdef readonly bint uses_ids
    cdef readonly int32_t replica_id
    cdef readonly int32_t max_wait_ms
    cdef readonly int32_t min_bytes
    cdef readonly int32_t max_bytes
    cdef readonly int isolation_level
    cdef readonly int32_t session_id
    cdef readonly int32_t session_epoch
    cdef readonly list topics
    cdef readonly list forgotten

    cdef int read(self, Cursor* c, int version) except -1
    cdef list read_topics(self, Cursor* c, bint compact)
    cdef tuple read_topic(self, Cursor* c, bint compact)
    cdef list read_partitions(self, Cursor* c, bint compact, bytes topic_id)
    cdef list read_forgotten(self, Cursor* c, bint compact)
    cdef int read_tags(self, Cursor* c) except -1


cdef class FetchAnswer:
    cdef public int error_code
    cdef public int32_t session_id
    cdef public list topics
    cdef public list node_endpoints

    cdef int put_endpoints(self, Writer out, int version) except -1
