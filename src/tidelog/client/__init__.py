"""The client's side of the protocol: whom to ask, how to read, how to write. It knows neither the broker nor the log.

Reading order:

    config            every setting, with Kafka's names and defaults
    cluster/          connections, metadata, coordinators; retries; TLS and SASL from settings
    blocking          the same from code that is not asynchronous
    offsets, topics, transaction_requests   one exchange each, asked of whoever must answer it
    consumer/         fetcher (ranges of partitions as whole batches), arrow_fetcher (the same as columns)
    producer/         transaction_manager (who we are, what may follow), partition_queue (order and retries),
                      sender (requests), arrow_producer (all of it together)

What holds everywhere: an operation that fails raises `KafkaError`, and its code says whether another try may help and
whether the metadata was to blame. Whoever tries again does so with growing waits and a deadline, never for ever. A
broker is found by its address, and a partition by its leader as metadata has it; an answer that says otherwise makes
the metadata stale, and nothing is guessed.

Nothing here handles single records in Python: the fetcher hands out batches as they came, the producer takes columns,
and the kernel (`records`) goes through them.
"""
