"""Tidelog: Kafka's commit log for the Python world.

The packages, in the order in which a record meets them, are described in ARCHITECTURE.md.
"""

__version__ = "0.1.0"
