"""Writing: from Arrow columns to record batches at the leaders, idempotent and in transactions."""
