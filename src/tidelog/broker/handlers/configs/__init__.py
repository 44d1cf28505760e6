"""Requests that read and change configs: of topics, brokers, loggers, groups, and subscriptions of client metrics.

`describe.py` shows what holds and why, `alter.py` changes it, `list_resources.py` names what has configs. The rules are
in lower rooms: how values layer over each other in `metadata/config_entries.py` and `config`, which changes are allowed
in `controller/config_changes.py`.
"""
