"""Requests about the cluster and its brokers: versions, nodes, log directories, client telemetry."""
