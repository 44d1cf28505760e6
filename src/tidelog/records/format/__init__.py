"""Batches and messages as values: reading, building, converting and validating the three formats, magic 0, 1 and 2.

Read `attributes.py` (the words), `batch.py` (reading), `builder.py` (writing), `validate.py` (what a broker accepts).
"""
