"""What a partition knows of its idempotent and transactional producers: enough to tell a retry from a new batch.

Read `_producers.pyx` first (the rules, applied to a run of batches in C), then `state_manager.py` (the state of a log
and its snapshots; Kafka's `ProducerStateManager`), `snapshot.py` (the file), and `verification.py` (KIP-890: a
transaction's first write is verified with its coordinator).
"""
