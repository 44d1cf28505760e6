"""Threads that send files for the loop, when more than one connection waits for a large send.

One core can push about as much through the loopback device as two readers can take; a second one helps only when a
second connection waits. So a lone large send stays on the loop, where it costs no hand-over, and while one connection's
large send waits for its next turn, another's goes to an idle thread as a whole. With no idle thread the loop
sends, in turns, as ever. The threads are started by the first need.

A connection whose send is aside queues what else it has to say and looks at no other request (see `_back_pressure`);
its `SocketSending.sent_aside(moved, broken)` is called on the loop when the thread is done.
"""

import logging
import os

from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

cdef extern from "tidelog/net/_sendfile_thread.h" nogil:
    ctypedef struct tl_job:
        int socket
        size_t moved
        int broken

    ctypedef struct tl_sendfile_thread:
        tl_job job

    int tl_sendfile_thread_start(tl_sendfile_thread* it, int bell, unsigned char number, size_t chunk)
    void tl_sendfile_thread_give(tl_sendfile_thread* it, int socket, int file, int64_t position, size_t size)
    void tl_sendfile_thread_stop(tl_sendfile_thread* it)

# One sendfile call of a thread: large, since nobody waits behind it, but probed for the page cache as a whole.
cdef size_t CHUNK = 1 << 20

logger = logging.getLogger("tidelog.net")


cdef class SendfileThread:
    """One thread, and whose send it has in hand."""

    cdef tl_sendfile_thread* it
    cdef object sending
    cdef object item

    cdef int start(self, int bell, int number) except -1:
        """0, or why the system gives us no thread."""
        cdef int code
        self.it = <tl_sendfile_thread*>malloc(sizeof(tl_sendfile_thread))
        if self.it is NULL:
            raise MemoryError
        code = tl_sendfile_thread_start(self.it, bell, number, CHUNK)
        if code:
            free(self.it)
        return code

    cdef int give(self, object sending, object item, int own, int64_t position, Py_ssize_t size) except -1:
        """Send from `position` on; the socket `own` is closed when that is done."""
        self.sending, self.item = sending, item.retain()
        tl_sendfile_thread_give(self.it, own, item.fileno(), position, size)
        return 0

    cdef int done(self) except -1:
        """Back on the loop: let go of the socket and the file, tell the connection."""
        cdef object sending = self.sending
        cdef size_t moved = self.it.job.moved
        cdef bint broken = self.it.job.broken
        self._let_go()
        sending.sent_aside(moved, broken)
        return 0

    cdef int _let_go(self) except -1:
        cdef object item = self.item
        self.sending = self.item = None
        os.close(self.it.job.socket)
        item.release()
        return 0

    cdef int stop(self) except -1:
        with nogil:
            tl_sendfile_thread_stop(self.it)
        if self.item is not None:
            self._let_go()
        free(self.it)
        return 0


cdef class SendfileThreads:
    """`room` threads at most. `waiting` counts connections whose large send waits for its next turn on the loop."""

    def __init__(self, loop, int room):
        self.loop = loop
        self.room = room
        self.threads = []
        self.idle = []
        self.pipe_read = self.pipe_write = -1

    cdef bint take(self, object sending, object item, int fd, int64_t position, Py_ssize_t size) except -1:
        """Give a send to an idle thread; False when there is none, or no descriptor for it: then the loop sends."""
        cdef int own
        try:
            if not self.idle and len(self.threads) < self.room:
                self._start_one()
            if not self.idle:
                return False
            own = os.dup(fd)
        except OSError:
            return False
        (<SendfileThread>self.idle.pop()).give(sending, item, own, position, size)
        return True

    def _start_one(self):
        cdef SendfileThread thread = SendfileThread()
        cdef int code
        if self.pipe_read < 0:
            self.pipe_read, self.pipe_write = os.pipe()
            self.loop.add_reader(self.pipe_read, self._rung)
        code = thread.start(self.pipe_write, len(self.threads))
        if code:
            self.room = len(self.threads)
            logger.warning("files are sent by %d threads beside the loop: %s", self.room, os.strerror(code))
            return
        self.threads.append(thread)
        self.idle.append(thread)

    def _rung(self):
        cdef SendfileThread thread
        for number in os.read(self.pipe_read, 256):
            thread = self.threads[number]
            self.idle.append(thread)
            thread.done()

    def resize(self, int room):
        """Start no more than so many threads; those that are there stay."""
        self.room = room

    def stop(self):
        """Wait for what the threads have in hand, and for the threads."""
        cdef SendfileThread thread
        for thread in self.threads:
            thread.stop()
        self.threads = []
        self.idle = []
        self.room = 0
        if self.pipe_read >= 0:
            self.loop.remove_reader(self.pipe_read)
            os.close(self.pipe_read)
            os.close(self.pipe_write)
            self.pipe_read = self.pipe_write = -1
