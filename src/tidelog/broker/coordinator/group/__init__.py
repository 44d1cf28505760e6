"""The group coordinator's machine.

Reading order:

    subscription     the bytes that consumers exchange through a classic group
    classic/         states (the table), member and group (soft state, one durable record per generation), rebalance
                     (from one generation to the next), join, sync (and Heartbeat, LeaveGroup)
    consumer/        groups of KIP-848, all durable: states, member, group; assignors and target (who shall have what),
                     reconcile (from what a member has towards that), regex, update and session (the steps of every
                     change; time-outs and fencing), handler and heartbeat
    offsets/         committed offsets: commit, fetch, delete, expiry
    state            all groups and offsets of a shard, changed by replay
    bridge/          classic members in consumer groups; conversion both ways
    admin            list, describe, delete
    machine          the whole: what the shard replays and the handlers call
"""
