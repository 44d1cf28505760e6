"""SCRAM credentials (RFC 5802, KIP-554): which are acceptable, and the form in which they are stored.

A client of AlterUserScramCredentials sends the salted password, never the password. What is stored are two keys derived
from it: with the stored key a broker checks a client's proof, with the server key it proves itself, and neither lets
anybody who reads the store log in. Kafka kept them in ZooKeeper under the user's config node, one entry per mechanism,
beside the user's quotas:

    /config/users/alice    SCRAM-SHA-256 → salt=…,stored_key=…,server_key=…,iterations=4096

The same text is written here, so that a tree of either can be read by the other.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple

_ITERATIONS = re.compile(r"(?:^|,)iterations=(\d{1,9})(?:,|$)", re.ASCII)
#: RFC 5802's least. Every log-in makes the client repeat them: more would be a way to keep clients busy.
MIN_ITERATIONS, MAX_ITERATIONS = 4096, 16384


class Mechanism(NamedTuple):
    name: str
    digest: str


#: By the number that requests have for them; 0 is "unknown".
MECHANISMS = {1: Mechanism("SCRAM-SHA-256", "sha256"), 2: Mechanism("SCRAM-SHA-512", "sha512")}
#: The keys of a user's config node that hold credentials: everything else there is a quota.
CREDENTIAL_KEYS = frozenset(mechanism.name for mechanism in MECHANISMS.values())


class CredentialChange(NamedTuple):
    """One mechanism of one user, set or (without a password) taken away."""

    mechanism: int
    salt: bytes = b""
    salted_password: bytes | None = None
    iterations: int = 0


def check_change(user: str, change: CredentialChange) -> None:
    """Whether a change makes sense at all, in the order in which Kafka asks."""
    if not user:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if change.mechanism not in MECHANISMS:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if change.salted_password is not None:
        if change.iterations < MIN_ITERATIONS:
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        if change.iterations > MAX_ITERATIONS:
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")


def plan_credentials(stored: Mapping[str, str], changes: Iterable[CredentialChange]) -> dict[str, str]:
    """What a user's node shall hold: all of the changes, or (KafkaError) none. Quotas in it stay."""
    values = dict(stored)
    for change in changes:
        mechanism = MECHANISMS[change.mechanism]
        if change.salted_password is not None:
            values[mechanism.name] = credential(mechanism, change.salt, change.salted_password, change.iterations)
        elif values.pop(mechanism.name, None) is None:
            text = "Attempt to delete a user credential that does not exist"
            raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, text)
    return values


def iterations_of(values: Mapping[str, str]) -> dict[int, int]:
    """Mechanism → iterations, of a user's node: all that is ever told. A credential that cannot be read is none."""
    found = {code: _ITERATIONS.search(values.get(mechanism.name, "")) for code, mechanism in MECHANISMS.items()}
    return {code: int(match[1]) for code, match in found.items() if match is not None}


def credential(mechanism: Mechanism, salt: bytes, salted_password: bytes, iterations: int) -> str:
    """The stored form: RFC 5802's stored key and server key."""
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.digest)
    stored_key = hashlib.new(mechanism.digest, client_key).digest()
    server_key = hmac.digest(salted_password, b"Server Key", mechanism.digest)
    return credential_text(salt, stored_key, server_key, iterations)


def credential_text(salt: bytes, stored_key: bytes, server_key: bytes, iterations: int) -> str:
    """The text of a credential whose keys are known: KRaft's metadata log has them ready."""
    parts = {"salt": salt, "stored_key": stored_key, "server_key": server_key}
    text = ",".join(f"{name}={base64.b64encode(value).decode()}" for name, value in parts.items())
    return f"{text},iterations={iterations}"
