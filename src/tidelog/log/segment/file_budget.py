"""`FileBudget`: how many files and maps the logs of a process keep open. See `_handles.pyx`.

Kafka keeps every segment's files open and asks the operator for a limit of 100,000 descriptors. Here a segment that
nobody reads costs none, so that a laptop's limit of 1,024 is enough for any number of them.
"""

from tidelog.log.segment._handles import FileBudget, Handle

__all__ = ["FileBudget", "Handle"]
