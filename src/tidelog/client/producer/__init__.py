"""Writing: from a record to its leader's answer, in order, once, and in transactions if that is wanted.

    send ─► interceptors ─► serializers ─► partitioner ─► accumulator ─► sender ─► one request per leader
            └──────────── the caller's side ───────────────────────┘   └──── the loop's side ────┘

Reading order:

    record                what is written, and where it was
    interceptors          the user's code on a record's way out, and at its outcome
    partitioners          which partition, if the record does not say
    _batch                one batch that takes records, in C; a future is a place in it
    _partition_batches    a deque of batches for each partition
    _accumulator          those of all partitions, the memory of all of them, the short way of a record
    readiness             which batches may leave: full, old enough, or waited for
    links, leaders        the way to each leader, and who that is
    produce_requests      the requests and their answers (pure)
    _produce_frames       the usual ones of both, in C
    exchanges             a request on its way, and what became of its batches
    recovery              what a failed batch means for those behind it (pure)
    sender, _steps        all of it in turns, on the loop; what happens for every batch, in C
    transaction_manager   what may be done next, as which producer id (a table)
    transaction_exchanges the exchanges with the coordinator, of both protocol versions
    columns               whole Arrow tables instead of records
    delivery, metrics     the settings of the sender, and its figures
    core, aio, blocking   the one producer, and its two faces

Spark's sink and the command line write with the asyncio face `over` a cluster client that they have for other questions
as well. What the sink needs beyond the rest: a transaction that is left open for its driver to end (`detach`).

Order: batches of a partition leave in the order in which they were begun, a few at a time. With idempotence a broker
takes them in no other, and a batch that is sent again is recognised; without it, a retry may overtake. A record that
is lost for good has said so to its future, and (with idempotence) everything behind it goes out under a new producer
epoch: sequence numbers are never guessed.

Memory: `buffer.memory` bounds all batches, and each is given back with its answer. Who finds no room waits up to
`max.block.ms`, by blocking or by awaiting, and then gets an error; nothing is dropped in silence.
"""
