"""The rest of a large answer, received in one go and without the GIL.

A thread that comes back from a system call in Python waits for the GIL, up to five milliseconds if another thread is at
work. An answer of some megabytes comes in dozens of pieces: while a program looks at the records of one answer, hardly
anything of the next one would come in. Here the GIL is taken back once, when the answer is whole.
"""

from libc.errno cimport EAGAIN, EINTR, errno
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

cdef extern from "<sys/socket.h>":
    int SOL_SOCKET
    int SO_RCVLOWAT
    int MSG_DONTWAIT
    ssize_t recv(int fd, void* buffer, size_t size, int flags) nogil
    int setsockopt(int fd, int level, int name, const void* value, unsigned int size) nogil

cdef extern from "<poll.h>":
    cdef struct pollfd:
        int fd
        short events
        short revents
    short POLLIN
    int poll(pollfd* watched, unsigned long count, int milliseconds) nogil


cdef double now() noexcept nogil:
    cdef timespec time
    clock_gettime(CLOCK_MONOTONIC, &time)
    return <double>time.tv_sec + <double>time.tv_nsec * 1e-9


cdef bint more_is_there(int fd, int patience) noexcept nogil:
    """Whether something (as much as the low-water mark says) came within `patience` milliseconds."""
    cdef pollfd watched
    cdef int found
    watched.fd, watched.events, watched.revents = fd, POLLIN, 0
    while True:
        found = poll(&watched, 1, patience)
        if found >= 0 or errno != EINTR:
            return found > 0


cdef void wake_from(int fd, int size) noexcept nogil:
    """How much must be there before the kernel wakes us for it. Not every kind of socket can: then it wakes for any."""
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &size, sizeof(size))


cdef Py_ssize_t receive_some(int fd, unsigned char* data, Py_ssize_t filled, Py_ssize_t size, Py_ssize_t gulp,
                             int patience, double until) noexcept nogil:
    """How much is filled when it is whole, when nothing more came in time, or at the end of the connection."""
    cdef ssize_t count
    cdef Py_ssize_t wanted = 1
    while filled < size:
        if gulp > 1:
            # recv itself would take whatever there is: to wait for larger pieces is to poll first.
            if wanted != min(gulp, size - filled):
                wanted = min(gulp, size - filled)
                wake_from(fd, <int>wanted)
            if not more_is_there(fd, patience):
                break
        count = recv(fd, data + filled, <size_t>(size - filled), MSG_DONTWAIT)
        if count > 0:
            filled += count
            if filled < size and now() >= until:
                break
        elif count == 0:
            break
        elif errno == EAGAIN:
            if not more_is_there(fd, patience):
                break
        elif errno != EINTR:
            break
    if wanted > 1:
        wake_from(fd, 1)
    return filled


def receive_rest(int fd, unsigned char[::1] buffer not None, Py_ssize_t filled, *, Py_ssize_t gulp, int patience,
                 double turn):
    """Receive into the buffer from `filled` on; how much is filled then.

    It ends when the buffer is full, when nothing comes for `patience` milliseconds, when `turn` seconds are over, and
    with the connection: that, or an error, whoever reads next will meet. `gulp`: to be woken for that many bytes at a
    time; 1 takes what comes.
    """
    cdef Py_ssize_t size = buffer.shape[0]
    if not 0 <= filled <= size:
        raise ValueError(f"{filled} of {size} bytes are filled")
    if filled < size:
        with nogil:
            filled = receive_some(fd, &buffer[0], filled, size, gulp, patience, now() + turn)
    return filled
