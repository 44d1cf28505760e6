"""Groups and transactions: replicated state machines whose only durable form is their internal topic.

Reading order:

    result           what a handler returns: records to write and an answer to give once they are committed
    records          typed records <-> the key and value bytes of the internal topics
    timers           time, through a scheduler: named time-outs of one shard, what recurs, waiting in a coroutine
    metadata         what a coordinator must know of the cluster's topics
    config           the frozen views of the broker's configuration that the machines read
    ports            what a shard is between: a machine, and a log
    loading          the replay of a whole partition
    shard            one internal-topic partition: load, handle, replay, append, answer after commit
    runtime          all shards of one internal topic on this broker
    group/           classic groups, consumer groups (KIP-848), offsets
    transaction/     transactional ids, markers, producer ids
    service          a runtime as the request handlers see it
    sweep            a look at everything that shards know, in slices
    wiring           the seams onto the replica manager and the metadata cache
    coordinators     both coordinators of a broker: built, told of leadership, and swept by timers

The machines (group/, transaction/) take values and return values: no socket, no disk, no asyncio, no clock of their
own. Durable state changes by `replay` alone, by the same code live and at load: of the records that a handler returns,
or of each as it is emitted. Memory is thus ahead of the log until the append is committed; no answer leaves before
that, and an append that fails costs the shard its memory (`shard` has the rule in full).

Nothing here knows who asks: requests come as messages from `handlers`, or as calls from their compiled forms, which are
registered from above. And nothing here takes the broker: what a part uses is handed in by name.
"""
