"""Runs scenario scripts against the coordinators (see README.md beside this file)."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from support.coordinator import Answer, GroupHarness, Harness, TransactionHarness, topic_id
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.result import Caller
from tidelog.broker.coordinator.transaction.machine import ProducerIdentity
from tidelog.common.errors import ErrorCode, error_name
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages as m
from tidelog.protocol.consumer_protocol import encode_assignment
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.control import end_txn_marker, parse_end_txn_marker

#: Kafka's two ways to write the uuid in a member id.
_UUID = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|(?<![\w-])(?=[\w-]*[0-9])(?=[\w-]*[a-z])(?=[\w-]*[A-Z])[\w-]{22}(?![\w-])"
)


class Scenario:
    """One script's world: group coordinator and transaction coordinator side by side."""

    def __init__(self) -> None:
        self._topics: dict[str, int] = {}
        self.groups = GroupHarness()
        self.transactions = TransactionHarness()
        self._uuids: list[str] = []
        self._waiting: list[tuple[str, Callable[[Answer], str], Answer]] = []
        self._seen = {self.groups: 0, self.transactions: 0}
        self._commands: dict[str, Callable[[list[str], dict[str, str]], Any]] = {
            name[4:]: getattr(self, name) for name in dir(self) if name.startswith("_do_")
        }

    def run(self, line: str) -> list[str]:
        words = line.split()
        positional = [word for word in words[1:] if "=" not in word or "/" in word.split("=")[0]]
        options = dict(word.split("=", 1) for word in words[1:] if "=" in word and "/" not in word.split("=")[0])
        output = self._commands[words[0]](positional, {key: self._real(value) for key, value in options.items()})
        lines = [output] if isinstance(output, str) else list(output or [])
        lines += self._answers() + self._log()
        return [self._shown(text) for text in lines]

    # -- ids: uuids are shown by their number ----------------------------------------------------------------------

    def _shown(self, text: str) -> str:
        def number(match: re.Match[str]) -> str:
            if match.group() not in self._uuids:
                self._uuids.append(match.group())
            return f"#{self._uuids.index(match.group()) + 1}"

        return _UUID.sub(number, text)

    def _real(self, text: str) -> str:
        return re.sub(r"#(\d+)", lambda match: self._uuids[int(match.group(1)) - 1], text)

    # -- output ----------------------------------------------------------------------------------------------------

    def _expect(self, name: str, answer: Answer, show: Callable[[Any], str]) -> None:
        def text(done: Answer) -> str:
            if done.error is not None:
                return done.error.code.name
            code = getattr(done.response, "error_code", 0)
            return error_name(code) + _extra(done.response) if code else show(done.response)

        self._waiting.append((name, text, answer))

    def _answers(self) -> list[str]:
        done = [entry for entry in self._waiting if entry[2].done]
        self._waiting = [entry for entry in self._waiting if not entry[2].done]
        return [f"{name}: {text(answer)}" for name, text, answer in done]

    def _log(self) -> list[str]:
        lines = []
        for harness in (self.groups, self.transactions):
            batches = [batch for tp in sorted(harness.log.batches) for batch in harness.log.batches[tp]]
            for data in batches[self._seen[harness] :]:
                lines += _show_batch(harness, data)
            self._seen[harness] = len(batches)
        return lines

    # -- commands: the world ---------------------------------------------------------------------------------------

    def _do_topics(self, words: list[str], options: dict[str, str]) -> None:
        self.groups.set_topics({name: int(count) for name, count in options.items()})

    def _do_config(self, words: list[str], options: dict[str, str]) -> None:
        def parse(config: Any) -> Any:
            known = {field.name: type(getattr(config, field.name)) for field in dataclasses.fields(config)}
            return dataclasses.replace(
                config, **{name: known[name](value) for name, value in options.items() if name in known}
            )

        self.groups.config = parse(self.groups.config)
        self.transactions.config = parse(self.transactions.config)
        self._do_reload(words, options)

    def _do_advance(self, words: list[str], options: dict[str, str]) -> None:
        for harness in (self.groups, self.transactions):
            harness.advance(int(words[0]))

    def _do_reload(self, words: list[str], options: dict[str, str]) -> None:
        for harness in (self.groups, self.transactions):
            harness.reload()

    def _do_hold(self, words: list[str], options: dict[str, str]) -> None:
        for harness in (self.groups, self.transactions):
            harness.log.hold = True

    def _do_release(self, words: list[str], options: dict[str, str]) -> None:
        for harness in (self.groups, self.transactions):
            harness.log.release()
            harness.scheduler.run()

    def _do_fail(self, words: list[str], options: dict[str, str]) -> None:
        for harness in (self.groups, self.transactions):
            harness.log.fail_next = ErrorCode[words[0]]

    # -- commands: the classic protocol ----------------------------------------------------------------------------

    def _do_join(self, words: list[str], options: dict[str, str]) -> None:
        metadata = encode_subscription(options.get("topics", "a").split(","), int(options.get("subscription", "1")))
        request = m.JoinGroupRequest(
            group_id=options["group"],
            session_timeout_ms=int(options.get("session", "10000")),
            rebalance_timeout_ms=int(options.get("rebalance", "60000")),
            member_id=options.get("member", ""),
            group_instance_id=options.get("instance"),
            protocol_type=options.get("type", "consumer"),
            protocols=[
                m.JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=metadata)
                for name in options.get("protocols", "range").split(",")
            ],
        )
        caller = Caller(words[0], "/127.0.0.1", int(options.get("v", "5")))
        answer = self.groups.request(request.group_id, lambda machine, reply: machine.join(request, caller, reply))
        self._expect(words[0], answer, _show_join)

    def _do_sync(self, words: list[str], options: dict[str, str]) -> None:
        assignments = []
        for part in filter(None, options.get("assign", "").split(";")):
            member, _, partitions = part.partition(":")
            assignments.append(
                m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=member, assignment=_assignment(partitions))
            )
        request = m.SyncGroupRequest(
            group_id=options["group"],
            member_id=options["member"],
            generation_id=int(options["gen"]),
            group_instance_id=options.get("instance"),
            assignments=assignments,
        )
        answer = self.groups.request(request.group_id, lambda machine, reply: machine.sync(request, reply))
        self._expect(words[0], answer, lambda response: f"synced {_show_assignment(response.assignment)}")

    def _do_heartbeat(self, words: list[str], options: dict[str, str]) -> None:
        request = m.HeartbeatRequest(
            group_id=options["group"],
            member_id=options["member"],
            generation_id=int(options["gen"]),
            group_instance_id=options.get("instance"),
        )
        answer = self.groups.write(request.group_id, lambda machine: machine.heartbeat(request))
        self._expect(words[0], answer, lambda response: "alive")

    def _do_leave(self, words: list[str], options: dict[str, str]) -> None:
        members = options.get("members", "").split(",")
        instances = options.get("instances", "").split(",") if "instances" in options else [None] * len(members)
        request = m.LeaveGroupRequest(
            group_id=options["group"],
            members=[
                m.LeaveGroupRequest.MemberIdentity(member_id=member, group_instance_id=instance)
                for member, instance in zip(members, instances, strict=False)
            ],
        )
        answer = self.groups.write(request.group_id, lambda machine: machine.leave(request))
        self._expect(
            words[0],
            answer,
            lambda response: "left " + " ".join(ErrorCode(entry.error_code).name for entry in response.members),
        )

    # -- commands: the consumer protocol ---------------------------------------------------------------------------

    def _do_chb(self, words: list[str], options: dict[str, str]) -> None:
        epoch = int(options["epoch"])
        owned = options.get("owned", "" if epoch == 0 else None)
        request = m.ConsumerGroupHeartbeatRequest(
            group_id=options["group"],
            member_id=options["member"],
            member_epoch=epoch,
            instance_id=options.get("instance"),
            rebalance_timeout_ms=int(options.get("timeout", "60000" if epoch == 0 else "-1")),
            subscribed_topic_names=options["topics"].split(",") if options.get("topics") else None,
            subscribed_topic_regex=options.get("regex"),
            server_assignor=options.get("assignor"),
            topic_partitions=None
            if owned is None
            else [
                m.ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic_id(topic), partitions=numbers)
                for topic, numbers in _partitions(owned).items()
            ],
        )
        caller = Caller(words[0], "/127.0.0.1", 1)
        answer = self.groups.write(request.group_id, lambda machine: machine.consumer_heartbeat(request, caller))

        def show(response: Any) -> str:
            text = f"epoch {response.member_epoch}"
            if response.assignment is not None:
                text += f" assignment {_show_ids(response.assignment.topic_partitions)}"
            return text

        self._expect(words[0], answer, show)

    # -- commands: offsets -----------------------------------------------------------------------------------------

    def _do_commit(self, words: list[str], options: dict[str, str]) -> None:
        request = m.OffsetCommitRequest(
            group_id=options["group"],
            generation_id_or_member_epoch=int(options.get("gen", "-1")),
            member_id=options.get("member", ""),
            group_instance_id=options.get("instance"),
            topics=[
                m.OffsetCommitRequest.OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        m.OffsetCommitRequest.OffsetCommitRequestPartition(
                            partition_index=number, committed_offset=offset, committed_metadata=""
                        )
                    ],
                )
                for topic, number, offset in map(_offset, words)
            ],
        )
        answer = self.groups.write(request.group_id, lambda machine: machine.commit(request, 9))
        self._expect("commit", answer, lambda response: "ok")

    def _do_txncommit(self, words: list[str], options: dict[str, str]) -> None:
        request = m.TxnOffsetCommitRequest(
            group_id=options["group"],
            producer_id=int(options["pid"]),
            producer_epoch=int(options["epoch"]),
            generation_id=int(options.get("gen", "-1")),
            member_id=options.get("member", ""),
            topics=[
                m.TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        m.TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                            partition_index=number, committed_offset=offset, committed_metadata=""
                        )
                    ],
                )
                for topic, number, offset in map(_offset, words)
            ],
        )
        answer = self.groups.write(request.group_id, lambda machine: machine.commit_in_transaction(request))
        self._expect("txncommit", answer, lambda response: "ok")

    def _do_marker(self, words: list[str], options: dict[str, str]) -> None:
        producer = (int(options["pid"]), int(options["epoch"]))
        committed = words[0] == "commit"
        batch = end_txn_marker(
            *producer, committed=committed, coordinator_epoch=0, timestamp=self.groups.clock.time_ms()
        )
        answer = Answer()
        self.groups.runtime.active(0).append_marker(batch, producer, committed=committed, done=answer)
        self.groups.scheduler.run()
        self._expect("marker", answer, lambda response: "ok")

    def _do_fetch(self, words: list[str], options: dict[str, str]) -> str:
        wanted = [word.partition("/") for word in words if "/" in word]
        group = m.OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id=options["group"],
            topics=[
                m.OffsetFetchRequest.OffsetFetchRequestTopics(name=topic, partition_indexes=[int(number)])
                for topic, _, number in wanted
            ]
            or None,
        )
        response = self.groups.machine().fetch(group, "stable" in words)
        return "fetch: " + " ".join(
            f"{topic.name}/{entry.partition_index}="
            + (ErrorCode(entry.error_code).name if entry.error_code else str(entry.committed_offset))
            for topic in response.topics
            for entry in topic.partitions
        )

    # -- commands: administration ----------------------------------------------------------------------------------

    def _do_list(self, words: list[str], options: dict[str, str]) -> list[str]:
        return [
            f"{group.group_id} {group.group_type} {group.group_state} type={group.protocol_type!r}"
            for group in self.groups.machine().list((), ())
        ]

    def _do_delete(self, words: list[str], options: dict[str, str]) -> None:
        answer = self.groups.write(options["group"], lambda machine: machine.delete_group(options["group"]))
        self._expect("delete", answer, lambda response: "ok")

    def _do_expire(self, words: list[str], options: dict[str, str]) -> None:
        self.groups.write("", lambda machine: machine.expire_offsets())
        self.transactions.write("", lambda machine: machine.expire_ids())

    def _do_describe(self, words: list[str], options: dict[str, str]) -> list[str]:
        machine = self.groups.machine()
        group = machine.state.groups.get(options["group"])
        if isinstance(group, ConsumerGroup):
            lines = [f"{group.state.value} epoch={group.epoch} target={group.target_epoch}"]
            for member in group.members.values():
                kind = "classic" if member.uses_classic else "consumer"
                lines.append(
                    f"  {member.member_id} {kind} epoch={member.epoch} {member.state.name}"
                    f" assigned={_show_map(member.assigned)} target={_show_map(group.target_of(member.member_id))}"
                )
            return lines
        described = machine.describe(options["group"], 5)
        return [
            f"{described.group_state} protocol={described.protocol_data!r}",
            *(f"  {member.member_id} {_show_assignment(member.member_assignment)}" for member in described.members),
        ]

    # -- commands: transactions ------------------------------------------------------------------------------------

    def _producer(self, options: dict[str, str]) -> ProducerIdentity:
        return ProducerIdentity(int(options["pid"]), int(options["epoch"]))

    def _do_init(self, words: list[str], options: dict[str, str]) -> None:
        expected = self._producer(options) if "pid" in options else None
        name, timeout = words[0], int(options.get("timeout", "60000"))

        def init(machine: Any) -> Any:
            spare = self.transactions.producer_id() if machine.needs_producer_id(name) else None
            return machine.init(name, timeout, expected=expected, spare_id=spare)

        self._expect(name, self.transactions.write(name, init), _show_identity)

    def _do_add(self, words: list[str], options: dict[str, str]) -> None:
        partitions = [TopicPartition(word.split("/")[0], int(word.split("/")[1])) for word in words[1:]]
        version = int(options.get("v", "1"))
        producer = self._producer(options)
        answer = self.transactions.write(
            words[0], lambda machine: machine.add_partitions(words[0], producer, partitions, version)
        )
        self._expect(words[0], answer, lambda response: "added")

    def _do_end(self, words: list[str], options: dict[str, str]) -> None:
        producer = self._producer(options)
        name, committed, version = words[0], words[1] == "commit", int(options.get("v", "1"))

        def end(machine: Any) -> Any:
            spare = self.transactions.producer_id() if machine.needs_producer_id(name) else None
            return machine.end(name, producer, committed=committed, version=version, spare_id=spare)

        self._expect(name, self.transactions.write(name, end), lambda response: f"ended {_show_identity(response)}")

    def _do_markers(self, words: list[str], options: dict[str, str]) -> list[str]:
        return [
            f"marker: {job.transactional_id} {'commit' if job.committed else 'abort'} pid={job.producer_id}"
            f" epoch={job.epoch} {' '.join(f'{tp.topic}/{tp.partition}' for tp in sorted(job.partitions))}".rstrip()
            for job in self.transactions.markers
        ]

    def _do_written(self, words: list[str], options: dict[str, str]) -> None:
        self.transactions.finish()

    def _do_sweep(self, words: list[str], options: dict[str, str]) -> None:
        for transaction in self.transactions.machine().timed_out():
            spare = self.transactions.producer_id() if transaction.epoch_exhausted else None
            self.transactions.write(
                transaction.transactional_id,
                lambda machine, transaction=transaction, spare=spare: machine.abort(transaction, spare),
            )


# -- how things are shown ------------------------------------------------------------------------------------------


def encode_subscription(topics: list[str], version: int = 1) -> bytes:
    subscription = m.ConsumerProtocolSubscription(topics=topics)
    return version.to_bytes(2, "big") + subscription.encode(version)


def _partitions(text: str) -> dict[str, list[int]]:
    """`a/0,1+b/2` -> by topic."""
    result = {}
    for part in filter(None, text.split("+")):
        topic, _, numbers = part.partition("/")
        result[topic] = [int(number) for number in numbers.split(",")]
    return result


def _offset(word: str) -> tuple[str, int, int]:
    partition, _, offset = word.partition("=")
    topic, _, number = partition.partition("/")
    return topic, int(number), int(offset)


def _assignment(text: str) -> bytes:
    partitions = [
        m.ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=numbers)
        for topic, numbers in _partitions(text).items()
    ]
    return encode_assignment(m.ConsumerProtocolAssignment(assigned_partitions=partitions), 1)


def _show_assignment(data: bytes) -> str:
    if not data:
        return "nothing"
    decoded = m.ConsumerProtocolAssignment.decode(bytes(data), int.from_bytes(data[:2], "big"), 2)
    return "+".join(f"{t.topic}/{','.join(map(str, t.partitions))}" for t in decoded.assigned_partitions) or "nothing"


def _show_map(assignment: Any) -> str:
    parts = [
        f"{key.rstrip(bytes(1)).decode()}/{','.join(map(str, sorted(numbers)))}"
        for key, numbers in sorted(assignment.items())
    ]
    return "+".join(parts) or "nothing"


def _show_ids(topics: Any) -> str:
    return _show_map({bytes(topic.topic_id): topic.partitions for topic in topics})


def _show_join(response: Any) -> str:
    text = f"joined as {response.member_id} generation={response.generation_id} leader={response.leader or '-'}"
    text += f" protocol={response.protocol_name}"
    if response.skip_assignment:
        text += " skip"
    if response.members:
        text += " members=" + ",".join(member.member_id for member in response.members)
    return text


def _show_identity(identity: Any) -> str:
    return f"pid={identity.producer_id} epoch={identity.epoch}"


def _extra(response: Any) -> str:
    return f" member={response.member_id}" if getattr(response, "member_id", "") else ""


def _show_batch(harness: Harness, data: bytes) -> list[str]:
    lines = []
    for batch in iter_batches(data):
        marker = parse_end_txn_marker(batch)
        if marker is not None:
            lines.append(f"log: {'commit' if marker.committed else 'abort'} marker of pid={batch.producer_id}")
            continue
        prefix = f"log (pid={batch.producer_id}): " if batch.is_transactional else "log: "
        for record in batch:
            lines.append(prefix + _decode(harness, record))
    return lines


def _decode(harness: Harness, record: Any) -> str:
    codec = next(iter(harness.runtime.shards.values())).codec
    key, value = codec.decode(record.key, record.value)
    kind = type(key).__name__.removesuffix("Key")
    names = [field.name for field in key._schema_.fields]
    text = kind + " " + "/".join(str(getattr(key, name)) for name in names)
    return text + (" deleted" if value is None else _value(kind, value))


def _value(kind: str, value: Any) -> str:
    if kind == "OffsetCommit":
        return f" = {value.offset}"
    if kind == "GroupMetadata":
        return (
            f" generation={value.generation} protocol={value.protocol} leader={value.leader}"
            f" members={','.join(member.member_id for member in value.members) or '-'}"
        )
    if kind == "ConsumerGroupMetadata":
        return f" epoch={value.epoch}"
    if kind == "ConsumerGroupMemberMetadata":
        text = f" topics={','.join(value.subscribed_topic_names) or '-'}"
        text += f" regex={value.subscribed_topic_regex}" if value.subscribed_topic_regex else ""
        return text + (" classic" if value.classic_member_metadata else "")
    if kind == "ConsumerGroupTargetAssignmentMetadata":
        return f" epoch={value.assignment_epoch}"
    if kind == "ConsumerGroupTargetAssignmentMember":
        return f" {_show_ids(value.topic_partitions)}"
    if kind == "ConsumerGroupCurrentMemberAssignment":
        text = f" epoch={value.member_epoch} state={value.state} {_show_ids(value.assigned_partitions)}"
        pending = _show_ids(value.partitions_pending_revocation)
        return text + (f" revoking {pending}" if pending != "nothing" else "")
    if kind == "ConsumerGroupRegularExpression":
        return f" topics={','.join(value.topics) or '-'}"
    parts = " ".join(
        f"{topic.topic}/{','.join(map(str, topic.partition_ids))}" for topic in value.transaction_partitions or ()
    )
    states = ["Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"]
    return f" {states[value.transaction_status]} pid={value.producer_id} epoch={value.producer_epoch} {parts}".rstrip()


# -- files ---------------------------------------------------------------------------------------------------------

SEPARATOR = "----"


def play(path: Path) -> str:
    """The file's text with what really happens under each command."""
    world = Scenario()
    output: list[str] = []
    for block in path.read_text().split("\n\n"):
        lines = block.strip("\n").split("\n")
        commands = []
        for line in lines:
            if line == SEPARATOR:
                break
            commands.append(line)
        output += commands
        results: list[str] = []
        for command in commands:
            if command and not command.startswith("#"):
                results += world.run(command)
        if any(command and not command.startswith("#") for command in commands):
            output += [SEPARATOR, *results]
        output.append("")
    return "\n".join(output).rstrip("\n") + "\n"
