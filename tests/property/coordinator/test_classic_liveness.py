"""Classic groups, whatever happens: every request is answered, once; a stable group has one leader and one protocol."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from scenarios.coordinator.driver import encode_subscription
from support.coordinator import Answer, GroupHarness
from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.classic.states import ClassicState
from tidelog.broker.coordinator.result import Caller
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m

CLIENTS = st.integers(0, 3)
#: What a batch may hold here; a subscription or an assignment of this size makes a group's record too large.
SMALL = 3000
RARELY = st.integers(0, 9).map(lambda number: number == 9)


class ClassicGroups(RuleBasedStateMachine):
    """Four clients, two of them static, on one group; they remember what they were told last."""

    @initialize(delay=st.sampled_from([0, 3000]), limit=st.sampled_from([2, 100]))
    def start(self, delay: int, limit: int) -> None:
        self.harness = GroupHarness(GroupConfig(initial_rebalance_delay_ms=delay, max_size=limit), {"a": 4})
        self.harness.log.limit = SMALL
        self.members = [""] * 4
        self.generations = [0] * 4
        self.leads: list[list[str]] = [[] for _ in range(4)]
        self.waiting: list[tuple[int, Answer]] = []
        self.answers: list[Answer] = []

    def _instance(self, client: int) -> str | None:
        return f"instance-{client}" if client < 2 else None

    def _listen(self) -> None:
        """Clients read the answers that have come."""
        for client, answer in self.waiting:
            response = answer.response if answer.done else None
            if not isinstance(response, m.JoinGroupResponse):
                continue
            if response.error_code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
                self.members[client] = response.member_id
                self.generations[client] = response.generation_id
                self.leads[client] = [member.member_id for member in response.members]
            elif response.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.members[client] = ""
        self.waiting = [entry for entry in self.waiting if not entry[1].done]

    def _send(self, client: int, handler: Any) -> None:
        answer = self.harness.request("g", handler)
        self.waiting.append((client, answer))
        self.answers.append(answer)
        if answer.done and answer.error is not None and answer.error.code is ErrorCode.UNKNOWN_MEMBER_ID:
            self.members[client] = ""
        self._listen()

    @rule(
        client=CLIENTS,
        fresh=st.booleans(),
        version=st.sampled_from([3, 5, 9]),
        protocols=st.sampled_from(["r", "rs"]),
        large=RARELY,
    )
    def join(self, client: int, fresh: bool, version: int, protocols: str, large: bool) -> None:
        metadata = encode_subscription(["a" * SMALL if large else "a"])
        request = m.JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=20_000,
            member_id="" if fresh else self.members[client],
            group_instance_id=self._instance(client),
            protocol_type="consumer",
            protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=metadata) for name in protocols],
        )
        caller = Caller(f"c{client}", "/h", version)
        self._send(client, lambda machine, reply: machine.join(request, caller, reply))

    @rule(client=CLIENTS, large=RARELY)
    def sync(self, client: int, large: bool) -> None:
        request = m.SyncGroupRequest(
            group_id="g",
            member_id=self.members[client],
            generation_id=self.generations[client],
            group_instance_id=self._instance(client),
            assignments=[
                m.SyncGroupRequest.SyncGroupRequestAssignment(
                    member_id=member, assignment=b"x" * (SMALL if large else 1)
                )
                for member in self.leads[client]
            ],
        )
        self._send(client, lambda machine, reply: machine.sync(request, reply))

    @rule(client=CLIENTS)
    def heartbeat(self, client: int) -> None:
        request = m.HeartbeatRequest(
            group_id="g",
            member_id=self.members[client],
            generation_id=self.generations[client],
            group_instance_id=self._instance(client),
        )
        self._send(client, lambda machine, reply: machine.heartbeat(request))

    @rule(client=CLIENTS)
    def leave(self, client: int) -> None:
        identity = m.LeaveGroupRequest.MemberIdentity(
            member_id=self.members[client], group_instance_id=self._instance(client)
        )
        self._send(client, lambda machine, reply: machine.leave(m.LeaveGroupRequest(group_id="g", members=[identity])))

    @rule(ms=st.sampled_from([0, 1, 2_999, 5_000, 10_000, 20_000]))
    def wait(self, ms: int) -> None:
        self.harness.advance(ms)
        self._listen()

    @rule()
    def hold(self) -> None:
        self.harness.log.hold = True

    @rule()
    def release(self) -> None:
        self.harness.log.release()
        self.harness.scheduler.run()
        self._listen()

    @rule()
    def lose_an_append(self) -> None:
        self.harness.log.fail_next = ErrorCode.NOT_ENOUGH_REPLICAS

    @rule()
    def break_an_append(self) -> None:
        self.harness.log.break_next = RuntimeError("the writer's own trouble")

    @rule()
    def move(self) -> None:
        self.harness.reload()
        self._listen()

    @invariant()
    def a_group_is_sound(self) -> None:
        shard = self.harness.runtime.shards[0] if hasattr(self, "harness") else None
        group = shard.machine.state.groups.get("g") if shard is not None else None
        if group is None:
            return
        waiting = [member for member in group.members.values() if member.awaiting_join is not None]
        assert group.awaiting_join == len(waiting)
        assert set(group.static.values()) <= set(group.members)
        assert group.leader is None or group.leader in group.members
        if group.is_in(ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
            assert group.leader in group.members
            assert all(
                any(p.name == group.protocol_name for p in member.protocols) for member in group.members.values()
            )
        if group.is_in(ClassicState.EMPTY):
            assert not group.members

    def teardown(self) -> None:
        """Nobody waits for ever: once the log works and time passes, every request has its answer."""
        if not hasattr(self, "harness"):
            return
        self.harness.log.fail_next = self.harness.log.break_next = None
        self.harness.log.release()
        self.harness.advance(600_000)
        assert all(answer.done for answer in self.answers)


TestClassicGroups = ClassicGroups.TestCase
TestClassicGroups.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
