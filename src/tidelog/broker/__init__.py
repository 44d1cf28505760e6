"""The broker: everything that a node does with requests, partitions, groups and the cluster's state.

The rooms, from the top; each may import those below it (docs/adr/0006-rooms.md, checked by `make lint`):

    server           a node that listens: the sockets, wired to the node's parts
    node             everything below the sockets: builds the parts, wires them, starts and stops them
    adoption         takes over an Apache Kafka's directories, before anything is served
    background       what recurs: flushing, retention, cleaning, checkpoints
    http, exposition health, and metrics for Prometheus
    network          sockets to requests: sessions, the gate, the dispatcher
    handlers         what each API does, in rooms by subject
    coordinator      groups and transactions, as replicated state machines
    quotas           whom a quota is for, and what it may be
    security         SCRAM credentials: which are acceptable, and their stored form
    controller       the one that changes the cluster's state, one change at a time
    replication      partitions that this broker hosts: leaders, followers, in-sync replicas, high watermarks
    metadata         what this broker knows of its cluster: images, the cache of them, configs of topics
    store            the tree with ZooKeeper's semantics in which the cluster's state lies
    purgatory        requests that wait, and the timers that end their waiting
    workers          threads for what would hold up the event loop
    requests         the wire form of requests as compiled code shares it
    config           every key, its default and its rules

To follow one request: `network/dispatcher.py`, then its row in `handlers/__init__.py`, then that handler;
`handlers/services.py` shows what each room of handlers is given.
"""
