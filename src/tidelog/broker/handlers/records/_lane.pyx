"""What the compiled Produce must know of a partition before it takes a batch for it, kept in C.

`lanes.py` derives it from the partition's role and its topic's config. It is not kept up to date: whenever a role or a
config changes, all lanes are dropped, and made again when the next request names the topic. Roles change rarely, and
requests come by the ten thousand: the whole price of a change is one look-up per topic.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.string cimport memcmp


cdef class Lane:
    """One partition. `open` is False when its batches must go the long way.

    acks_all        this broker is the whole ISR, and that is enough (`min.insync.replicas`): what is written is
                    committed, and acks=all need not wait
    needs_keys      the topic is compacted: a record without a key is refused
    max_batch       bytes of the largest batch (`max.message.bytes`, and no more than fits into a segment)
    before_max      how far a record's timestamp may lie behind the clock (`message.timestamp.before.max.ms`),
    after_max       and how far ahead of it (`message.timestamp.after.max.ms`)
    """

    def __init__(self, partition, *, bint open, bint acks_all, bint needs_keys, max_batch, before_max, after_max):
        self.partition = partition
        self.open = open
        self.acks_all = acks_all
        self.needs_keys = needs_keys
        self.max_batch = min(max_batch, 0x7FFFFFFF)
        self.before_max = before_max
        self.after_max = after_max
        self.append = partition.append_checked
        self.run = -1           # where this partition's batches are gathered at present


cdef class LaneTable:
    """The lanes of all topics that sessions of one view asked for. `make(name | id, by_id)` gives a topic's, or
    None."""

    def __init__(self, make):
        self.make = make
        self.by_name = {}
        self.by_id = {}

    cdef list find(self, const uint8_t* name, Py_ssize_t size, bint by_id):
        """The lanes of a topic, by partition; None when it is not served here, which is asked again each time.

        The topic asked for last is found without a look-up: that saves the common request an allocation and a hash.
        """
        cdef bytes key
        cdef dict known
        if (self.last_lanes is not None and self.last_by_id == by_id and len(self.last_key) == size
                and memcmp(<const char*>self.last_key, name, size) == 0):
            return self.last_lanes
        key = PyBytes_FromStringAndSize(<const char*>name, size)
        known = self.by_id if by_id else self.by_name
        lanes = known.get(key)
        if lanes is None:
            lanes = self.make(key, by_id)
            if lanes is None:
                return None
            known[key] = lanes
        self.last_key, self.last_by_id, self.last_lanes = key, by_id, lanes
        return lanes
