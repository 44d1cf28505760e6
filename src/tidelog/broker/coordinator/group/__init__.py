"""The group coordinator's machine.

classic_states, consumer_states   the tables
group                             what all kinds of groups have in common
classic_group, classic_member     a classic group: soft state of its members, one durable record per generation
classic_join, classic_sync,
classic_leave                     the rebalance protocol of JoinGroup, SyncGroup, Heartbeat, LeaveGroup
consumer_group, consumer_member   a consumer group (KIP-848): all durable
heartbeat                         ConsumerGroupHeartbeat
target, reconcile, assignors/     epochs: group -> target assignment -> each member's current assignment
regex                             RE2 subscriptions
migration, classic_bridge         classic members in consumer groups, conversion both ways
offsets                           commits, fetches, expiry, transactional commits
admin                             list, describe, delete
machine                           the whole: replay, and the entry points that handlers call
"""
