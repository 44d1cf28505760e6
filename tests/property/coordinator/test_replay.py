"""Live state equals replayed state: after every step, whatever the members do and in whatever order."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scenarios.coordinator.driver import encode_subscription
from support.coordinator import Answer, GroupHarness, TransactionHarness, topic_id
from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.result import Caller
from tidelog.broker.coordinator.transaction.machine import ProducerIdentity
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages as m
from tidelog.records.format.control import end_txn_marker

GROUPS = st.sampled_from(["g", "h"])
MEMBERS = st.sampled_from(["m1", "m2", "m3"])
TOPIC_SETS = st.sampled_from([["a"], ["b"], ["a", "b"]])


class ConsumerGroups(RuleBasedStateMachine):
    """KIP-848 members, classic members, commits and transactions on two groups."""

    @initialize()
    def start(self) -> None:
        self.harness = GroupHarness(GroupConfig(initial_rebalance_delay_ms=0), {"a": 4, "b": 2})
        self.epochs: dict[tuple[str, str], int] = {}
        self.classic: dict[str, tuple[str, int]] = {}

    @rule(group=GROUPS, member=MEMBERS, topics=TOPIC_SETS)
    def join(self, group: str, member: str, topics: list[str]) -> None:
        self._heartbeat(group, member, 0, subscribed_topic_names=topics, rebalance_timeout_ms=9000, topic_partitions=[])

    @rule(group=GROUPS, member=MEMBERS, owns=st.booleans())
    def heartbeat(self, group: str, member: str, owns: bool) -> None:
        """With `owns`, the member has done what it was told: it owns its assignment and nothing else."""
        present = self.harness.machine().state.groups.get(group)
        owned = None
        if owns and isinstance(present, ConsumerGroup) and member in present.members:
            owned = [
                m.ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=key, partitions=sorted(numbers))
                for key, numbers in present.members[member].assigned.items()
            ]
        self._heartbeat(group, member, self.epochs.get((group, member), 1), topic_partitions=owned)

    @rule(group=GROUPS, member=MEMBERS)
    def leave(self, group: str, member: str) -> None:
        self._heartbeat(group, member, -1)

    def _heartbeat(self, group: str, member: str, epoch: int, **fields: Any) -> None:
        request = m.ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, **fields)
        answer = self.harness.write(group, lambda machine: machine.consumer_heartbeat(request, Caller(member, "/h", 1)))
        if answer.error is None:
            self.epochs[group, member] = answer.response.member_epoch

    @rule(group=GROUPS, topics=TOPIC_SETS)
    def join_classic(self, group: str, topics: list[str]) -> None:
        known, _ = self.classic.get(group, ("", 0))
        request = m.JoinGroupRequest(
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=8_000,
            member_id=known,
            protocol_type="consumer",
            protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=encode_subscription(topics))],
        )
        answer = self.harness.request(group, lambda machine, reply: machine.join(request, Caller("c", "/h", 3), reply))
        self.harness.advance(0)
        if answer.done and answer.error is None and not answer.response.error_code:
            self.classic[group] = (answer.response.member_id, answer.response.generation_id)
        elif answer.done:
            self.classic.pop(group, None)

    @rule(group=GROUPS)
    def sync_classic(self, group: str) -> None:
        member, generation = self.classic.get(group, ("", 0))
        request = m.SyncGroupRequest(group_id=group, member_id=member, generation_id=generation)
        self.harness.request(group, lambda machine, reply: machine.sync(request, reply))

    @rule(group=GROUPS, offset=st.integers(0, 99), producer=st.sampled_from([-1, 7, 8]))
    def commit(self, group: str, offset: int, producer: int) -> None:
        kind = m.OffsetCommitRequest if producer < 0 else m.TxnOffsetCommitRequest
        prefix = "OffsetCommit" if producer < 0 else "TxnOffsetCommit"
        entry = getattr(kind, f"{prefix}RequestPartition")(
            partition_index=offset % 3, committed_offset=offset, committed_metadata="x"
        )
        request = kind(group_id=group, topics=[getattr(kind, f"{prefix}RequestTopic")(name="a", partitions=[entry])])
        if isinstance(request, m.TxnOffsetCommitRequest):
            request.producer_id, request.producer_epoch = producer, 0
            self.harness.write(group, lambda machine: machine.commit_in_transaction(request))
        else:
            self.harness.write(group, lambda machine: machine.commit(request, 9))

    @rule(producer=st.sampled_from([7, 8]), committed=st.booleans())
    def marker(self, producer: int, committed: bool) -> None:
        batch = end_txn_marker(producer, 0, committed=committed, coordinator_epoch=0, timestamp=0)
        self.harness.runtime.active(0).append_marker(batch, (producer, 0), committed=committed, done=Answer())
        self.harness.scheduler.run()

    @rule(partitions=st.integers(1, 6))
    def resize(self, partitions: int) -> None:
        self.harness.set_topics({"a": partitions, "b": 2})

    @rule(group=GROUPS)
    def delete(self, group: str) -> None:
        self.harness.write(group, lambda machine: machine.delete_group(group))

    @rule(ms=st.sampled_from([1, 5_000, 9_000, 46_000]))
    def wait(self, ms: int) -> None:
        self.harness.advance(ms)

    @rule()
    def expire(self) -> None:
        self.harness.write("", lambda machine: machine.expire_offsets())

    @rule()
    def reload(self) -> None:
        self.harness.reload()

    @invariant()
    def replay_gives_the_same(self) -> None:
        if not hasattr(self, "harness"):
            return
        live, loaded = self.harness.machine().state, self.harness.replayed().state
        assert live.offsets.durable_view() == loaded.offsets.durable_view()
        for group_id, group in live.groups.items():
            if isinstance(group, ConsumerGroup) or group.is_in(ClassicState.STABLE):
                assert loaded.groups[group_id].durable_view() == group.durable_view()
        for group_id, group in loaded.groups.items():
            assert group_id in live.groups
            assert group.type == live.groups[group_id].type

    @invariant()
    def nobody_shares_a_partition(self) -> None:
        for group in self.harness.machine().state.groups.values() if hasattr(self, "harness") else ():
            if isinstance(group, ConsumerGroup):
                held = [
                    (topic, number)
                    for member in group.members.values()
                    for assignment in (member.assigned, member.revoking)
                    for topic, numbers in assignment.items()
                    for number in numbers
                ]
                assert len(held) == len(set(held)) == len(group.owners)
                assert {topic for topic, _ in held} <= {topic_id("a"), topic_id("b")}
            else:
                assert isinstance(group, ClassicGroup)


class Transactions(RuleBasedStateMachine):
    """Two transactional ids, right and wrong producers, both protocol versions, crashes anywhere."""

    @initialize()
    def start(self) -> None:
        self.harness = TransactionHarness()
        self.identities: dict[str, ProducerIdentity] = {}

    def _identity(self, name: str, stale: bool) -> ProducerIdentity:
        known = self.identities.get(name, ProducerIdentity(1001, 0))
        return ProducerIdentity(known.producer_id, known.epoch - 1) if stale else known

    @rule(name=st.sampled_from(["t", "u"]), own=st.booleans())
    def init(self, name: str, own: bool) -> None:
        expected = self.identities.get(name) if own else None
        spare = self.harness.producer_id()
        answer = self.harness.write(name, lambda machine: machine.init(name, 60_000, expected=expected, spare_id=spare))
        if answer.error is None:
            self.identities[name] = answer.response

    @rule(
        name=st.sampled_from(["t", "u"]),
        partition=st.integers(0, 2),
        version=st.sampled_from([0, 2]),
        stale=st.booleans(),
    )
    def add(self, name: str, partition: int, version: int, stale: bool) -> None:
        identity = self._identity(name, stale)
        tps = [TopicPartition("a", partition)]
        self.harness.write(name, lambda machine: machine.add_partitions(name, identity, tps, version))

    @rule(name=st.sampled_from(["t", "u"]), commit=st.booleans(), version=st.sampled_from([0, 2]), stale=st.booleans())
    def end(self, name: str, commit: bool, version: int, stale: bool) -> None:
        identity = self._identity(name, stale)
        spare = self.harness.producer_id()
        answer = self.harness.write(
            name, lambda machine: machine.end(name, identity, committed=commit, version=version, spare_id=spare)
        )
        if answer.error is None and answer.response.producer_id != -1:
            self.identities[name] = answer.response

    @rule()
    def markers_written(self) -> None:
        self.harness.finish()

    @rule()
    def time_out(self) -> None:
        self.harness.advance(61_000)
        for transaction in self.harness.machine().timed_out():
            self.harness.write(
                transaction.transactional_id,
                lambda machine, transaction=transaction: machine.abort(transaction, self.harness.producer_id()),
            )

    @rule()
    def reload(self) -> None:
        self.harness.markers.clear()
        self.harness.reload()

    @invariant()
    def replay_gives_the_same(self) -> None:
        if hasattr(self, "harness"):
            assert self.harness.machine().durable_view() == self.harness.replayed().durable_view()

    @invariant()
    def whoever_ends_has_markers_to_write(self) -> None:
        if hasattr(self, "harness"):
            ending = {t.transactional_id for t in self.harness.machine().transactions.values() if t.is_ending}
            assert ending <= {job.transactional_id for job in self.harness.markers}


TestConsumerGroups = ConsumerGroups.TestCase
TestConsumerGroups.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
