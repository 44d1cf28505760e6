"""The group coordinator's machine.

Reading order:

    classic/         states (the table), member and group (soft state, one durable record per generation), rebalance
                     (from one generation to the next), join, sync (and Heartbeat, LeaveGroup)
    consumer/        groups of KIP-848, all durable: states, member, group, replay; assignors and target (who shall have
                     what), reconcile (from what a member has towards that), regex, update and session (the steps of
                     every change; time-outs and fencing), kinds (a port), handler and heartbeat
    offsets/         committed offsets: store, commits, fetches, fencing (who may), expiry
    state            all groups and offsets of a shard, changed by replay
    emitter          the records of one handler, each replayed as it is emitted
    bridge/          classic members in consumer groups; conversion both ways
    admin            list, describe, delete
    machine          the whole: what the shard replays and the handlers call

`classic` and `consumer` do not import each other: they meet in `state`, which has the groups of both kinds, and in
`bridge`, which makes one of the other.
"""
