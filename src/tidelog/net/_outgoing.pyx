"""One connection's outgoing queue: bytes and file slices, in order, straight to the socket.

Small answers go out at once from the caller's memory and are never queued. What the socket does not take is queued and
pumped when it is writable again. File slices (anything with `fileno()`, `position`, `size`, `release()`) go out with
sendfile and are released when their last byte is with the kernel, or when the connection is lost.

A slice whose next bytes are not in the page cache is not sent: `pump` answers COLD, and the range is brought in on a
thread (`_socket_sending`), so that one reader of old data does not stall the others. Nor does one reader of much: a
turn of the loop moves at most TURN, and while others wait for theirs a large slice may go to a thread (ASIDE, see
`_sendfile_threads`).
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.buffer cimport Py_buffer, PyBUF_SIMPLE, PyObject_CheckBuffer, PyObject_GetBuffer, PyBuffer_Release
from libc.errno cimport EAGAIN
from libc.stdint cimport int64_t

cdef extern from "sys/uio.h":
    cdef struct iovec:
        void* iov_base
        size_t iov_len

cdef extern from "tidelog/net/_socket.h" nogil:
    ssize_t tl_send(int fd, const void* data, size_t size, int more)
    ssize_t tl_sendv(int fd, iovec* parts, int count, int more)
    ssize_t tl_send_file(int fd, int file, int64_t position, size_t size)
    int tl_resident(int file, int64_t position, size_t size)
    int tl_warm(int file, int64_t position, size_t size)

# One sendfile call moves at most this much, and one turn of the loop at most TURN: other connections get their turn.
cdef Py_ssize_t CHUNK = 256 << 10
cdef Py_ssize_t TURN = 512 << 10
cdef int IOVECS = 64


def warm(int file, int64_t position, size_t size):
    """Bring a range of a file into the page cache; returns 0 or -errno. Blocks: call it on a thread."""
    cdef int code
    with nogil:
        code = tl_warm(file, position, size)
    return code


def resident(int file, int64_t position, size_t size):
    """Whether the whole range lies in the page cache."""
    return tl_resident(file, position, size) != 0


cdef class Outgoing:
    def __cinit__(self, int fd, sending, SendfileThreads threads):
        self.fd = fd
        self.sending = sending
        self.threads = threads
        self.items = None
        self.head = 0
        self.sent = 0
        self.queued = 0
        self.probed = None

    cdef int send(self, const unsigned char* data, Py_ssize_t size) except -2:
        """Send from the caller's memory now, or queue a copy of the rest."""
        cdef ssize_t sent = 0
        if self.items is None:
            with nogil:
                sent = tl_send(self.fd, data, size, 0)
            if sent == size:
                return DRAINED
            if sent < 0:
                if sent != -EAGAIN:
                    return BROKEN
                sent = 0
        self.put(PyBytes_FromStringAndSize(<const char*>data + sent, size - sent))
        return STALLED

    cdef int put(self, object item) except -1:
        """Queue bytes or a slice; nothing is sent before `pump`."""
        if self.items is None:
            self.items = []
        self.items.append(item)
        if PyObject_CheckBuffer(item):
            self.queued += len(item)
        return 0

    cdef int pump(self) except -2:
        """Send as much as the socket takes, within one turn's share."""
        cdef Py_ssize_t turn = TURN
        cdef int moved
        cdef object item
        self._wait(False)
        while self.items is not None:
            item = self.items[self.head]
            if self.threads.waiting and self._goes_aside(item):
                return ASIDE
            moved = self._send_memory() if PyObject_CheckBuffer(item) else self._send_slice(item)
            if moved == -1:
                return BROKEN
            if moved == 0:
                return COLD if self.probed is not None else STALLED
            turn -= moved
            if turn <= 0 and self.items is not None:
                self._wait(True)
                return YIELDED
        return DRAINED

    cdef void _wait(self, bint waiting):
        """Whether this connection could send on, but waits for its next turn."""
        self.threads.waiting += <int>waiting - <int>self.waiting
        self.waiting = waiting

    cdef bint _goes_aside(self, object item) except -1:
        """Others wait: give what is left of a large slice to a thread, if one is idle."""
        cdef Py_ssize_t left
        if PyObject_CheckBuffer(item):
            return False
        left = <Py_ssize_t>item.size - self.sent
        if left <= CHUNK:
            return False
        return self.threads.take(self.sending, item, self.fd, <int64_t>item.position + self.sent, left)

    cdef void moved(self, Py_ssize_t size):
        """A thread has sent so much of the slice at the head."""
        self.sent += size
        if self.sent == <Py_ssize_t>self.items[self.head].size:
            self._drop_head()

    cdef int _send_memory(self) except -2:
        """One sendmsg of the bytes at the head; bytes moved, 0 when the socket is full, -1 when it is broken."""
        cdef iovec parts[64]
        cdef Py_buffer views[64]
        cdef int count = 0, more = 0, index
        cdef ssize_t moved, left
        cdef Py_ssize_t at = self.head, total = len(self.items)
        cdef Py_ssize_t skip = self.sent
        while at < total and count < IOVECS:
            item = self.items[at]
            if not PyObject_CheckBuffer(item):
                more = 1
                break
            PyObject_GetBuffer(item, &views[count], PyBUF_SIMPLE)
            parts[count].iov_base = <char*>views[count].buf + skip
            parts[count].iov_len = views[count].len - skip
            skip = 0
            count += 1
            at += 1
        with nogil:
            moved = tl_sendv(self.fd, parts, count, more)
        for index in range(count):
            PyBuffer_Release(&views[index])
        if moved < 0:
            return 0 if moved == -EAGAIN else -1
        left = moved
        for index in range(count):
            if left < <ssize_t>parts[index].iov_len:
                self.sent += left
                break
            left -= parts[index].iov_len
            self._drop_head()
        self.queued -= moved
        return 1 if moved == 0 else <int>moved

    cdef int _send_slice(self, object item) except -2:
        """One sendfile of the slice at the head; as `_send_memory`, with `probed` set when its bytes are cold."""
        cdef Py_ssize_t size = item.size
        cdef int64_t position = <int64_t>item.position + self.sent
        cdef Py_ssize_t want = size - self.sent
        cdef int file = item.fileno()
        cdef ssize_t moved
        if want > CHUNK:
            want = CHUNK
        if want <= 0:
            self._drop_head()
            return 1
        if self.probed is None and not tl_resident(file, position, want):
            self.probed = (item, position, want)
            return 0
        with nogil:
            moved = tl_send_file(self.fd, file, position, want)
        self.probed = None
        if moved < 0:
            return 0 if moved == -EAGAIN else -1
        if moved == 0:  # the file ends before the slice does: the answer cannot be completed
            return -1
        self.sent += moved
        if self.sent == size:
            self._drop_head()
        return <int>moved

    cdef void _drop_head(self):
        cdef object item = self.items[self.head]
        self.items[self.head] = None
        self.head += 1
        self.sent = 0
        if self.head == len(self.items):
            self.items = None
            self.head = 0
        if not PyObject_CheckBuffer(item):
            item.release()

    cdef void clear(self):
        """The connection is gone: forget everything, release every slice."""
        cdef list items = self.items
        cdef Py_ssize_t head = self.head
        self.items = None
        self.head = self.sent = self.queued = 0
        self.probed = None
        self._wait(False)
        self.sending = None
        if items is not None:
            for item in items[head:]:
                if not PyObject_CheckBuffer(item):
                    item.release()
