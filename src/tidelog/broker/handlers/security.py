"""ACLs and delegation tokens on a broker without authorizer and without token secret: refused, with Kafka's codes."""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.common.errors import ErrorCode
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

NO_AUTHORIZER = "No Authorizer is configured on the broker"


def describe_acls(ctx: RequestContext, request: DescribeAclsRequest) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)


def create_acls(ctx: RequestContext, request: CreateAclsRequest) -> CreateAclsResponse:
    refused = CreateAclsResponse.AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER)
    return CreateAclsResponse(results=[refused] * len(request.creations))


def delete_acls(ctx: RequestContext, request: DeleteAclsRequest) -> DeleteAclsResponse:
    refused = DeleteAclsResponse.DeleteAclsFilterResult(
        error_code=ErrorCode.SECURITY_DISABLED, error_message=NO_AUTHORIZER
    )
    return DeleteAclsResponse(filter_results=[refused] * len(request.filters))


def _token_refusal(ctx: RequestContext) -> ErrorCode:
    """Tokens are asked for on authenticated connections only; and they must be switched on."""
    protocols = {endpoint.name: endpoint.protocol for endpoint in ctx.broker.config.listeners}
    if protocols.get(ctx.listener, "PLAINTEXT") == "PLAINTEXT":
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


def create_token(ctx: RequestContext, request: CreateDelegationTokenRequest) -> CreateDelegationTokenResponse:
    kind, _, name = ctx.principal.partition(":")
    newest = ctx.header.api_version >= 3
    return CreateDelegationTokenResponse(
        error_code=_token_refusal(ctx),
        principal_type=kind,
        principal_name=name,
        token_requester_principal_type=kind if newest else "",
        token_requester_principal_name=name if newest else "",
        issue_timestamp_ms=-1,
        expiry_timestamp_ms=-1,
        max_timestamp_ms=-1,
    )


def renew_token(ctx: RequestContext, request: RenewDelegationTokenRequest) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=_token_refusal(ctx), expiry_timestamp_ms=-1)


def expire_token(ctx: RequestContext, request: ExpireDelegationTokenRequest) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=_token_refusal(ctx), expiry_timestamp_ms=-1)


def describe_tokens(ctx: RequestContext, request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=_token_refusal(ctx))
