"""Requests about the cluster and its brokers: versions, nodes, log directories, client telemetry.

`api_versions.py` is every client's first; `cluster.py` has the requests about the cluster as a whole, `log_dirs.py`
those about this node's disks, `telemetry.py` the metrics that clients would push.
"""
