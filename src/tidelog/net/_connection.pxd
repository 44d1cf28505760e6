from tidelog.net._outgoing cimport Outgoing
from tidelog.net._receive cimport ReceiveBuffers


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
    cdef readonly bint closing
    cdef readonly bint busy
    cdef readonly Py_ssize_t reads
    cdef readonly Py_ssize_t writes
    cdef public object session
    cdef public Py_ssize_t max_frame
    cdef object __weakref__

    cdef FrameSink sink
    cdef readonly FrameSink front
    cdef ReceiveBuffers buffers
    cdef Outgoing outgoing
    cdef object loop
    cdef int fd
    cdef int writer_fd
    cdef bint corked
    cdef bint paused
    cdef bint armed
    cdef Py_ssize_t expect
    cdef Py_ssize_t turn_bytes
    cdef bytearray own
    cdef unsigned char* own_ptr
    cdef Py_ssize_t end
    cdef int lent

    cdef int send(self, const unsigned char* data, Py_ssize_t size) except -1
    cdef bint blocked(self)
    cdef int _drive(self) except -1
    cdef int _pumped(self, int outcome) except -1
    cdef Py_ssize_t _split(self, bytearray owner, unsigned char* base, Py_ssize_t start, Py_ssize_t end) except -1
    cdef int _keep(self, const unsigned char* data, Py_ssize_t size) except -1
    cdef int _consume_own(self) except -1
    cdef void _drop_own(self)
    cdef Py_ssize_t _room(self) except -1
    cdef int _grow(self, Py_ssize_t size) except -1
