"""PartitionBatches and TopicBatches for the other compiled parts of the producer."""

from libc.stdint cimport int64_t

from tidelog.client.producer._batch cimport ProducerBatch


cdef class PartitionBatches:
    cdef readonly object topic_partition
    cdef readonly object waiting
    cdef readonly ProducerBatch open
    cdef public object leader           # the node that it waits for to be drained, as the sender has found it
    cdef public bint ready              # the sender has it on its list
    cdef public int failures            # in a row; while there are any, one batch at a time
    cdef public double retry_at
    cdef public list returned           # batches to be sent again, until all others are back, too
    cdef public int in_flight
    cdef public int64_t next_sequence
    cdef public bint in_transaction
    cdef public int64_t records_written
    cdef int64_t places                 # how many batches were queued

    cpdef object put(self, ProducerBatch batch)


cdef class TopicBatches:
    cdef readonly str name
    cdef public bytes topic_id
    cdef readonly list partitions
    cdef public int sticky
    cdef readonly Py_ssize_t sticky_bytes
    cdef public double used_at
