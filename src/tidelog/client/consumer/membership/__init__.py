"""A consumer's place in its group: which partitions are ours, and until when.

Reading order:

    states            the states of a member, of the classic protocol and of KIP-848's, as tables
    reactions         what a member does about an error, by request, as tables
    poll_timer        max.poll.interval.ms: has the user forgotten us? (pure)
    base              what both kinds of membership share: states, tasks, waiting for the user's poll
    classic_requests  the classic protocol's messages (pure)
    leader            the extra work of the member that leads a classic group
    classic           JoinGroup, SyncGroup, Heartbeat, LeaveGroup
    consumer_requests KIP-848's one message, and what must be in it this time (pure)
    consumer          ConsumerGroupHeartbeat

A membership lives on the consumer's loop as a few tasks. One of them walks through the states: it is the only one that
joins and that calls the host. Another sends heartbeats and never waits for anything else, least of all for the user's
code. What a heartbeat learns it leaves for the first one: "join again", "you are not known here".

The user's listeners run inside the user's `poll`, so the walking task waits there for the user; if the user does not
come back within `max.poll.interval.ms`, the member leaves the group of itself, and says so in the log.
"""
