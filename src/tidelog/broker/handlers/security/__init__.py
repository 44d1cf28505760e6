"""Requests of authentication and authorization, and of who may use how much."""
