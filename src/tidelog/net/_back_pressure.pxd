from tidelog.net._receive cimport ReceiveBuffers

cdef extern from "tidelog/net/_flow.h" nogil:
    enum:
        BUSY "TL_BUSY"
        CLOSING "TL_CLOSING"
        STALLED "TL_STALLED"

    enum tl_event:
        BEGIN "TL_BEGIN"
        FINISH "TL_FINISH"
        CORK "TL_CORK"
        UNCORK "TL_UNCORK"
        STALL "TL_STALL"
        FLOW "TL_FLOW"
        PAUSE "TL_PAUSE"
        READ "TL_READ"
        LOOK "TL_LOOK"
        RESUME "TL_RESUME"
        SEND "TL_SEND"
        CLOSE "TL_CLOSE"

    bint tl_move(int* state, tl_event event, bint held)


cdef class BackPressure:
    cdef int state
    cdef Py_ssize_t turn_bytes
    cdef ReceiveBuffers buffers
    cdef object transport

    cdef bint after_read(self, Py_ssize_t count, bint kept) except -1
    cdef int read_on(self) except -1


cdef inline bint move(BackPressure flow, tl_event event) noexcept:
    """Whether the event is possible now; if so, it has happened. The compiler reduces a row to a test and an or."""
    return tl_move(&flow.state, event, flow.buffers.held)


cdef inline bint closing(BackPressure flow) noexcept:
    return flow.state & CLOSING
