"""One committed offset in memory. A busy shard has millions of them: numbers are kept as numbers, not as objects."""

from libc.stdint cimport int32_t, int64_t


cdef class Committed:
    """`order` is its place among the records of the shard; 0 until it is replayed."""

    def __init__(self, int64_t offset, int32_t leader_epoch, str metadata not None, int64_t commit_timestamp,
                 int64_t expire_timestamp=-1):
        self.offset = offset
        self.leader_epoch = leader_epoch
        self.metadata = metadata
        self.commit_timestamp = commit_timestamp
        self.expire_timestamp = expire_timestamp

    def durable(self):
        """What the log says of it."""
        return self.offset, self.leader_epoch, self.metadata, self.commit_timestamp, self.expire_timestamp

    def __repr__(self):
        return f"Committed{self.durable()}"
