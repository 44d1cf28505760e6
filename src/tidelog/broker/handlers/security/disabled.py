"""ACLs and delegation tokens on a broker without authorizer and without token secret: refused, with Kafka's codes.

An ACL request is SECURITY_DISABLED, in each of its parts: tools print "No Authorizer is configured". A token request is
refused by what comes first: on a connection that has proved nothing (PLAINTEXT) DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
on others DELEGATION_TOKEN_AUTH_DISABLED (KIP-48).

The APIs are advertised nevertheless, as on every broker of Kafka: clients tell from the code that the feature is off,
and would take a missing API for an older broker.
"""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.security.services import SecurityServices
from tidelog.common.errors import ErrorCode, ProtocolError
from tidelog.protocol.messages import (
    CreateAclsRequest,
    CreateAclsResponse,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

UNKNOWN = 0
NO_AUTHORIZER = "No Authorizer is configured on the broker"


def _check_known(*kinds: int) -> None:
    """As Apache Kafka does: "unknown" as kind of resource, pattern, operation or permission is no request."""
    if UNKNOWN in kinds:
        raise ProtocolError("an ACL request names an unknown kind of resource, pattern, operation or permission")


def _check_filter(asked: DescribeAclsRequest | DeleteAclsRequest.DeleteAclsFilter) -> None:
    _check_known(asked.resource_type_filter, asked.pattern_type_filter, asked.operation, asked.permission_type)


def describe_acls(
    services: SecurityServices, ctx: RequestContext, request: DescribeAclsRequest
) -> DescribeAclsResponse:
    """One error for the whole answer."""
    _check_filter(request)
    return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)


def create_acls(services: SecurityServices, ctx: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    """One error per ACL, in the order of the request."""
    for creation in request.creations:
        _check_known(
            creation.resource_type, creation.resource_pattern_type, creation.operation, creation.permission_type
        )
    refused = CreateAclsResponse.AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return CreateAclsResponse(results=[refused] * len(request.creations))


def delete_acls(services: SecurityServices, ctx: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    """One error per filter, in the order of the request."""
    for asked in request.filters:
        _check_filter(asked)
    refused = DeleteAclsResponse.DeleteAclsFilterResult(
        error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER
    )
    return DeleteAclsResponse(filter_results=[refused] * len(request.filters))


def _token_refusal(ctx: RequestContext) -> ErrorCode:
    """Tokens are asked for on authenticated connections only, and they must be switched on.

    A client that has proved nothing could otherwise have a token in the name of whoever it says it is.
    """
    if ctx.session.security_protocol == "PLAINTEXT":
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def create_token(
    services: SecurityServices, ctx: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    """Also who asked and for whom: the owner may be another since version 3 (KIP-373), and is the requester else."""
    kind, _, name = ctx.principal.partition(":")
    newest = ctx.header.api_version >= 3
    return CreateDelegationTokenResponse(
        error_code=_token_refusal(ctx),
        principal_type=request.owner_principal_type or kind,
        principal_name=request.owner_principal_name or name,
        token_requester_principal_type=kind if newest else "",
        token_requester_principal_name=name if newest else "",
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )


def renew_token(
    services: SecurityServices, ctx: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    """No time of expiry: there is no such token."""
    return RenewDelegationTokenResponse(error_code=_token_refusal(ctx), expiry_timestamp_ms=-1)


def expire_token(
    services: SecurityServices, ctx: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    """As above: a token that never was cannot expire."""
    return ExpireDelegationTokenResponse(error_code=_token_refusal(ctx), expiry_timestamp_ms=-1)


def describe_tokens(
    services: SecurityServices, ctx: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=_token_refusal(ctx))
