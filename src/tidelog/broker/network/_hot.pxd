from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from tidelog.broker.requests._writer cimport Writer
from tidelog.net._connection cimport FrameSink, ServerConnection
from tidelog.records.kernel._batches cimport BatchRun


cdef class Taker:
    cdef readonly Py_ssize_t taken

    cdef int take(self, ServerConnection connection, uint8_t* frame, Py_ssize_t size) except -1


cdef class Lane:
    cdef readonly object partition
    cdef readonly bint open
    cdef bint acks_all
    cdef bint needs_keys
    cdef int32_t max_batch
    cdef int64_t before_max
    cdef int64_t after_max
    cdef object append
    cdef Py_ssize_t group
    cdef int64_t named_by


cdef struct Part:
    int32_t index
    int32_t group
    int32_t batch
    int32_t next
    int16_t error
    int64_t base_offset
    int64_t append_time
    int64_t log_start


cdef struct Group:
    int32_t first
    int32_t last


cdef struct Topic:
    uint8_t* name
    int32_t name_size
    int32_t parts


cdef struct Request:
    int32_t correlation
    int16_t version
    int16_t acks
    bint transactional
    int32_t first_topic
    int32_t topics
    int32_t first_part
    int32_t parts


cdef class RequestSink(FrameSink):
    cdef object dispatcher
    cdef object loop
    cdef object clock
    cdef dict by_name
    cdef dict by_id
    cdef bint scheduled
    cdef bint flushing
    cdef public bint hot
    cdef list takers
    cdef readonly Py_ssize_t hot_requests
    cdef int64_t parsed
    cdef readonly Py_ssize_t groups_made

    cdef Request* requests
    cdef Py_ssize_t request_room
    cdef Topic* topics
    cdef Py_ssize_t topic_count
    cdef Py_ssize_t topic_room
    cdef Part* parts
    cdef Py_ssize_t part_count
    cdef Py_ssize_t part_room
    cdef Group* groups
    cdef Py_ssize_t group_room
    cdef list asked
    cdef bytes last_key
    cdef bint last_by_id
    cdef list last_lanes
    cdef list connections
    cdef list lanes
    cdef list runs
    cdef dict errors
    cdef bytearray owner
    cdef Writer out

    cdef int take(self, ServerConnection connection, bytearray owner, uint8_t* base, Py_ssize_t position,
                  Py_ssize_t size) except -1
    cdef int parse(self, uint8_t* base, Py_ssize_t position, Py_ssize_t size, Request* request, list lanes) except -1
    cdef int admit(self, Lane lane, Request* request, const uint8_t* batch, Py_ssize_t size) except -1
    cdef int commit(self, uint8_t* base, Request* request, list lanes) except -1
    cdef list lanes_of(self, const uint8_t* name, Py_ssize_t size, bint by_id)
    cdef int append_groups(self) except -1
    cdef int append_group(self, Py_ssize_t group, int64_t now_ms) except -1
    cdef int append_singly(self, Py_ssize_t group) except -1
    cdef int settle(self, Py_ssize_t group, int32_t batch, object info, int64_t offset) except -1
    cdef int fail(self, Py_ssize_t group, int32_t batch, object error) except -1
    cdef int answer_all(self) except -1
    cdef int encode(self, Request* request) except -1
    cdef int encode_part(self, Request* request, Py_ssize_t at) except -1
