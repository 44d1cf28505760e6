"""What needs an authorizer or a token secret."""

from __future__ import annotations

from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m


def test_what_needs_security_is_refused_with_kafkas_codes(ask):
    known = {"operation": 3, "permission_type": 3}
    assert ask(m.DescribeAclsRequest(resource_type_filter=2, **known)).error_code == ErrorCode.SECURITY_DISABLED
    creation = m.CreateAclsRequest.AclCreation(
        resource_type=2, resource_name="x", principal="User:a", host="*", **known
    )
    assert ask(m.CreateAclsRequest(creations=[creation])).results[0].error_code == ErrorCode.SECURITY_DISABLED
    asked = m.DeleteAclsRequest.DeleteAclsFilter(resource_type_filter=2, **known)
    assert ask(m.DeleteAclsRequest(filters=[asked])).filter_results[0].error_code == ErrorCode.SECURITY_DISABLED
    assert ask(m.CreateDelegationTokenRequest()).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert ask(m.DescribeDelegationTokenRequest()).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
