"""Classic groups (JoinGroup, SyncGroup, Heartbeat, LeaveGroup): the coordinator gathers, a client assigns.

The coordinator knows neither topics nor assignors. It collects what the members say (opaque bytes per protocol), elects
one of them as leader and gives it everybody's bytes; what the leader answers is handed to each member. A rebalance has
two phases, and both wait for people:

    join    everybody must come (again) within the rebalance time-out; who does not is out; a new generation begins
    sync    the leader brings the assignment, the others fetch theirs; it is written, then given out

A generation number fences members of the past: whoever names an old one is told ILLEGAL_GENERATION.
"""
