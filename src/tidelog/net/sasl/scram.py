"""SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, 7677): both sides prove that they know the password, and none sends it.

    client → n,,n=alice,r=CNONCE                            who I am, and chance of mine
    server → r=CNONCESNONCE,s=SALT,i=4096                   both chances, and how to salt the password
    client → c=biws,r=CNONCESNONCE,p=PROOF                  made with the client key
    server → v=SIGNATURE                                    made with the server key

Both keys come from the salted password. A server stores the *hash* of the client key: with it a proof can be checked,
but not made. Whoever listens learns nothing to log in with, as both sides' chance is in every signature; but can guess
weak passwords, so SCRAM, too, wants TLS around it.

`tokenauth` (KIP-48) says that name and password are a delegation token's id and its HMAC.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.rng import Rng, system_rng
from tidelog.net.sasl.exchange import failed

#: Hash functions by mechanism.
DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MIN_ITERATIONS = 4096
#: No server needs more; one that asks for billions wants to keep us busy.
MAX_ITERATIONS = 1_000_000

_GS2 = "n,,"  # no channel binding, and we act as nobody else
_CLIENT_FIRST = re.compile(
    r"n,(?:a=(?P<acting_as>[^,]*))?,(?P<bare>n=(?P<name>[^,]+),r=(?P<nonce>[^,]+)(?P<more>,.*)?)"
)
_SERVER_FIRST = re.compile(r"r=(?P<nonce>[^,]+),s=(?P<salt>[A-Za-z0-9+/=]+),i=(?P<iterations>[0-9]{1,9})(?:,.*)?")
_CLIENT_FINAL = re.compile(
    r"(?P<unproved>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>[^,]+)),p=(?P<proof>[A-Za-z0-9+/=]+)"
)


class Credential(NamedTuple):
    """What a server keeps of a password."""

    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


def make_credential(mechanism: str, password: str, salt: bytes, iterations: int = MIN_ITERATIONS) -> Credential:
    """What to keep of a password. The iterations make guessing it from the credential slow, and each log-in as well."""
    digest = DIGESTS[mechanism]
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", digest)
    return Credential(
        salt, hashlib.new(digest, client_key).digest(), hmac.digest(salted, b"Server Key", digest), iterations
    )


class ScramClient:
    """One exchange of a client; `token`: name and password are those of a delegation token."""

    def __init__(
        self, mechanism: str, username: str, password: str, *, token: bool = False, rng: Rng | None = None
    ) -> None:
        self.mechanism = mechanism
        self._digest = DIGESTS[mechanism]
        self._password = password
        self._nonce = _nonce(rng)
        extensions = ",tokenauth=true" if token else ""
        self._first = f"n={_escape(username)},r={self._nonce}{extensions}"
        self._signature: bytes | None = None

    def begin(self) -> bytes:
        return f"{_GS2}{self._first}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        text = _text(challenge)
        if self._signature is None:
            return self._prove(text)
        self._believe(text, self._signature)
        return None

    def _prove(self, server_first: str) -> bytes:
        match = _SERVER_FIRST.fullmatch(server_first)
        if match is None:
            raise failed("the server's first message is not SCRAM")
        if not match["nonce"].startswith(self._nonce):
            raise failed("the server answers to somebody else")
        iterations = int(match["iterations"])
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise failed(f"the server wants {iterations} iterations")
        unproved = f"c={base64.b64encode(_GS2.encode()).decode()},r={match['nonce']}"
        spoken = f"{self._first},{server_first},{unproved}".encode()
        salted = hashlib.pbkdf2_hmac(self._digest, self._password.encode(), _bytes(match["salt"]), iterations)
        client_key = hmac.digest(salted, b"Client Key", self._digest)
        stored_key = hashlib.new(self._digest, client_key).digest()
        proof = _xor(client_key, hmac.digest(stored_key, spoken, self._digest))
        self._signature = hmac.digest(hmac.digest(salted, b"Server Key", self._digest), spoken, self._digest)
        return f"{unproved},p={base64.b64encode(proof).decode()}".encode()

    def _believe(self, server_final: str, signature: bytes) -> None:
        """A server that does not know the password either must not be told anything."""
        if server_final.startswith("e="):
            raise failed(server_final[2:])
        if not server_final.startswith("v=") or not hmac.compare_digest(_bytes(server_final[2:]), signature):
            raise failed("the server does not know the password: it is not the one that we want")


#: A user's credential for this mechanism, or None; the second argument says that it is a delegation token's.
FindCredential = Callable[[str, bool], Credential | None]


class ScramServer:
    """One exchange of a server. Who does not exist is refused with the same words, after the client's proof at the
    latest, as who has another password.
    """

    def __init__(self, mechanism: str, find: FindCredential, *, rng: Rng | None = None) -> None:
        self.mechanism = mechanism
        self.username: str | None = None
        self._digest = DIGESTS[mechanism]
        self._find = find
        self._nonce = _nonce(rng)
        self._name = ""
        self._spoken = ""
        self._credential: Credential | None = None

    def answer(self, response: bytes) -> bytes:
        text = _text(response)
        return self._offer(text) if self._credential is None else self._check(self._credential, text)

    def _offer(self, client_first: str) -> bytes:
        """Who it claims to be decides about salt and iterations. From here on both sides collect what was spoken: all
        of it is signed in the end, so that nobody in between can have changed a word.
        """
        match = _CLIENT_FIRST.fullmatch(client_first)
        if match is None:
            raise failed("the client's first message is not SCRAM")
        self._name = _unescape(match["name"])
        if match["acting_as"] and _unescape(match["acting_as"]) != self._name:
            raise failed("Client requested an authorization id that is different from username")
        token = "tokenauth=true" in (match["more"] or "").split(",")
        self._credential = self._find(self._name, token)
        if self._credential is None:
            raise failed("Invalid username or password")
        self._nonce = match["nonce"] + self._nonce
        salt = base64.b64encode(self._credential.salt).decode()
        first = f"r={self._nonce},s={salt},i={self._credential.iterations}"
        self._spoken = f"{match['bare']},{first}"
        return first.encode()

    def _check(self, credential: Credential, client_final: str) -> bytes:
        """The proof is the client key, hidden by a signature that the stored key makes: what is left when the signature
        is taken away again must be the key whose hash we have.
        """
        match = _CLIENT_FINAL.fullmatch(client_final)
        if match is None or match["nonce"] != self._nonce or not _bytes(match["binding"]).startswith(b"n,"):
            raise failed("the client's last message does not belong to this exchange")
        spoken = f"{self._spoken},{match['unproved']}".encode()
        signature = hmac.digest(credential.stored_key, spoken, self._digest)
        proof = _bytes(match["proof"])
        client_key = _xor(proof, signature) if len(proof) == len(signature) else b""
        if not hmac.compare_digest(hashlib.new(self._digest, client_key).digest(), credential.stored_key):
            raise failed("Invalid username or password")
        self.username = self._name
        return b"v=" + base64.b64encode(hmac.digest(credential.server_key, spoken, self._digest))


def _nonce(rng: Rng | None) -> str:
    """144 bits of chance, without commas."""
    return base64.b64encode((rng or system_rng()).randbytes(18)).decode()


def _escape(name: str) -> str:
    """Commas separate the attributes of a message, so names may have none."""
    return name.replace("=", "=3D").replace(",", "=2C")


def _unescape(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise failed("the message is not UTF-8") from None


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        raise failed("the message is not base64 where it should be") from None


def _xor(one: bytes, other: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(one, other, strict=True))
