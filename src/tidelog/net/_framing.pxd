# Where one frame ends and the next begins: a length of four bytes, big-endian, and as many bytes.
#
# There is nothing to synchronize on in Kafka's protocol. A length that cannot be (negative, or above what is allowed)
# is therefore the end of the connection: whatever follows cannot be told apart. Most often it is another protocol that
# knocks at the wrong port: the four bytes of `GET ` are a frame of 1.2 GB.
#
# These are inlined where bytes are split (`_connection.pyx`) and where memory for a frame is sized (`_incoming.pyx`).

from libc.stdint cimport uint32_t

cdef extern from "tidelog/net/_socket.h" nogil:
    uint32_t tl_be32(const unsigned char* p)

cdef enum Framing:
    PREFIX = 4              # bytes of a length
    INCOMPLETE = -1         # the frame's end has not come yet
    NO_FRAME = -2           # the length cannot be

cdef enum:
    # The least room worth a read.
    ROOM = 16 << 10
    # A frame from this size on is read exactly to its end, into memory of its own: nothing of it is copied again.
    LARGE = 128 << 10
    # Memory for a frame grows with the bytes that really came: a length field alone allocates no more than this.
    TRUSTED = 1 << 20
    # Memory above this is given back with the frame that needed it, even if the next frame has come in part.
    LARGEST_LOAN = 16 << 20


cdef inline Py_ssize_t length_at(const unsigned char* at) noexcept nogil:
    """The length that a frame begins with, whatever it is."""
    return <int>tl_be32(at)


cdef inline Py_ssize_t frame_at(const unsigned char* at, Py_ssize_t have, Py_ssize_t max_frame) noexcept nogil:
    """How many bytes the frame at `at` has behind its length, if all of them have come."""
    cdef Py_ssize_t size
    if have < PREFIX:
        return INCOMPLETE
    size = length_at(at)
    if size < 0 or size > max_frame:
        return NO_FRAME
    return size if have - PREFIX >= size else INCOMPLETE


cdef inline Py_ssize_t expected_after(Py_ssize_t size) noexcept nogil:
    """How much to have ready for the frame that follows one of this size: large ones rarely come alone."""
    return size + PREFIX if LARGE <= size <= LARGEST_LOAN else 0
