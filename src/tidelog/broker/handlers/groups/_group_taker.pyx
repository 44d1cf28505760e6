"""What the takers of the group APIs have in common: the shards that they ask, and memory to write answers into.

All of them end at the same question, to the `GroupMachine` of the shard that has the group, and it is the one that the
plain form asks (`beat`, `check_commit`, `check_fetch`). A group that is not here, or still loading, raises KafkaError:
the taker gives the frame up, and the plain form finds out the same again and answers it.
"""

from tidelog.broker.requests._writer cimport Writer


cdef class GroupTaker(Taker):
    """`runtime` has the group shards."""

    def __init__(self, runtime):
        self.runtime = runtime
        self.out = Writer(b"")      # an answer is sent before the next one is begun: all requests share it
