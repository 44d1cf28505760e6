"""Who leads what, and what exists: the control plane.

    api.py              `ClusterController`: what brokers ask of it, wherever it is
    controller.py       `Controller`: takes office, and puts one change after the other
    changes.py          `Changes`: one at a time, and not the connection's that asked
    context.py          what it knows: brokers, topics, its epoch; its own, not the broker's cache
    propagation.py      how brokers learn of it: the port, its local form, and who is told what

    creations.py        new topics and partitions, carried out
    deletions.py        topics deleted, in steps that a crash may interrupt
    elections.py        elections held, and their outcome written and told
    partition_states.py partition states in the store, by compare and set
    entity_configs.py   config nodes: read, decide, write by version, apply
    producer_ids.py     blocks of producer ids
    loading.py          the store's tree → images

    placement.py        replica assignment: even over brokers and racks; checks of manual ones (pure)
    election.py         who leads: the rules as a table of pure functions
    topic_plans.py      CreateTopics, CreatePartitions, DeleteTopics checked and turned into store operations (pure)
    internal_topics.py  how the coordinators' topics are made (pure)
    config_changes.py   changes of configs checked and merged; the keys of groups and client metrics (pure)

Who decides what: the **controller** decides which topics and partitions exist, where their replicas lie and who leads
them. A partition's **leader** decides who is in sync with it, but only by asking the controller. Each **broker**
decides about nothing but its own disks. The **store** arbitrates: everything is written there by the version that was
read, so that of two who decide at the same time one has not.

The order of every change is the same: decide (pure), write to the store (durable), take it into the context, tell the
brokers, answer. What is not in the store has not happened.
"""
