from tidelog.net._outgoing cimport Outgoing
from tidelog.net._sending cimport Sending


cdef class SocketSending(Sending):
    cdef Outgoing outgoing
    cdef object loop
    cdef object in_thread
    cdef int fd
    cdef int writer_fd
    cdef bint armed

    cdef int _after(self, int outcome) except -1
    cdef int _wait_for_room(self) except -1
    cdef int _stop_waiting(self) except -1
    cdef int _drained(self) except -1
