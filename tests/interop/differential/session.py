"""A client script's view of one broker: it asks, and every answer is written down under a label."""

from __future__ import annotations

import itertools
import random
import struct
import time
from typing import Any, NamedTuple

from interop.differential.normal import Names
from interop.differential.peer import Outcome, Peer
from tidelog.common.errors import ErrorCode, ProtocolError
from tidelog.common.hashing import partition_for_id
from tidelog.protocol.api import API, ApiKey, api_spec, spec_of
from tidelog.protocol.headers import decode_response
from tidelog.protocol.message import Message
from tidelog.protocol.messages import (
    ApiVersionsRequest,
    ConsumerGroupHeartbeatRequest,
    CreateTopicsRequest,
    DescribeGroupsRequest,
    DescribeTransactionsRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    ProduceRequest,
)

PATIENCE = 120.0
#: What both brokers are told of the topic of committed offsets.
OFFSETS_PARTITIONS = 5
#: Names that fall into every partition of the coordinators' topics.
ANYONE = [f"anyone-{number}" for number in range(40)]
#: What a coordinator answers that is not there, or not yet.
NOT_YET = {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}


def api_name(key: int) -> str:
    return API[ApiKey(key)].name if key in ApiKey.__members__.values() else "unknown"


class Entry(NamedTuple):
    """One line of a transcript."""

    script: str
    key: int
    version: int
    label: str
    request: str
    answer: Any


class Session:
    """One broker, one script. `prefix` begins every name that the script makes up."""

    def __init__(self, script: str, host: str, port: int, prefix: str, versions: dict[int, range], thorough: bool):
        self.script, self.prefix, self.thorough = script, prefix, thorough
        self.peer = Peer(host, port)
        self.unknown_id = random.Random("unknown").randbytes(16)
        self.names = Names(host, port, frozenset({self.unknown_id}))
        self.transcript: list[Entry] = []
        self._versions = versions
        self._counter = 0

    # -- asking ------------------------------------------------------------------------------------------------------

    def ask(self, label: str, message: Message, version: int) -> Any:
        """Send, write the answer down, return it decoded (None when there was none)."""
        key = spec_of(message).key
        self.names.sent(message.to_dict())
        answered = not (isinstance(message, ProduceRequest) and message.acks == 0)
        found = self.peer.ask(key, version, message, answered=answered)
        return self._note(label, key, version, repr(message), found)

    def ask_raw(self, label: str, key: int, version: int, body: bytes) -> Any:
        return self._note(label, key, version, body.hex(), self.peer.ask_raw(key, version, body))

    def do(self, message: Message, version: int) -> Any:
        """Send as a part of the set-up: what comes back is no part of the transcript."""
        found = self.peer.ask(spec_of(message).key, version, message)
        assert isinstance(found, bytes), f"{message!r}: {found}"
        response: Any = decode_response(spec_of(message).key, version, found)[1]
        self.names.learn(response.to_dict())
        return response

    def note(self, label: str, key: int, version: int, answer: Any) -> None:
        """Write down what the script itself found out."""
        self.transcript.append(Entry(self.script, key, version, label, "", answer))

    def _note(self, label: str, key: int, version: int, request: str, found: bytes | Outcome) -> Any:
        response: Any = None
        answer: Any
        if isinstance(found, Outcome):
            answer = self.names.normal(found.name)
        else:
            try:
                response = decode_response(ApiKey(key), version, found)[1]
                answer = self.names.normal(response.to_dict())
            except (ProtocolError, ValueError, struct.error) as error:
                answer = f"UNREADABLE: {error}"
        self.transcript.append(Entry(self.script, key, version, label, request, answer))
        return response

    # -- what scripts need -------------------------------------------------------------------------------------------

    def versions(self, key: ApiKey) -> list[int]:
        """The versions of an API to go through: all, or the first, the first flexible and the last."""
        found = list(self._versions.get(key, range(0)))
        if self.thorough or len(found) <= 3:
            return found
        picked = {found[0], api_spec(key).flexible_from, found[-1]}
        return [version for version in found if version in picked]

    def newest(self, key: ApiKey, at_most: int = 99) -> int:
        """The newest version for set-up work; both brokers serve it."""
        return min(api_spec(key).latest_stable, SETUP_VERSIONS.get(key, 99), at_most)

    def fresh(self, kind: str = "x") -> str:
        """A name that nobody had before."""
        self._counter += 1
        return f"{self.prefix}-{self.script}-{kind}{self._counter}"

    def topic(self, partitions: int = 1, configs: dict[str, str] | None = None, name: str | None = None) -> str:
        """A new topic."""
        name = name or self.fresh("t")
        new = CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(name=key, value=value)
                for key, value in (configs or {}).items()
            ],
        )
        response = self.do(CreateTopicsRequest(topics=[new], timeout_ms=60_000), 7)
        code = response.topics[0].error_code
        assert code == 0, f"{name}: {ErrorCode(code).name} {response.topics[0].error_message}"
        self._await_leaders(name, partitions)
        return name

    def settle(self) -> None:
        """Wait until the broker knows what its controller decided so far: changes reach it in their order."""
        self.topic()

    def topic_id(self, name: str) -> bytes:
        return next((key for key, value in self.names.ids.items() if value == name), self.unknown_id)

    def _await_leaders(self, name: str, partitions: int) -> None:
        """Apache Kafka answers CreateTopics before its brokers know the topic."""
        topic = MetadataRequest.MetadataRequestTopic(name=name)
        parts = [ListOffsetsRequest.ListOffsetsPartition(partition_index=n, timestamp=-1) for n in range(partitions)]
        ends = ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=parts)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = self.do(MetadataRequest(topics=[topic], allow_auto_topic_creation=False), 12).topics[0]
            if len(found.partitions) == partitions and all(part.leader_id >= 0 for part in found.partitions):
                answers = self.do(ListOffsetsRequest(topics=[ends]), 6).topics[0].partitions
                if all(answer.error_code == 0 for answer in answers):
                    return
            time.sleep(0.002)
        raise AssertionError(f"{name} has no leaders")

    def learn_cluster(self) -> None:
        response = self.do(MetadataRequest(topics=[]), 12)
        self.names.cluster_id = response.cluster_id
        for kind in (0, 1):
            self.coordinator("anyone", kind)
        self._await_coordinators()

    def _await_coordinators(self) -> None:
        """A coordinator that can be found may still be loading: wait until every partition of its topic is served."""

        def loading() -> bool:
            groups = self.do(DescribeGroupsRequest(groups=ANYONE), 5).groups
            transactions = self.do(DescribeTransactionsRequest(transactional_ids=ANYONE), 0).transaction_states
            return any(one.error_code in NOT_YET for one in [*groups, *transactions])

        deadline = time.monotonic() + PATIENCE
        while loading():
            assert time.monotonic() < deadline, "the coordinators are still loading"
            time.sleep(0.01)

    def await_topic(self, group: str, topic: str) -> None:
        """Wait until the coordinator of a group of the new protocol knows the topic: Apache Kafka's hears of it last.

        Each partition of the coordinator's topic hears for itself, so another group asks that lives in the same one.
        """
        shard = partition_for_id(group, OFFSETS_PARTITIONS)
        names = (f"ask-{self._counter}-{number}" for number in itertools.count())
        deadline = time.monotonic() + PATIENCE
        for name in (name for name in names if partition_for_id(name, OFFSETS_PARTITIONS) == shard):
            beat = ConsumerGroupHeartbeatRequest(
                group_id=name,
                member_id="",
                member_epoch=0,
                rebalance_timeout_ms=30_000,
                subscribed_topic_names=[topic],
                topic_partitions=[],
            )
            joined = self.do(beat, 0)
            self.do(ConsumerGroupHeartbeatRequest(group_id=name, member_id=joined.member_id, member_epoch=-1), 0)
            if joined.assignment is not None and joined.assignment.topic_partitions:
                return
            assert time.monotonic() < deadline, f"the coordinator of {group} does not know {topic}"
            time.sleep(0.01)

    def coordinator(self, key: str, kind: int = 0) -> None:
        """Wait until the coordinator of a group (0) or transactional id (1) serves it; its topic exists then."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = self.do(FindCoordinatorRequest(key_type=kind, coordinator_keys=[key]), 4).coordinators[0]
            if found.error_code == 0:
                return
            time.sleep(0.01)
        raise AssertionError(f"{key} has no coordinator")

    def producer_id(self, transactional_id: str | None) -> Any:
        """A new producer; a coordinator that has just come up may need a moment."""
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=600_000)
        deadline = time.monotonic() + PATIENCE
        while (made := self.do(request, 4)).error_code:
            assert time.monotonic() < deadline, made
            time.sleep(0.01)
        return made

    def close(self) -> None:
        self.peer.close()


#: Where the newest version that both oracles serve is below our own newest.
SETUP_VERSIONS = {ApiKey.PRODUCE: 9, ApiKey.FETCH: 12, ApiKey.LIST_OFFSETS: 9, ApiKey.METADATA: 12}


def served(host: str, port: int) -> dict[int, range]:
    """What a broker says it serves."""
    peer = Peer(host, port)
    found = peer.ask(
        ApiKey.API_VERSIONS, 3, ApiVersionsRequest(client_software_name="differ", client_software_version="1")
    )
    assert isinstance(found, bytes), found
    response: Any = decode_response(ApiKey.API_VERSIONS, 3, found)[1]
    peer.close()
    return {row.api_key: range(row.min_version, row.max_version + 1) for row in response.api_keys}
