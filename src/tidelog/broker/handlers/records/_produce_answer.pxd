"""What is known of gathered Produce requests, in C arrays, and the answers made of it; `_produce.pyx` fills them."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from tidelog.broker.requests._writer cimport Writer


cdef struct Request:
    int32_t correlation
    int16_t version
    int16_t acks
    bint transactional
    int32_t first_topic         # its topics and parts lie together, in the order in which the request names them
    int32_t topics
    int32_t first_part
    int32_t parts


cdef struct Topic:
    uint8_t* name               # in the receive memory; from TOPIC_IDS on, the id
    int32_t name_size
    int32_t parts


cdef struct Part:
    int32_t index               # the partition's number
    int32_t run                 # where its batch was gathered, and which of that run's batches it is
    int32_t batch
    int32_t next                # the part whose batch follows in the same run; -1 for the last
    int16_t error
    int64_t base_offset
    int64_t append_time
    int64_t log_start


cdef int put_answer(Writer out, Request* request, Topic* topics, Part* parts, dict errors) except -1
