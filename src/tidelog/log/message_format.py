"""Which message format a topic is kept in: `message.format.version`, as far as `inter.broker.protocol.version` lets it.

Kafka's versions name formats: before 0.10.0 magic 0, before 0.11.0 magic 1, then magic 2. A version is a release
(`0.9.0`, `2.8`, a patch release `2.8.1`) or a state of its development (`0.10.1-IV2`).

    inter.broker.protocol.version   3.0 or later, or not set: magic 2, whatever else is said
                                    older: the topic's version, unless that is newer than the protocol; then the
                                    broker's (`log.message.format.version`), which is magic 2 where nothing is set
"""

from __future__ import annotations

from tidelog.common.config import Validator
from tidelog.records.format.attributes import MAGIC_V0, MAGIC_V1, MAGIC_V2

#: How many development states (IV0, IV1 ...) each release had; those before 0.10.0 had none.
_STATES = {
    "0.8.0": 0, "0.8.1": 0, "0.8.2": 0, "0.9.0": 0, "0.10.0": 2, "0.10.1": 3, "0.10.2": 1, "0.11.0": 3,
    "1.0": 1, "1.1": 1,
    "2.0": 2, "2.1": 3, "2.2": 2, "2.3": 2, "2.4": 2, "2.5": 1, "2.6": 1, "2.7": 3, "2.8": 2,
    "3.0": 2, "3.1": 1, "3.2": 1, "3.3": 4, "3.4": 1, "3.5": 3, "3.6": 3, "3.7": 5, "3.8": 1, "3.9": 1,
}  # fmt: skip
#: Releases of this number and later are taken by their form: most are yet to come.
_OPEN_SINCE = 4
Version = tuple[int, ...]
#: From this protocol on the format is not a choice any more (KIP-724).
_FIXED_SINCE: Version = (3, 0, 0, 1)


def parse_version(text: str) -> Version:
    """A version as numbers that compare: three of the release, one of its state. ValueError if Kafka has no such."""
    release, dash, state = text.partition("-IV")
    numbers = [*release.split("."), state if dash else "0"]
    if len(numbers) > 2 and all(map(str.isdecimal, numbers)) and int(numbers[0]) >= _OPEN_SINCE:
        return _numbers(release, int(numbers[-1]))
    kept = 3 if text.startswith("0.") else 2
    key = ".".join(text.split(".")[:kept])
    release, dash, state = key.partition("-IV")
    states = _STATES.get(release)
    if states is None or (dash and not (state.isascii() and state.isdigit() and int(state) < states)):
        raise ValueError(f"Version {text} is not a valid version")
    return _numbers(release, int(state) if dash else max(states - 1, 0))


def _numbers(release: str, state: int) -> Version:
    return (*([int(part) for part in release.split(".")] + [0, 0])[:3], state)


def magic_of(version: Version) -> int:
    """The newest format that brokers of this version know."""
    if version < (0, 10, 0, 0):
        return MAGIC_V0
    return MAGIC_V1 if version < (0, 11, 0, 0) else MAGIC_V2


def stored_magic(protocol: str | None, of_broker: str | None, of_topic: str | None) -> int:
    """The format in which a leader keeps a topic; see the module's text. None: not set."""
    speaks = _FIXED_SINCE if protocol is None else parse_version(protocol)
    if speaks >= _FIXED_SINCE:
        return MAGIC_V2
    if of_topic is not None and parse_version(of_topic) <= speaks:
        return magic_of(parse_version(of_topic))
    return MAGIC_V2 if of_broker is None else magic_of(parse_version(of_broker))


def check_broker_format(protocol: str, version: str) -> str | None:
    """Why a broker that speaks this protocol cannot write this version's format, or None."""
    if parse_version(protocol) >= _FIXED_SINCE or magic_of(parse_version(version)) <= magic_of(parse_version(protocol)):
        return None
    needed = {MAGIC_V1: "0.10.0", MAGIC_V2: "0.11.0"}[magic_of(parse_version(version))]
    return f"It can only be used when inter.broker.protocol.version is set to version {needed} or higher"


def _is_version(text: str) -> bool:
    try:
        parse_version(text)
    except ValueError:
        return False
    return True


KAFKA_VERSION = Validator(_is_version, "Version must be one of Apache Kafka's, such as 2.8 or 3.9-IV0")
