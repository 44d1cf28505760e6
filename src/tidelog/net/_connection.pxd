from tidelog.net._back_pressure cimport BackPressure
from tidelog.net._incoming cimport Incoming
from tidelog.net._receive cimport ReceiveBuffers
from tidelog.net._sending cimport Sending


cdef class FrameSink:
    cdef readonly Py_ssize_t pending

    cdef int frame(self, ServerConnection connection, bytearray owner, unsigned char* base,
                   Py_ssize_t position, Py_ssize_t size) except -1
    cdef int flush(self) except -1


cdef class ServerConnection:
    cdef readonly object listener
    cdef readonly object transport
    cdef readonly str peer
    cdef readonly str client_host
    cdef readonly Py_ssize_t reads
    cdef public object session
    cdef public Py_ssize_t max_frame
    cdef readonly FrameSink front
    cdef object __weakref__

    cdef FrameSink sink
    cdef ReceiveBuffers buffers
    cdef BackPressure flow
    cdef Incoming incoming
    cdef Sending sending
    cdef object loop

    cdef int send(self, const unsigned char* data, Py_ssize_t size) except -1
    cdef bint is_closing(self) noexcept
    cdef Py_ssize_t _split(self, bytearray owner, unsigned char* base, Py_ssize_t start, Py_ssize_t end) except -1
    cdef int _hand_on(self, bytearray owner, unsigned char* base, Py_ssize_t* start, Py_ssize_t end) except -1
    cdef int _split_own(self) except -1
