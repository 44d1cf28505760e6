"""Reading: fetch sessions, the fetcher, and its records as Arrow batches."""
