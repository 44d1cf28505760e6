"""Sending in plain text: the outgoing queue, and who is waited for when it does not drain at once.

    the queue says    what follows
    DRAINED           nothing is waited for
    STALLED, YIELDED  the socket is full, or the turn is over: the loop tells when it is writable (`_writable`)
    COLD              the next bytes are not in the page cache: a thread brings them in (`_warmed`)
    ASIDE             a thread has taken the slice at the head over (`sent_aside`)
    BROKEN            the connection is closed

In all but the first and the last the connection is stalled: it looks at no further request.

The loop watches a descriptor once, and that of the connection is its transport's. So a duplicate is watched, which
lives as long as answers wait. Where descriptors are scarce it is refused, and the connection closed: otherwise clients
that do not read would take those that the log needs.
"""

import os

from tidelog.net._back_pressure cimport FLOW, STALL, BackPressure, closing, move
from tidelog.net._outgoing cimport ASIDE, BROKEN, COLD, DRAINED, STALLED, YIELDED, Outgoing
from tidelog.net._outgoing import warm
from tidelog.net._sending cimport Sending
from tidelog.net.descriptors import is_scarce


cdef class SocketSending(Sending):
    """`in_thread(work, done)` runs `work` on a thread, `done` on the loop. `armed`: the loop watches the duplicate."""

    def __init__(self, connection, BackPressure flow not None, loop, in_thread, int fd, threads):
        super().__init__(connection, flow)
        self.loop = loop
        self.in_thread = in_thread
        self.fd = fd
        self.writer_fd = -1
        self.outgoing = Outgoing(fd, self, threads)

    cdef int send(self, const unsigned char* data, Py_ssize_t size) except -1:
        cdef int outcome = self.outgoing.send(data, size)
        if outcome == DRAINED and self.writer_fd < 0:
            return 0
        return self._after(outcome)

    cdef int put(self, object segments) except -1:
        for segment in segments:
            self.outgoing.put(segment)
        return 0

    cdef int drive(self) except -1:
        if self.outgoing.items is None:
            return 0
        return self._after(self.outgoing.pump())

    cdef int stop(self) except -1:
        self._drained()
        self.fd = -1
        self.outgoing.clear()
        self.connection = None
        return 0

    # -- waiting ------------------------------------------------------------------------------------------------------

    cdef int _after(self, int outcome) except -1:
        """What follows from how far the queue got."""
        if outcome == DRAINED:
            self._drained()
        elif outcome == STALLED or outcome == YIELDED:
            self._wait_for_room()
        elif outcome == COLD or outcome == ASIDE:
            self._stop_waiting()
            move(self.flow, STALL)
            if outcome == COLD:
                self.in_thread(self._warm_head(), self._warmed)
        else:
            self.connection.close()
        return 0

    cdef int _wait_for_room(self) except -1:
        """Unless something is waited for already: a thread that has the head of the queue in hand must have it alone.

        An answer may be queued meanwhile, of a request that was noted before the connection stalled.
        """
        if not move(self.flow, STALL):
            return 0
        if self.writer_fd < 0:
            try:
                self.writer_fd = os.dup(self.fd)
            except OSError as error:  # no descriptors left: it could not be told when to send on
                self.connection.close(f"its answer cannot be sent: {error}")
                return 0
            if is_scarce(self.writer_fd):
                self.connection.close("its answer cannot be sent: few descriptors are left (ulimit -n)")
                return 0
        self.loop.add_writer(self.writer_fd, self._writable)
        self.armed = True
        return 0

    cdef int _stop_waiting(self) except -1:
        """Somebody else goes on with the queue: that there is room in the socket is of no interest meanwhile."""
        if self.armed:
            self.armed = False
            self.loop.remove_writer(self.writer_fd)
        return 0

    cdef int _drained(self) except -1:
        move(self.flow, FLOW)
        self._stop_waiting()
        if self.writer_fd >= 0:
            os.close(self.writer_fd)
            self.writer_fd = -1
        return 0

    # -- what was waited for has come ---------------------------------------------------------------------------------

    def _writable(self):
        if closing(self.flow) or self.outgoing.items is None:
            return
        self.writes += 1
        self._after(self.outgoing.pump())
        if not closing(self.flow):
            self.connection.resume()

    def _warm_head(self):
        """What a thread has to do: read the cold range once. The slice is held until then, whatever becomes of us."""
        item, position, size = self.outgoing.probed
        item.retain()
        file = item.fileno()

        def bring_in():
            try:
                return warm(file, position, size)
            finally:
                self.loop.call_soon_threadsafe(item.release)

        return bring_in

    def _warmed(self):
        move(self.flow, FLOW)
        self._writable()

    def sent_aside(self, Py_ssize_t moved, bint broken):
        """A thread has sent so much of the slice at the head of the queue."""
        if closing(self.flow):
            return
        move(self.flow, FLOW)
        self.outgoing.moved(moved)
        if broken:
            self._after(BROKEN)
        elif self.outgoing.items is None:
            self._drained()
            self.connection.resume()
        else:
            self._writable()
