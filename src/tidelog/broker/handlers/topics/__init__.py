"""Requests about topics and their partitions: metadata, creation, deletion, growth, leaders and replicas.

What is asked is answered from the metadata cache of this broker: `metadata.py`, page by page in
`describe_topic_partitions.py`. What is to change (`changes.py`, `elections.py`, `reassignments.py`) is the
controller's: a handler checks the form of the request, and the controller answers when the change is durable and
carried out.
"""
