"""Serving what an Apache Kafka left behind: its log directories, as they are.

    scan.py           whether there is anything to adopt, or a Kafka has been here since
    metadata_log.py   what KRaft's `__cluster_metadata` log and snapshot say: topics, configs, quotas, producer ids
    disk.py           what the directories themselves say: topics, ids, partitions, leader epochs, producer ids
    note.py           what was taken over the last time, in the store
    situation.py      all of it put together, and the plan to be made
    plan.py           against what the store knows already → what to write into the store (pure)
    comeback.py       the part of the plan for topics that the store knows (pure)
    strays.py         partitions of ours that Kafka set aside, put back in their places
    configs.py        Kafka's configs as nodes of the store, merged and made to fit (pure)
    adopt.py          the step of the broker's start that does it: all or nothing
    guard.py          topics whose configs nobody knows, and what is held back from them

No record is ever removed or rewritten. A topic whose configs nobody knows (a ZooKeeper-mode directory has none) is
*guarded*: served, written to, but neither deleted from nor compacted, until its configs are set or the operator accepts
the broker's defaults. Producer ids begin above every id that was seen.
"""
