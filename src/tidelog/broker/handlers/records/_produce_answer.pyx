"""The answer to one Produce request, in any version from 3 on, written behind the answers before it.

The topics come back in the order, and with the names or ids, of the request; their bytes are copied from the request,
which still lies in the receive memory. Each partition has its own error: 0 and where its batch begins, or a code and
-1.
"""

from libc.stdint cimport int16_t, int32_t

from tidelog.broker.requests._writer cimport Writer

from tidelog.broker.handlers.records.refusals import reasons
from tidelog.broker.handlers.records.versions import Produce

cdef int LOG_START_OFFSET = Produce.LOG_START_OFFSET
cdef int RECORD_ERRORS = Produce.RECORD_ERRORS
cdef int FLEXIBLE = Produce.FLEXIBLE
cdef int TOPIC_IDS = Produce.TOPIC_IDS


cdef int put_answer(Writer out, Request* request, Topic* topics, Part* parts, dict errors) except -1:
    """Write one answer. `errors` has, by the part's place in `parts`, the exceptions of those that failed.

    Answers of one connection stand one behind the other in `out` and leave in one send: hence the length is filled in
    at `start`, not at the front.
    """
    cdef bint compact = request.version >= FLEXIBLE
    cdef Py_ssize_t topic_at, index, at = request.first_part
    cdef Py_ssize_t start = out.begin_answer(request.correlation, compact)
    cdef Topic* topic
    out.put_length(request.topics, compact, 4)
    for topic_at in range(request.first_topic, request.first_topic + request.topics):
        topic = &topics[topic_at]
        if request.version < TOPIC_IDS:
            out.put_length(topic.name_size, compact, 2)
        out.put_raw(topic.name, topic.name_size)
        out.put_length(topic.parts, compact, 4)
        for index in range(topic.parts):
            put_part(out, request.version, &parts[at], errors.get(at) if parts[at].error else None)
            at += 1
        if compact:
            out.put_varint(0)
    out.put_throttle()
    return out.end_answer(start, compact)


cdef int put_part(Writer out, int16_t version, Part* part, object error) except -1:
    """One partition: where its first record went, when (LogAppendTime; else -1), and where the log begins.

    The tags, where a leader hint would stand, stay empty: who is not the leader went the long way.
    """
    cdef bint compact = version >= FLEXIBLE
    out.put_32(part.index)
    out.put_16(part.error)
    out.put_64(part.base_offset)
    out.put_64(part.append_time)
    if version >= LOG_START_OFFSET:
        out.put_64(part.log_start)
    if version >= RECORD_ERRORS:
        if error is None:
            out.put_length(0, compact, 4)
            out.put_length(-1, compact, 2)
        else:
            put_reasons(out, error, compact)
    if compact:
        out.put_varint(0)
    return 0


cdef int put_reasons(Writer out, object error, bint compact) except -1:
    """Which records were refused, by their place in the batch, and in words why, as `refusals.py` has it."""
    record_errors, message = reasons(error)
    out.put_length(len(record_errors), compact, 4)
    for batch_index, text in record_errors:
        out.put_32(batch_index)
        out.put_text(text, compact)
        if compact:
            out.put_varint(0)
    return out.put_text(message, compact)
