"""Client quotas: how much users, client ids and addresses may use of a broker.

entities.py    whom a quota is for, and the node of the store that it is kept in
values.py      the quotas that there are, and the values that they may have
filters.py     which of them a question is about
stored.py      all that is set
"""
