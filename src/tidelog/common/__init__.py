"""The vocabulary and the seams; imports nothing else of ours.

Reading order:

    types       TopicPartition and the sentinel numbers of the protocol
    uuids       topic, directory and cluster ids: 16 bytes, 22 characters
    varint      zig-zag and unsigned variable-length integers
    hashing     Java's String.hashCode and Kafka's murmur2
    errors      the one table of error codes, and the exception trees
    config      one declaration per configuration key
    properties  Java's .properties text format
    state_table how a machine's states and transitions are written down, and drawn in the docs
    clock       the seam to time
    scheduler   the seam to "later"
    fs          the seam to the disk, index maps included
    rng         the seam to randomness
"""
