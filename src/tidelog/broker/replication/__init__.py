"""Partitions and their replicas.

    manager.py           `ReplicaManager`: every hosted partition; made, given its role, found, given up
    hosted.py            the table of them
    partition.py         `Partition`: one of them; leads or follows, appends, answers for offsets
    leader.py            what a leader knows: its followers, who is in sync, a wish to change that
    follower.py          what a follower knows: whom it follows and from where; where logs part
    fetcher.py           the seam to fetching from a leader
    isr.py               who is in sync, and how far the high watermark may go: pure rules
    isr_changes.py       a leader's wishes for its in-sync set, by way of a port to the controller
    control_requests.py  what a broker does when its controller says so

    produce_rules.py     what a topic asks of records that clients send
    appends.py           what is waited for after an append, until it may be acknowledged
    waiting.py           delayed produce, fetch and delete records
    waking.py            the one place that wakes them
    flusher.py           syncs beside the event loop
    committed_reads.py   a log up to its high watermark: what coordinators load
    movers.py            a replica moved to another log directory while it serves

How a record becomes committed, on three brokers of which 1 leads:

    producer ──Produce──▶ 1: append (LEO 8)                          partition.py
    2, 3 ──Fetch from 8──▶ 1: both have everything before 8          manager.on_follower_fetch, isr.RemoteReplica
                           1: HW = min(LEO of the ISR) = 8           leader.committed_end
                           1: the producer (acks=all) is answered    waking.py, waiting.py
    2, 3 ◀──next answer── 1: "HW is 8"

A leader decides alone what is committed, but not who must have it: the in-sync set changes by the controller only, and
every such change names the epochs that the leader knows. So of two brokers that both think they lead, the one that was
deposed can append, and commit nothing.
"""
