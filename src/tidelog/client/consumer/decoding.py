"""Which deserializers a consumer has, in the form that records use.

Bytes need no call, and UTF-8 text is made in compiled code; any other deserializer is called with the topic, the bytes
and the headers when the key or value is first looked at. So a deserializer runs in the user's thread, outside of
`poll`, and one that fails concerns the record that it failed for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidelog.client.config import consumer as keys
from tidelog.client.config.parsing import ClientConfig
from tidelog.client.consumer._records import Decoders
from tidelog.client.serialization import BytesDeserializer, Deserializer, StringDeserializer, deserializer_of

if TYPE_CHECKING:
    from tidelog.client.consumer._records import Decoder


class Deserializers:
    """The two deserializers of a consumer, configured."""

    def __init__(self, config: ClientConfig) -> None:
        self._key = deserializer_of(config[keys.KEY_DESERIALIZER], config.originals, is_key=True)
        self._value = deserializer_of(config[keys.VALUE_DESERIALIZER], config.originals, is_key=False)
        self.decoders = Decoders(_decoder(self._key), _decoder(self._value))

    def close(self) -> None:
        for deserializer in (self._key, self._value):
            close: Any = getattr(deserializer, "close", None)
            if close is not None:
                close()


def _decoder(deserializer: Deserializer) -> Decoder | type[str] | None:
    if type(deserializer) is BytesDeserializer:
        return None
    if type(deserializer) is StringDeserializer and deserializer.encoding.lower() in ("utf-8", "utf8", "utf_8"):
        return str
    return deserializer.deserialize
