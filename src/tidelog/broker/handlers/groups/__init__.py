"""Requests of groups: coordinators, members, committed offsets, and their administration."""
