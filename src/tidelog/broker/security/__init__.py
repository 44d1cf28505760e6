"""Rules of authentication and authorization, for whoever needs them: handlers, listeners, adoption.

`scram.py` has the credentials of SCRAM: what a client may send, what is stored, and where.
"""
