"""Reading: the fetcher, and its records as Arrow batches. Its sessions with brokers are `net.fetch_session`."""
