"""Requests that carry records, or ask where they are: Produce, Fetch, ListOffsets, DeleteRecords, epochs, producers."""
