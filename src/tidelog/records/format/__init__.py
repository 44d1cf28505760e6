"""Batches and messages as values: reading, building, converting and validating the three formats, magic 0, 1 and 2.

Read `attributes.py` (the words), `batch.py` (reading), `builder.py` (writing), `validate.py` (what a broker accepts).

Nothing here loops over many records: each function does what is decided once per batch or per request, and lets the
kernel do the rest. `layout.py` and `attributes.py` lie below the kernel, all others above it.
"""
