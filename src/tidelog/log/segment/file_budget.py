"""`FileBudget`: how many files and maps the logs of a process keep open. See `_handles.pyx`."""

from tidelog.log.segment._handles import FileBudget, Handle

__all__ = ["FileBudget", "Handle"]
