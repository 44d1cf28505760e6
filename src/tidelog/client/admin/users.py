"""Users who prove themselves by SCRAM: which credentials they have, setting and deleting them.

The password never travels: it is salted and hashed here (PBKDF2, RFC 5802), and the broker keeps what can check a proof
but cannot be turned back. That takes some milliseconds per user, on purpose.

    salted password = PBKDF2(password, salt, iterations)      made here, sent to the controller
    stored key, server key = hashes of it                      made there, kept

Whoever sees the salted password can come as the user, so this request belongs on an encrypted connection. More
iterations make guessing dearer, and every log-in of the user, too; Kafka allows 4096 to 16384.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.call import Call
from tidelog.client.admin.hints import check, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import ANYBODY, CONTROLLER
from tidelog.client.admin.shapes import items
from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.rng import Rng
from tidelog.protocol import messages

_SALT_BYTES = 24


class ScramMechanism(IntEnum):
    """The hash that a credential is made with."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def hash_name(self) -> str:
        return "sha256" if self is ScramMechanism.SCRAM_SHA_256 else "sha512"


class ScramCredential(NamedTuple):
    """A credential that a user has, as far as it is told."""

    mechanism: ScramMechanism
    iterations: int


@dataclass(frozen=True)
class ScramUpsertion:
    """A password to set. Without a salt, a random one is taken."""

    user: str
    password: str | bytes = field(repr=False)
    mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_256
    iterations: int = 4096
    salt: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class ScramDeletion:
    """A credential to delete."""

    user: str
    mechanism: ScramMechanism = ScramMechanism.SCRAM_SHA_256


class UserAdmin(AdminBase):
    """The part of the Admin that is about SCRAM users."""

    async def describe_user_scram_credentials(
        self, users: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> Outcomes[str, tuple[ScramCredential, ...]]:
        """The credentials of these users; None: of everybody who has any."""
        names = None if users is None else list(dict.fromkeys(items(users)))
        User = messages.DescribeUserScramCredentialsRequest.UserName
        asked = [User(name=name) for name in names] if names else None

        def read(response: Any) -> Outcomes[str, tuple[ScramCredential, ...]]:
            check(response.error_code, response.error_message, "describing SCRAM credentials")
            found = {}
            for each in response.results:
                infos = (ScramCredential(ScramMechanism(i.mechanism), i.iterations) for i in each.credential_infos)
                found[each.user] = outcome(
                    tuple(sorted(infos)), each.error_code, each.error_message, f"user {each.user}"
                )
            return Outcomes(found)

        return await self._call(timeout).one(ANYBODY, messages.DescribeUserScramCredentialsRequest(users=asked), read)

    async def alter_user_scram_credentials(
        self, alterations: Iterable[ScramUpsertion | ScramDeletion], *, timeout: float | None = None
    ) -> Outcomes[str, None]:
        """Set and delete credentials. Several changes of one user are made one after another (Kafka's controllers take
        one per request) until one fails, which is then that user's outcome.
        """
        call = self._call(timeout)
        rest: dict[str, list[ScramUpsertion | ScramDeletion]] = {}
        for each in items(alterations):
            if each.mechanism is ScramMechanism.UNKNOWN:
                raise UsageError(f"user {each.user}: the mechanism must be SCRAM_SHA_256 or SCRAM_SHA_512")
            rest.setdefault(each.user, []).append(each)
        altered: Outcomes[str, None] = Outcomes(dict.fromkeys(rest))
        while rest:
            now = {user: changes[0] for user, changes in rest.items()}
            altered |= await self._alter_one_each(call, now)
            rest = {user: changes[1:] for user, changes in rest.items() if changes[1:] and altered[user] is None}
        return altered

    async def _alter_one_each(
        self, call: Call, changes: Mapping[str, ScramUpsertion | ScramDeletion]
    ) -> Outcomes[str, None]:
        """One change of each user, all in one request."""

        def ask(users: list[str]) -> messages.AlterUserScramCredentialsRequest:
            chosen = [changes[user] for user in users]
            return messages.AlterUserScramCredentialsRequest(
                deletions=[_deletion(each) for each in chosen if isinstance(each, ScramDeletion)],
                upsertions=[_upsertion(each, call.cluster.rng) for each in chosen if isinstance(each, ScramUpsertion)],
            )

        def read(response: Any, users: list[str]) -> Answers[str, None]:
            for each in response.results:
                yield each.user, outcome(None, each.error_code, each.error_message, f"user {each.user}")

        return await call.each(changes, CONTROLLER, ask, read)


def _deletion(gone: ScramDeletion) -> messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion:
    return messages.AlterUserScramCredentialsRequest.ScramCredentialDeletion(
        name=gone.user, mechanism=int(gone.mechanism)
    )


def _upsertion(new: ScramUpsertion, rng: Rng) -> messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion:
    password = new.password.encode() if isinstance(new.password, str) else new.password
    salt = rng.randbytes(_SALT_BYTES) if new.salt is None else new.salt
    salted = hashlib.pbkdf2_hmac(new.mechanism.hash_name, password, salt, max(1, new.iterations))
    return messages.AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=new.user, mechanism=int(new.mechanism), iterations=new.iterations, salt=salt, salted_password=salted
    )
