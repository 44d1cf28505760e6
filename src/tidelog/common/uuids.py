"""Kafka's UUIDs: 16 bytes on the wire, 22 characters of unpadded base64url in text.

`bytes` is the one representation in memory; only the edges (files, tables, JSON) use the text form.
"""

from __future__ import annotations

import base64
import binascii

from tidelog.common.rng import Rng

ZERO_UUID = bytes(16)
#: The metadata log's topic id and KRaft's reserved directory ids; never given to a topic.
RESERVED = frozenset((n).to_bytes(16, "big") for n in range(100))


def uuid_to_text(value: bytes) -> str:
    """The 22-character form: `uuid_to_text(bytes(16)) == 'AAAAAAAAAAAAAAAAAAAAAA'`."""
    if len(value) != 16:
        raise ValueError(f"a UUID has 16 bytes, not {len(value)}")
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def uuid_from_text(text: str) -> bytes:
    """The sixteen bytes of the text form, padded or not; ValueError if it is anything else."""
    try:
        value = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"not a base64url UUID: {text!r}") from error
    if len(value) != 16:
        raise ValueError(f"not a UUID: {text!r} decodes to {len(value)} bytes, not 16")
    return value


def random_uuid(rng: Rng) -> bytes:
    """A version 4 UUID that is not reserved and whose text does not start with a dash (options do)."""
    while True:
        raw = bytearray(rng.randbytes(16))
        raw[6] = raw[6] & 0x0F | 0x40
        raw[8] = raw[8] & 0x3F | 0x80
        value = bytes(raw)
        if value not in RESERVED and not uuid_to_text(value).startswith("-"):
            return value
