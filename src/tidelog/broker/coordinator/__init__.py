"""Groups and transactions: replicated state machines whose only durable form is their internal topic.

Reading order:

    state_table      how a machine's states and transitions are written down, and drawn in the docs
    result           what a handler returns: records to write and an answer to give once they are committed
    records          typed records <-> the key and value bytes of the internal topics
    timers           named time-outs of one shard, over an event loop or a clock moved by hand
    metadata         what a coordinator must know of the cluster's topics
    config           the frozen views of the broker's configuration that the machines read
    shard            one internal-topic partition: load, handle, append, replay, answer after commit
    runtime          all shards of one internal topic on this broker
    group/           classic groups, consumer groups (KIP-848), offsets
    transaction/     transactional ids, markers, producer ids
    service          a runtime as the request handlers see it
    wiring           the seams onto the replica manager and the metadata cache
    coordinators     both coordinators of a broker: built, told of leadership, and swept by timers

The machines (group/, transaction/) take values and return values: no socket, no disk, no asyncio, no clock of their
own. A handler computes records and an answer and leaves durable state alone; `replay` changes it, by the same code
live and at load.
"""
