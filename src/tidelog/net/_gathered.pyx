"""Gathered writes: the parts of requests, from wherever they lie, into the socket at once and without the GIL.

A request of a megabyte takes the kernel a quarter of a millisecond to copy. A loop's own transport holds the GIL for
that long, and a program that sends stands still; here it goes on.

Small writes keep the GIL: to get it back from a thread that is busy costs more than they take.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.errno cimport EAGAIN, EINTR, errno

cdef extern from "<sys/uio.h>":
    cdef struct iovec:
        void* iov_base
        size_t iov_len
    ssize_t writev(int fd, const iovec* parts, int count) nogil

cdef extern from "<poll.h>":
    cdef struct pollfd:
        int fd
        short events
        short revents
    short POLLOUT
    int poll(pollfd* watched, unsigned long count, int milliseconds) nogil

cdef enum:
    MOST_PARTS = 128
    UNLOCK_FROM = 65536


cdef Py_ssize_t write_some(int fd, iovec* parts, int count, int patience) noexcept nogil:
    """How many bytes the kernel has taken, until it took no more for `patience` milliseconds, or an error came."""
    cdef Py_ssize_t total = 0, taken
    cdef pollfd room
    while count:
        taken = writev(fd, parts, count)
        if taken < 0:
            if errno == EINTR:
                continue
            if errno != EAGAIN or patience <= 0:
                return total
            room.fd, room.events, room.revents = fd, POLLOUT, 0
            if poll(&room, 1, patience) <= 0:
                return total
            continue
        total += taken
        while count and <size_t>taken >= parts.iov_len:
            taken -= parts.iov_len
            parts += 1
            count -= 1
        if count and taken:
            parts.iov_base = <char*>parts.iov_base + taken
            parts.iov_len -= taken
    return total


def write_parts(int fd, list parts not None, int patience=0):
    """Write buffers one after the other; what is left of them when the socket is full for `patience` milliseconds.

    An error leaves what could not be written: whoever tries again, the loop's transport, meets and tells it.
    """
    cdef Py_buffer views[MOST_PARTS]
    cdef iovec vectors[MOST_PARTS]
    cdef Py_ssize_t size, taken, done = 0, index
    cdef int count, held
    while done < len(parts):
        count, held, size = <int>min(len(parts) - done, MOST_PARTS), 0, 0
        try:
            for index in range(count):
                PyObject_GetBuffer(parts[done + index], &views[index], PyBUF_SIMPLE)
                held += 1
                vectors[index].iov_base, vectors[index].iov_len = views[index].buf, <size_t>views[index].len
                size += views[index].len
            if size >= UNLOCK_FROM:
                with nogil:
                    taken = write_some(fd, vectors, count, patience)
            else:
                taken = write_some(fd, vectors, count, 0)
        finally:
            for index in range(held):
                PyBuffer_Release(&views[index])
        if taken < size:
            return _left(parts, done, taken)
        done += count
    return []


cdef list _left(list parts, Py_ssize_t done, Py_ssize_t taken):
    """The parts from `done` on, less the first `taken` bytes."""
    cdef Py_ssize_t size
    rest = []
    for part in parts[done:]:
        size = len(part)
        if taken >= size:
            taken -= size
            continue
        rest.append(memoryview(part)[taken:] if taken else part)
        taken = 0
    return rest
