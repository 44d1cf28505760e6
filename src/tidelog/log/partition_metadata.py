"""`partition.metadata`: which topic id a partition's directory belongs to.

    version: 0
    topic_id: 3JvTuSVrQ4uxBPwnnbXm6g

No newline at the end, as Kafka writes it. A topic that is deleted and made again under the same name gets another id;
by this file a broker tells the remains of the first from a replica of the second.
"""

from __future__ import annotations

from pathlib import Path

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.fs import FileSystem
from tidelog.common.uuids import ZERO_UUID, uuid_from_text, uuid_to_text
from tidelog.log.names import PARTITION_METADATA_FILE

_HEAD = b"version: 0\ntopic_id: "
_LENGTH = len(_HEAD) + len(uuid_to_text(ZERO_UUID))


def encode(topic_id: bytes) -> bytes:
    return _HEAD + uuid_to_text(topic_id).encode()


def _cut_off(data: bytes) -> bool:
    """Whether this is the beginning of a file, and no more."""
    text = data.rstrip(b"\0")
    return len(text) < _LENGTH and _HEAD.startswith(text[: len(_HEAD)])


def decode(data: bytes, origin: str) -> bytes:
    """The id in a file's bytes. Unlike a part of the file, which a crash may leave, anything else that does not parse
    is an error: to take the directory for another topic's would be worse than to stop."""
    fields = dict(line.split(": ", 1) for line in data.decode("utf-8", "replace").splitlines() if ": " in line)
    if fields.get("version") != "0":
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{origin}: expected 'version: 0' and a topic_id")
    try:
        topic_id = uuid_from_text(fields.get("topic_id", ""))
    except ValueError as error:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{origin}: {error}") from error
    if topic_id == ZERO_UUID:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{origin}: the zero id names no topic")
    return topic_id


def read(fs: FileSystem, directory: Path) -> bytes | None:
    """The topic id, or None when the directory has no such file (it was made before topic ids).

    A part of the file, or zeros, is what a crash leaves of one that was not synced yet: it says nothing, either.
    """
    path = directory / PARTITION_METADATA_FILE
    try:
        data = fs.read_bytes(path)
    except FileNotFoundError:
        return None
    return None if _cut_off(data) else decode(data, str(path))


def write(fs: FileSystem, directory: Path, topic_id: bytes) -> None:
    """Write the file; it is durable with the partition's first flush (`sync`). Until then the topic's own record is."""
    file = fs.open(directory / PARTITION_METADATA_FILE, create=True)
    try:
        file.write_at(0, [encode(topic_id)])
    finally:
        file.close()


def sync(fs: FileSystem, directory: Path) -> None:
    """Make the file durable, if there is one: directories that were made before topic ids have none."""
    path = directory / PARTITION_METADATA_FILE
    if fs.exists(path):
        file = fs.open(path)
        try:
            file.sync()
        finally:
            file.close()
