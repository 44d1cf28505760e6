"""The store: a small tree of nodes that holds what the cluster must agree on and what a broker must not forget.

Reading order:

    errors.py    what can go wrong, with ZooKeeper's names
    api.py       `Store`: one session on the tree; operations, versions, watches, as ZooKeeper defines them
    tree.py      the tree itself, pure and in memory: apply a multi or nothing of it; says what changed
    local.py     `LocalStore`: that tree, durable in one SQLite file, shared by any number of sessions
    paths.py     every path, named as Apache Kafka 3.9 names its znodes
    znodes.py    the JSON inside the nodes, encoded and decoded as Apache Kafka 3.9 does

Everything above talks to `api.Store`. A ZooKeeper behind the same protocol changes nothing there: the contract tests
(`tests/contract/store`) run against every implementation.
"""
