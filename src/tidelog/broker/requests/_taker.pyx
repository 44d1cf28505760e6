"""How the compiled form of an API is reached: one interface, one object per API, registered with the sink of all
frames.

An API may be served in two forms. The plain one (a handler that takes a decoded message) serves every version and every
case. The compiled one, a `Taker`, serves what clients send all day, from the bytes of the frame, without making an
object per request. It may always say no: then the frame goes the long way, to the plain form, as if nobody had looked
at it. So a taker never has to answer an error of its own, and needs no rule that the plain form does not have as well.

A taker serves a frame in one of three ways:

    at once      the answer is sent before `take` returns (Heartbeat, OffsetFetch)
    when ready   `connection.begin()` now, `connection.finish()` with the answer later; the connection looks at no other
                 frame in between, which is what keeps a connection's answers in order (OffsetCommit)
    gathered     the frame is noted, and dealt with together with others at the next `flush` (Produce)

A taker that gathers keeps pointers into the receive memory. `pending` says how many frames it holds so; as long as it
is not 0, that memory is not used again, and no frame of another API is served, so that nothing overtakes what was
noted.
"""


cdef class Taker:
    """Serves the common requests of one API. `taken` counts them since the start, for the metrics."""

    cdef int take(self, ServerConnection connection, bytearray owner, uint8_t* base, Py_ssize_t position,
                  Py_ssize_t size) except -1:
        """Serve the frame of `size` bytes at `base + position`, which lies in `owner`; 0 when it must go the long way.

        Who answers 0 has changed nothing. The bytes may be read until this returns, by a gathering taker until `flush`.
        """
        return 0

    cdef int flush(self) except -1:
        """Deal with all that was gathered. Afterwards `pending` is 0, even if this raises."""
        return 0
