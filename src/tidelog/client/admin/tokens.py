"""Delegation tokens: short-lived credentials that somebody with a real one hands to workers (KIP-48).

A token's `token_id` and `hmac` are user name and password for SCRAM with `tokenauth=true`. It lives until `expiry_ms`,
may be renewed by its owner and renewers up to `max_ms`, and ends at once when it is expired with a negative period.

    driver (Kerberos, a certificate) ── create_delegation_token ──► brokers
       └── token_id, hmac ──► hundreds of workers ── SCRAM as token_id ──► brokers

So the real credential stays in one place, and what the workers hold ends by itself. Brokers make the hmac from the id
and a secret that all of them share (`delegation.token.secret.key`). Whoever came with a token gets no other: a stolen
one cannot be made to last.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.hints import check
from tidelog.client.admin.routes import ANYBODY, CONTROLLER
from tidelog.client.admin.shapes import items
from tidelog.protocol import messages


@dataclass(frozen=True)
class DelegationToken:
    """A token. Principals are texts as `User:alice`, times milliseconds since 1970."""

    token_id: str
    hmac: bytes = field(repr=False)
    owner: str
    requester: str
    issued_ms: int
    expiry_ms: int
    max_ms: int
    renewers: tuple[str, ...] = ()


class TokenAdmin(AdminBase):
    """The part of the Admin that is about delegation tokens."""

    async def create_delegation_token(
        self,
        *,
        owner: str | None = None,
        renewers: Iterable[str] = (),
        max_lifetime_ms: int = -1,
        timeout: float | None = None,
    ) -> DelegationToken:
        """A token for ourselves, or for `owner`, if we may act for them. -1: as long as the brokers allow."""
        others = tuple(items(renewers))
        kind, name = _principal(owner) if owner is not None else ("", "")
        request = messages.CreateDelegationTokenRequest(
            owner_principal_type=kind,
            owner_principal_name=name,
            renewers=[
                messages.CreateDelegationTokenRequest.CreatableRenewers(principal_type=kind, principal_name=name)
                for kind, name in map(_principal, others)
            ],
            max_lifetime_ms=max_lifetime_ms,
        )

        def read(response: Any) -> DelegationToken:
            check(response.error_code, about="creating a delegation token")
            return DelegationToken(
                response.token_id,
                bytes(response.hmac),
                f"{response.principal_type}:{response.principal_name}",
                _requester(response),
                response.issue_timestamp_ms,
                response.expiry_timestamp_ms,
                response.max_timestamp_ms,
                others,
            )

        return await self._call(timeout).one(CONTROLLER, request, read)

    async def renew_delegation_token(
        self, hmac: bytes, *, renew_period_ms: int = -1, timeout: float | None = None
    ) -> int:
        """Let the token live longer, by this or by the brokers' usual period; when it expires now."""
        request = messages.RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=renew_period_ms)
        return await self._call(timeout).one(CONTROLLER, request, _expiry)

    async def expire_delegation_token(
        self, hmac: bytes, *, expiry_period_ms: int = -1, timeout: float | None = None
    ) -> int:
        """Let the token expire after this period; at once, if it is negative. When that is."""
        request = messages.ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=expiry_period_ms)
        return await self._call(timeout).one(CONTROLLER, request, _expiry)

    async def describe_delegation_token(
        self, owners: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> list[DelegationToken]:
        """The tokens of these owners, or all that we may see."""
        asked = None
        if owners is not None:
            asked = [
                messages.DescribeDelegationTokenRequest.DescribeDelegationTokenOwner(
                    principal_type=kind, principal_name=name
                )
                for kind, name in map(_principal, items(owners))
            ]

        def read(response: Any) -> list[DelegationToken]:
            check(response.error_code, about="describing delegation tokens")
            return [
                DelegationToken(
                    each.token_id,
                    bytes(each.hmac),
                    f"{each.principal_type}:{each.principal_name}",
                    _requester(each),
                    each.issue_timestamp,
                    each.expiry_timestamp,
                    each.max_timestamp,
                    tuple(f"{who.principal_type}:{who.principal_name}" for who in each.renewers),
                )
                for each in response.tokens
            ]

        return await self._call(timeout).one(ANYBODY, messages.DescribeDelegationTokenRequest(owners=asked), read)


def _principal(text: str) -> tuple[str, str]:
    """Type and name; a text without a type is a user."""
    kind, colon, name = text.partition(":")
    return (kind, name) if colon else ("User", text)


def _requester(found: Any) -> str:
    """Who asked for it; brokers before 3.3 know no difference from the owner."""
    if not found.token_requester_principal_name:
        return f"{found.principal_type}:{found.principal_name}"
    return f"{found.token_requester_principal_type}:{found.token_requester_principal_name}"


def _expiry(response: Any) -> int:
    """When the token ends, in milliseconds since 1970."""
    check(response.error_code, about="the delegation token")
    return int(response.expiry_timestamp_ms)
