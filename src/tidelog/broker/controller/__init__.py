"""Who leads what, and what exists: the control plane.

    images.py           plain data: a partition's state, a topic, a broker
    names.py            which topic names are allowed
    placement.py        replica assignment: even over brokers and racks; checks of manual ones (pure)
    election.py         who leads: the rules as a table of pure functions
    topic_plans.py      CreateTopics, CreatePartitions, DeleteTopics checked and turned into store operations (pure)
    config_changes.py   changes of configs checked and merged; the keys of groups and client metrics (pure)
    loading.py          the store's tree → images
    changes.py          `Changes`: one at a time, and not the connection's that asked
    entity_configs.py   config nodes: read, decide, write by version, apply
    controller.py       `Controller`: the single owner of change: checks, store, then images and replicas
    producer_ids.py     blocks of producer ids

The order of every change is the same: decide (pure), write to the store (durable), apply to the metadata cache and the
replicas, answer. What is not in the store has not happened.
"""
