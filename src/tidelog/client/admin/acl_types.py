"""The words of access control: what may be done (operations), on what (resources), by which pattern of names.

The numbers are the protocol's. `ANY` is for filters only; `UNKNOWN` stands for numbers that are newer than this table.
"""

from __future__ import annotations

from tidelog.client.admin.words import NumberWord


class AclOperation(NumberWord):
    """What somebody wants to do. `ALL` allows or denies every one of them. CLUSTER_ACTION is what brokers do among
    themselves; IDEMPOTENT_WRITE is what brokers before 2.8 asked of producers without transactions.
    """

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class AclPermission(NumberWord):
    """A denial goes before any permission."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ResourceType(NumberWord):
    """What is protected."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(NumberWord):
    """How a resource's name is meant. `MATCH`, for filters, finds whatever concerns a given name: the name itself,
    prefixes of it, and the wildcard.
    """

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4
