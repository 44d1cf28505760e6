"""Requests of transactional producers and of those who look after them (KIP-98, KIP-890).

In the order of a transaction's life: `init_producer_id.py` gives a producer its id and epoch and fences its
predecessor; `add_partitions.py` and `end.py` (AddOffsetsToTxn) say what belongs to the transaction, `end.py` (EndTxn)
how it ends; `write_markers.py` carries the end into the partitions. `admin.py` shows what is going on.

State lives in __transaction_state, on the shard that the transactional id hashes to; every handler here asks the
coordinator, and none keeps anything.
"""
