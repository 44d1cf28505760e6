"""Requests of authentication and authorization, and of who may use how much.

Credentials (`scram.py`) and quotas (`quotas.py`) are kept; ACLs and delegation tokens (`disabled.py`) are not served
and refused as Kafka does where they are switched off; `sasl.py` answers SASL requests that come at the wrong time. The
rules of what is kept are in `broker.security` and `broker.quotas`.
"""
