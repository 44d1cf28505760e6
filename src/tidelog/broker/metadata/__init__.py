"""What a broker knows of its cluster.

    images.py            plain values: a partition's state, a topic, a broker
    topics.py            topics by name and by id: the table that the cache and the controller's context both are
    cache.py             what this broker was told: `MetadataCache`
    control_messages.py  how a controller tells it: LeaderAndIsr, StopReplica, UpdateMetadata
    registration.py      a broker's own node in the store, and reading everybody's
    topic_configs.py     the configs of topics, over the broker's defaults
    names.py             which names a topic may have

Two kinds of knowledge lie here side by side and must not be mixed up. What is *true* is in the store, and the
controller alone changes it. What a broker *knows* is what the last UpdateMetadata said: it may be late by as long as a
message takes, and every client's Metadata request is answered from it. Nothing goes wrong by that, for whoever acts on
late knowledge is told so by an epoch: a client that produces to a former leader gets NOT_LEADER_OR_FOLLOWER, a leader
that was deposed gets FENCED_LEADER_EPOCH, a controller that was replaced STALE_CONTROLLER_EPOCH.
"""
