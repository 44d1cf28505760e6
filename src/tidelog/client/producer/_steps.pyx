"""The sender's steps for each batch, compiled: which may leave, what goes into a request, what became of it.

With batches of 16 KB and records of 1 KB every sixteenth record begins a batch. What the sender does for a batch is a
few dozen looks at fields: in Python some 25 µs, which is more than the records' own way took. Here it is about one.

These are the steps of the usual case. Whatever is rare (a batch that comes back, a producer id that is wanted, a
partition without a leader) is left to `sender`, `readiness` and `recovery`, which call these.
"""

from libc.stdint cimport int16_t, int32_t, int64_t

from tidelog.client.producer._batch cimport ProducerBatch
from tidelog.client.producer._partition_batches cimport PartitionBatches, TopicBatches

cdef enum:
    MAX_INT32 = 0x7FFFFFFF


cpdef bint is_due(PartitionBatches queue, double now, double linger, bint everything) except -1:
    """Whether its oldest batch may leave, as far as size and time go; `everything`: nothing lingers."""
    cdef ProducerBatch head
    if not queue.waiting:
        return False
    head = queue.waiting[0]
    return head.closed or everything or head.created + linger <= now


def choose_by_load(TopicBatches topic not None, list usable, double chance):
    """One of the usable partitions, by a chance from 0 to 1: one with q batches waiting has (longest - q + 1) parts of
    it, so that all have the same where the same waits.
    """
    cdef Py_ssize_t longest = 0, total, part
    for number in usable:
        longest = max(longest, <Py_ssize_t>len((<PartitionBatches>topic.partitions[number]).waiting))
    total = 0
    for number in usable:
        total += longest + 1 - <Py_ssize_t>len((<PartitionBatches>topic.partitions[number]).waiting)
    part = <Py_ssize_t>(chance * total)
    for number in usable:
        part -= longest + 1 - <Py_ssize_t>len((<PartitionBatches>topic.partitions[number]).waiting)
        if part < 0:
            return number
    return usable[len(usable) - 1]


def note_use(list created, dict topics, double now):
    """Topics that somebody writes to are not forgotten."""
    cdef ProducerBatch batch
    cdef TopicBatches topic
    for batch in created:
        topic = topics.get(batch.topic_partition[0])
        if topic is not None:
            topic.used_at = now


def due_now(lingering, list filled, double now, double linger, bint everything):
    """The partitions that have become due: a batch of theirs is full, or has lingered for long enough. Batches that
    have, or are full, are taken out of `lingering`, which has the oldest first.
    """
    # What is told here may be old news: a batch that was filled while the sender was at work may have left with the
    # turn before, and then the open batch behind it is not due.
    cdef PartitionBatches queue
    cdef ProducerBatch batch
    cdef dict due = {}
    for queue in filled:
        if not queue.ready and is_due(queue, now, linger, everything):
            due[queue] = None
    while lingering:
        batch = lingering[0]
        if not (everything or batch.closed or batch.created <= now - linger):  # (what is done is closed)
            break
        lingering.popleft()
        queue = batch.queue
        if not queue.ready and is_due(queue, now, linger, everything):
            due[queue] = None
    return list(due)


def next_load(ready, Py_ssize_t most, double now, double linger, bint everything, may_leave):
    """One request's batches: the oldest of each partition that is ready, in turn, up to `most` bytes.

    Not of a partition of which something comes back, and one by one after a failure; `may_leave(queue)` says what else
    forbids it. Who may not leave is marked ready again by whatever it waits for.
    """
    cdef PartitionBatches queue
    cdef ProducerBatch head
    cdef Py_ssize_t size = 0, number
    cdef list load = []
    for number in range(len(ready)):
        queue = ready.popleft()
        queue.ready = False
        if not queue.waiting or queue.returned or (queue.failures and queue.in_flight):
            continue
        if may_leave is not None and not may_leave(queue):
            continue
        head = queue.waiting[0]
        # It may still be open. Once closed and packed its size is final, and its place in the deque is kept: a later
        # record begins a new batch behind it.
        head.closed = True
        if not head.packed:
            head.pack()
        if load and size + head.used > most:
            queue.ready = True
            ready.appendleft(queue)
            break
        load.append(queue.taken())
        size += head.used
        # More of the partition may follow in the next request, but after a failure only once this one is back.
        if not queue.failures and is_due(queue, now, linger, everything):
            queue.ready = True
            ready.append(queue)
    return load


def number(ProducerBatch batch not None, int64_t producer_id):
    """The base sequence that a batch leaves with: its old one if it has one, else the partition's next."""
    cdef PartitionBatches queue = batch.queue
    cdef int64_t sequence
    if batch.base_sequence >= 0 and batch.producer_id == producer_id:
        return batch.base_sequence
    sequence = queue.next_sequence
    queue.next_sequence = (sequence + batch.count) & MAX_INT32
    return sequence


def seal_load(list load, bint idempotent, int64_t producer_id, int16_t epoch, bint transactional, double now):
    """Number and seal the batches of a request: it is under way from here on. (bytes, retries, seconds in the queue)"""
    cdef ProducerBatch batch
    cdef PartitionBatches queue
    cdef int64_t sequence, size = 0
    cdef int retries = 0
    cdef double waited = 0
    for batch in load:
        sequence = number(batch, producer_id) if idempotent else -1
        # A retry leaves exactly as it left before, unless it was given another number meanwhile.
        if batch.base_sequence < 0 or batch.base_sequence != sequence or not batch.attempts:
            batch.seal(producer_id, epoch, <int32_t>sequence, transactional)
        queue = batch.queue
        batch.in_flight = True
        batch.attempts += 1
        queue.in_flight += 1
        retries += batch.attempts > 1
        size += batch.used
        waited += now - batch.created
    return size, retries, waited


def note_written(list outcomes, told):
    """Batches were written: (batch, offset, log append time). Their records, how many; and the partitions of which
    nothing is under way any more. `told` hears what callbacks have raised.
    """
    cdef ProducerBatch batch
    cdef PartitionBatches queue
    cdef int64_t records = 0
    cdef list settled = []
    for batch, offset, log_append_time in outcomes:
        queue = batch.queue
        queue.in_flight -= 1
        queue.failures = 0
        batch.in_flight = False
        if not batch.done:
            records += batch.count
            queue.records_written += batch.count
            raised = batch.succeed(offset, log_append_time)
            if raised is not None:
                told(raised)
        if not queue.in_flight:
            settled.append(queue)
    return records, settled
