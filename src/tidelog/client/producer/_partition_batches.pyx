"""PartitionBatches: one partition's batches in their order, and what its sender knows of it; TopicBatches: a topic's.

    records ─► [ ... full, full, open ]  ─► requests
                 the oldest first      the last takes records

The thread that sends appends at the right end, the sender takes from the left; both hold the GIL, and each step is one
operation of the deque (see `_batch` for why no lock is needed).
"""

from collections import deque

from tidelog.common.types import TopicPartition


cdef class PartitionBatches:
    """One partition: its batches in their order, the open one last, and what its sender knows of it."""

    def __init__(self, topic_partition):
        self.topic_partition = topic_partition
        self.waiting = deque()
        self.returned = []

    cpdef object put(self, ProducerBatch batch):
        """Behind all others; its place says so for good, whatever is returned and sent again."""
        self.places += 1
        batch.place = self.places
        self.waiting.append(batch)

    def close_open(self):
        """No more records for the last batch: it leaves as it is."""
        if self.open is not None:
            self.open.close()
            self.open = None

    def taken(self):
        """Take the oldest batch, to be sent."""
        cdef ProducerBatch batch = self.waiting.popleft()
        batch.close()
        if batch is self.open:
            self.open = None
        return batch

    def drop(self, ProducerBatch batch):
        """Take a batch out, wherever it is: it is given up."""
        if batch is self.open:
            self.close_open()
        self.waiting.remove(batch)


cdef class TopicBatches:
    """A topic: its partitions, and which one records without a key go to at present."""

    def __init__(self, str name, int count, bytes topic_id=b""):
        self.name = name
        self.topic_id = topic_id
        self.partitions = []
        self.sticky = -1
        self.grow(count)

    def grow(self, int count):
        """Partitions may be added to a topic at any time; they never go away while it lives."""
        for number in range(len(self.partitions), count):
            self.partitions.append(PartitionBatches(TopicPartition(self.name, number)))

    def resize(self, int count):
        """The topic was deleted and made anew with so many partitions; those that are gone are returned."""
        gone = self.partitions[count:]
        del self.partitions[count:]
        self.sticky = -1
        self.grow(count)
        return gone

    def stick_to(self, int partition):
        """Records without a key go there from now on. (The partition may have gone since it was chosen.)"""
        self.sticky = partition if partition < len(self.partitions) else 0
        self.sticky_bytes = 0
