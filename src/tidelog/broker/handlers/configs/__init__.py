"""Requests that read and change configs."""
