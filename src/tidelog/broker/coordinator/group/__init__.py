"""The group coordinator's machine.

Reading order:

    classic_states, consumer_states     the tables
    subscription                        the bytes that consumers exchange through a classic group
    classic_member, classic_group       a classic group: soft state of its members, one durable record per generation
    classic_rebalance                   from one generation to the next: phases and time-outs
    classic_join, classic_sync          JoinGroup; SyncGroup, Heartbeat, LeaveGroup
    consumer_member, consumer_group     a consumer group (KIP-848): all durable
    assignors/, target                  who shall have what
    reconcile                           from what a member has towards what it shall have
    regex                               RE2 subscriptions
    offsets, commits                    committed offsets; commit, fetch, delete, expiry
    _committed                          one committed offset
    _commit_taker, _offset_fetch_taker,
    _heartbeat_taker                    the common requests, from their bytes to their answers
    state                               all groups and offsets of a shard, changed by replay
    update, session                     the steps of every change of a consumer group; time-outs and fencing
    migration                           conversion both ways
    consumer_handler, heartbeat         ConsumerGroupHeartbeat
    classic_bridge                      classic members in consumer groups
    admin                               list, describe, delete
    machine                             the whole: what the shard replays and the handlers call
"""
