"""Reading: partitions that a group or the user has chosen, from positions that are kept, as records or as columns.

    subscribe ─► membership ─► assigned partitions ─► positions ─► engine (fetches) ─► delivery ─► poll
                 └─ heartbeats with the coordinator    └─ committed, or reset   └─ answers, whole    └─ records, cut out

Reading order:

    subscription          what is wanted, and where each partition stands: the one state that all others share
    host                  what a group's membership and the rest know of each other
    membership/           a place in the group, by the classic protocol or KIP-848's; assignors/ share out
    group_side            what the group's decisions mean here: commits, listeners, partitions that come and go
    positions, reset, validation   where to begin; where to go when the log does not hold that; is it still the same log
    fetch_request, fetched_batches, engine   one fetch under way to each broker, for whatever is wanted at the moment
    _records, records     records that are decoded when they are looked at, in C; what one `poll` returned
    delivery              from answers to records, on the user's side
    decoding, interceptors, listener   the user's code that sees them
    commits, offset_requests, committing   offsets, written in order; when and by whom
    turns, guard          the user's turn; one user at a time
    queries, metrics      lag, health, the tail; figures
    arrow                 the same as Arrow tables
    handling/             `run(handler)`: several records at a time, and commits that pass over none
    core, face, aio, blocking   the one consumer, what both its faces can tell without waiting, and the faces
    fetcher, arrow_fetcher   the same engine for fixed ranges, without a group: Spark's tasks and the command line

Position: a partition's position is the offset after the last record that `poll` has returned. What was fetched beyond
it belongs to nobody yet: a seek, a pause or a rebalance forgets or keeps it without anybody noticing. Commits take the
position, so that what was not returned is never committed.

Time: the user owes a `poll` within `max.poll.interval.ms`, and nothing else. Heartbeats and fetches go on by
themselves; listeners and callbacks wait for the user's turn.
"""
