"""The Admin: everything about a cluster that is not records. `tidelog.admin` has the names that its users need.

Reading order:

    outcomes         what came of each item of a batch
    hints            from an error code to a text that says what to do next
    routes           whom to ask: controller, coordinator, leader, a certain broker, anybody
    call             the one loop: ask all brokers that it takes, take answers, ask again what may succeed later
    shapes           forms that requests share (partitions by topic, ids, sets of operations)
    topics, partitions, offsets, configs, groups, group_descriptions, group_offsets, share_offsets, streams_groups,
    transactions, cluster, features, log_dirs, quotas, users, acls, tokens, telemetry     the subjects
    aio              all subjects in one class, for asyncio
    blocking         the same, waited for; derived from it

A subject says for each request whom to ask, how to write it, and how to read its answer. It knows nothing of retries,
time-outs or connections.
"""
