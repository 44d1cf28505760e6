"""Committed offsets: who may commit, what is kept, when it expires."""
