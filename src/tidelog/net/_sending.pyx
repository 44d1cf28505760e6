"""How answers leave: one interface, and a form of it for each kind of connection.

    SocketSending      plain text, straight to the socket, file slices with sendfile (`_socket_sending.pyx`)
    TransportSending   through the loop's transport, which encrypts: file slices are read, as sendfile cannot encrypt

A form tells the connection's `BackPressure` when answers have to wait (STALL) and when none does any more (FLOW), and
then has the connection go on with what it kept. That is all that the two sides know of each other.
"""

from tidelog.net._back_pressure cimport FLOW, STALL, BackPressure, move


cdef class Sending:
    """`writes` counts how often the other side made room for answers that had to wait: whoever takes them is alive."""

    def __init__(self, connection, BackPressure flow not None):
        self.connection = connection
        self.flow = flow

    cdef int send(self, const unsigned char* data, Py_ssize_t size) except -1:
        """Send from memory that the caller re-uses afterwards."""
        raise NotImplementedError

    cdef int put(self, object segments) except -1:
        """Queue the segments of an answer; they are this object's to release."""
        raise NotImplementedError

    cdef int drive(self) except -1:
        """Send what is queued, as far as that goes now."""
        return 0

    cdef int stop(self) except -1:
        """The connection is lost: release what is queued, close what was opened for it."""
        self.connection = None
        return 0


cdef class TransportSending(Sending):
    """The transport has a queue of its own, and says when it is full (`pause_writing`)."""

    def __init__(self, connection, BackPressure flow not None, transport):
        super().__init__(connection, flow)
        self.transport = transport

    cdef int send(self, const unsigned char* data, Py_ssize_t size) except -1:
        self.transport.write((<char*>data)[:size])
        return 0

    cdef int put(self, object segments) except -1:
        for segment in segments:
            if isinstance(segment, (bytes, bytearray, memoryview)):
                self.transport.write(segment)
            else:
                self.transport.write(segment.read())
                segment.release()
        return 0

    def pause_writing(self):
        move(self.flow, STALL)

    def resume_writing(self):
        self.writes += 1
        move(self.flow, FLOW)
        self.connection.resume()


def release(segments):
    """Give up the file slices of an answer that will not be sent."""
    for segment in segments:
        if not isinstance(segment, (bytes, bytearray, memoryview)):
            segment.release()
