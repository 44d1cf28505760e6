"""Requests about topics and their partitions: metadata, creation, deletion, growth, leaders and replicas."""
