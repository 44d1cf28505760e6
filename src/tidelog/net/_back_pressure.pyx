"""When a connection's next frame is looked at, when its socket is read, and when neither.

Kafka's rule gives both order and bounds: **one request of a connection is in work at a time.** Answers therefore leave
in the order of the requests without being sorted, and a client that sends without end, or does not read what it is
answered, fills the kernel's buffers and its own, not the broker's memory: after what one read event brought while
something was in the way, nothing is read until that is gone.

    in the way                            ends with
    a request in work                     its answer (`ServerConnection.finish`)
    answers that the socket does not take the last of them being sent (`Sending`)
    too many requests under way           one of them ending, anywhere (`ReceiveBuffers.held`)

The states, and what leads from one to another, are the table in `_flow.h`. Whoever wants to do something asks the table
(`move`), and does it only if the answer is yes; nobody sets a flag. The table is a constant that is inlined where it is
asked.

A connection that always has more to read does not keep the others from being read: after `TURN` bytes it waits for the
next turn of the loop.
"""

from tidelog.common.named_tuple import NamedTuple

cdef extern from "tidelog/net/_flow.h" nogil:
    enum:
        EVENTS "TL_EVENTS"

    ctypedef struct tl_transition:
        const char* name
        unsigned char needs
        unsigned char refuses
        unsigned char sets
        unsigned char clears

    const tl_transition TL_TRANSITIONS[]

# A connection that sends faster than we work gives the others their turn after this many bytes.
cdef Py_ssize_t TURN = 4 << 20
# In the order of their bits.
CONDITIONS = ("busy", "corked", "stalled", "paused", "closing", "held")


class Transition(NamedTuple):
    """One row of the table: in which states an event is possible, and what it changes."""

    event: str
    needs: frozenset[str]
    refuses: frozenset[str]
    sets: frozenset[str]
    clears: frozenset[str]


cdef object named(int bits):
    return frozenset(name for index, name in enumerate(CONDITIONS) if bits >> index & 1)


def transitions():
    """The table, for who wants to read it: the tests walk it."""
    cdef const tl_transition* row
    rows = []
    for event in range(EVENTS):
        row = &TL_TRANSITIONS[event]
        name = row.name.decode()
        rows.append(Transition(name, named(row.needs), named(row.refuses), named(row.sets), named(row.clears)))
    return rows


cdef class BackPressure:
    """One connection's state. `transport` is whom to tell to read or not to; it comes when the connection is made."""

    def __init__(self, ReceiveBuffers buffers not None):
        self.buffers = buffers

    def give_transport(self, transport):
        """From now on there is somebody to tell; None when the connection is lost."""
        self.transport = transport

    @property
    def conditions(self):
        """The names of those that hold, with the one that is shared with all connections."""
        return named(self.state) | ({"held"} if self.buffers.held else set())

    def step(self, str event not None):
        """`move` by name."""
        for index in range(EVENTS):
            if TL_TRANSITIONS[index].name.decode() == event:
                return move(self, <tl_event>index)
        raise KeyError(event)

    cdef bint after_read(self, Py_ssize_t count, bint kept) except -1:
        """`count` bytes came and were dealt with, or (`kept`) some could not be; True when the turn is over.

        Bytes are kept in two cases. Half a frame is waited for: reading goes on. Or something is in the way: then
        reading stops, until it is gone.
        """
        if kept and not move(self, LOOK):
            if move(self, PAUSE):
                self.transport.pause_reading()
                return False
        self.turn_bytes += count
        if self.turn_bytes > TURN and move(self, PAUSE):
            self.turn_bytes = 0
            self.transport.pause_reading()
            return True
        return False

    cdef int read_on(self) except -1:
        """Read again, if reading had stopped and nothing is in the way."""
        if move(self, READ):
            self.turn_bytes = 0
            self.transport.resume_reading()
        return 0
