from tidelog.net._back_pressure cimport BackPressure


cdef class Sending:
    cdef readonly Py_ssize_t writes
    cdef BackPressure flow
    cdef object connection

    cdef int send(self, const unsigned char* data, Py_ssize_t size) except -1
    cdef int put(self, object segments) except -1
    cdef int drive(self) except -1
    cdef int stop(self) except -1


cdef class TransportSending(Sending):
    cdef object transport
