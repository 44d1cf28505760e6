"""The transaction coordinator's machine.

states         the table
metadata       one transactional id: what its record holds, and the transitions as pure functions
machine        the handlers: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, time-outs, expiry
markers        sending the end markers to the partitions' leaders until all of them are written
producer_ids   blocks of producer ids from the store
"""
