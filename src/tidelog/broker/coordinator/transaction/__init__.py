"""The transaction coordinator.

Reading order:

    states         the table
    metadata       one transactional id: what its record holds, and the transitions as pure functions
    machine        the handlers: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, time-outs, expiry
    markers        writing the end markers until every partition of the transaction has its own
    peers          the same by request, for partitions and coordinators of other brokers
    coordinator    what the request handlers call
"""
