"""DescribeUserScramCredentials and AlterUserScramCredentials: credentials, kept as Kafka keeps them in ZooKeeper.

A client sends the salted password, never the password; what is stored are the keys derived from it
(`SCRAM-SHA-256` → `salt=…,stored_key=…,server_key=…,iterations=…`), in the user's config node.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections import Counter
from collections.abc import Iterable, Mapping

from tidelog.broker.controller.loading import load_configs
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.security.services import SecurityServices
from tidelog.broker.store import paths
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol.messages import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

_ITERATIONS = re.compile(r"(?:^|,)iterations=(\d{1,9})(?:,|$)", re.ASCII)
MIN_ITERATIONS, MAX_ITERATIONS = 4096, 16384
Described = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
Altered = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
Deletion = AlterUserScramCredentialsRequest.ScramCredentialDeletion
Upsertion = AlterUserScramCredentialsRequest.ScramCredentialUpsertion


class Mechanism(NamedTuple):
    name: str
    digest: str


MECHANISMS = {1: Mechanism("SCRAM-SHA-256", "sha256"), 2: Mechanism("SCRAM-SHA-512", "sha512")}


async def describe(
    services: SecurityServices, ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    stored = {
        paths.unsanitize(name): values
        for name, values in (await load_configs(services.store, paths.USER_CONFIGS)).items()
    }
    users = Counter(user.name for user in request.users or ())
    response = DescribeUserScramCredentialsResponse(error_message="")
    for name in users or sorted(name for name, values in stored.items() if _infos(values)):
        infos = _infos(stored.get(name, {}))
        if users[name] > 1:
            text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
            response.results.append(Described(user=name, error_code=ErrorCode.DUPLICATE_RESOURCE, error_message=text))
        elif not infos:
            text = f"Attempt to describe a user credential that does not exist: {name}"
            response.results.append(Described(user=name, error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message=text))
        else:
            response.results.append(Described(user=name, error_message=None, credential_infos=infos))
    return response


def _infos(values: dict[str, str]) -> list[DescribeUserScramCredentialsResponse.CredentialInfo]:
    """A credential that cannot be read is none."""
    found = {code: _ITERATIONS.search(values.get(mechanism.name, "")) for code, mechanism in MECHANISMS.items()}
    return [
        DescribeUserScramCredentialsResponse.CredentialInfo(mechanism=code, iterations=int(match[1]))
        for code, match in found.items()
        if match is not None
    ]


async def alter(
    services: SecurityServices, ctx: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    changes: list[Deletion | Upsertion] = [*request.deletions, *request.upsertions]
    seen = Counter((change.name, change.mechanism) for change in changes)
    outcome: dict[str, KafkaError | None] = {}
    for name in dict.fromkeys(change.name for change in changes):
        try:
            await _alter_user(services, name, [change for change in changes if change.name == name], seen)
            outcome[name] = None
        except KafkaError as error:
            outcome[name] = error
    return AlterUserScramCredentialsResponse(
        results=[
            Altered(user=name, error_message=None)
            if error is None
            else Altered(user=name, error_code=error.code, error_message=error.message)
            for name, error in outcome.items()
        ]
    )


async def _alter_user(
    services: SecurityServices, name: str, changes: Iterable[Deletion | Upsertion], seen: Mapping[tuple[str, int], int]
) -> None:
    """All of a user's changes, or none."""
    checked = [(change, _check(change)) for change in changes]
    if any(seen[name, change.mechanism] > 1 for change, _ in checked):
        text = "A user credential cannot be altered twice in the same request"
        raise KafkaError(ErrorCode.DUPLICATE_RESOURCE, text)

    def decide(stored: dict[str, str]) -> dict[str, str]:
        for change, mechanism in checked:
            _apply(change, mechanism, stored)
        return stored

    path = f"{paths.USER_CONFIGS}/{paths.sanitize(name)}"
    await services.controller.entity_configs.change(path, decide, lambda _: None)


def _check(change: Deletion | Upsertion) -> Mechanism:
    mechanism = MECHANISMS.get(change.mechanism)
    if not change.name:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    if isinstance(change, Upsertion):
        if change.iterations < MIN_ITERATIONS:
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
        if change.iterations > MAX_ITERATIONS:
            raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    return mechanism


def _apply(change: Deletion | Upsertion, mechanism: Mechanism, values: dict[str, str]) -> None:
    if isinstance(change, Deletion):
        if values.pop(mechanism.name, None) is None:
            text = "Attempt to delete a user credential that does not exist"
            raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, text)
        return
    values[mechanism.name] = credential(mechanism, change.salt, change.salted_password, change.iterations)


def credential(mechanism: Mechanism, salt: bytes, salted_password: bytes, iterations: int) -> str:
    """The stored form: RFC 5802's stored key and server key."""
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.digest)
    stored_key = hashlib.new(mechanism.digest, client_key).digest()
    server_key = hmac.digest(salted_password, b"Server Key", mechanism.digest)
    return credential_text(salt, stored_key, server_key, iterations)


def credential_text(salt: bytes, stored_key: bytes, server_key: bytes, iterations: int) -> str:
    parts = {"salt": salt, "stored_key": stored_key, "server_key": server_key}
    text = ",".join(f"{name}={base64.b64encode(value).decode()}" for name, value in parts.items())
    return f"{text},iterations={iterations}"
