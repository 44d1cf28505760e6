"""SCRAM credentials, kept and told."""

from __future__ import annotations

from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m


def test_scram_credentials_are_kept(ask):
    Up = m.AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    up = Up(name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"x" * 32)
    assert ask(m.AlterUserScramCredentialsRequest(upsertions=[up])).results[0].error_code == 0
    described = ask(m.DescribeUserScramCredentialsRequest(users=None)).results
    assert [(r.user, [(c.mechanism, c.iterations) for c in r.credential_infos]) for r in described] == [
        ("alice", [(1, 4096)])
    ]
    weak = Up(name="bob", mechanism=1, iterations=10, salt=b"", salted_password=b"")
    assert ask(m.AlterUserScramCredentialsRequest(upsertions=[weak])).results[0].error_code == (
        ErrorCode.UNACCEPTABLE_CREDENTIAL
    )
    gone = m.AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="alice", mechanism=1)
    assert ask(m.AlterUserScramCredentialsRequest(deletions=[gone])).results[0].error_code == 0
    assert (
        ask(m.AlterUserScramCredentialsRequest(deletions=[gone])).results[0].error_code == ErrorCode.RESOURCE_NOT_FOUND
    )
    user = m.DescribeUserScramCredentialsRequest.UserName(name="alice")
    assert (
        ask(m.DescribeUserScramCredentialsRequest(users=[user])).results[0].error_code == ErrorCode.RESOURCE_NOT_FOUND
    )
