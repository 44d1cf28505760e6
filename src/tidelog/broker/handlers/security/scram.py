"""DescribeUserScramCredentials and AlterUserScramCredentials, version 0 (KIP-554): who may log in by SCRAM, and how.

Credentials themselves are told to nobody: an answer has the mechanisms of a user and their iterations. Which ones are
acceptable and how they are stored is `broker.security.scram`'s; a change is one step of the controller per user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tidelog.broker.controller.loading import load_configs
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.security.services import SecurityServices
from tidelog.broker.security.scram import CredentialChange, check_change, iterations_of, plan_credentials
from tidelog.broker.store import paths
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)

Described = DescribeUserScramCredentialsResponse.DescribeUserScramCredentialsResult
Altered = AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult


async def describe(
    services: SecurityServices, ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Those of the users asked for; of all who have any if none is named (null and empty are the same here).

    A user without a credential is RESOURCE_NOT_FOUND, one named twice DUPLICATE_RESOURCE, each beside the answers of
    the others.
    """
    stored = {
        paths.unsanitize(name): iterations_of(values)
        for name, values in (await load_configs(services.store, paths.USER_CONFIGS)).items()
    }
    users = Counter(user.name for user in request.users or ())
    response = DescribeUserScramCredentialsResponse(error_message="")
    for name in users or sorted(name for name, found in stored.items() if found):
        response.results.append(_described(name, users[name], stored.get(name, {})))
    return response


def _described(name: str, times: int, iterations: Mapping[int, int]) -> Described:
    """Errors say in words what tools print."""
    if times > 1:
        text = f"Cannot describe SCRAM credentials for the same user twice in a single request: {name}"
        return Described(user=name, error_code=ErrorCode.DUPLICATE_RESOURCE, error_message=text)
    if not iterations:
        text = f"Attempt to describe a user credential that does not exist: {name}"
        return Described(user=name, error_code=ErrorCode.RESOURCE_NOT_FOUND, error_message=text)
    infos = [
        DescribeUserScramCredentialsResponse.CredentialInfo(mechanism=mechanism, iterations=count)
        for mechanism, count in iterations.items()
    ]
    return Described(user=name, error_message=None, credential_infos=infos)


async def alter(
    services: SecurityServices, ctx: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    """Deletions, then upsertions. A user's changes are made together or not at all; users do not depend on each other.

    The same mechanism of a user twice, be it set and deleted, is DUPLICATE_RESOURCE for that user: no order of the two
    is promised.
    """
    changes: dict[str, list[CredentialChange]] = {}
    for deletion in request.deletions:
        changes.setdefault(deletion.name, []).append(CredentialChange(deletion.mechanism))
    for wanted in request.upsertions:
        change = CredentialChange(wanted.mechanism, wanted.salt, wanted.salted_password, wanted.iterations)
        changes.setdefault(wanted.name, []).append(change)
    results = []
    for name, of_user in changes.items():
        result = Altered(user=name, error_message=None)
        try:
            await _alter_user(services, name, of_user)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        results.append(result)
    return AlterUserScramCredentialsResponse(results=results)


async def _alter_user(services: SecurityServices, name: str, changes: list[CredentialChange]) -> None:
    """All of a user's changes, or none."""
    for change in changes:
        check_change(name, change)
    if len({change.mechanism for change in changes}) < len(changes):
        text = "A user credential cannot be altered twice in the same request"
        raise KafkaError(ErrorCode.DUPLICATE_RESOURCE, text)
    await services.entity_configs.change(
        paths.user_config(name), lambda stored: plan_credentials(stored, changes), lambda _: None
    )
