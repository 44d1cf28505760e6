"""Seeded faults in the groups' coordinator."""

from __future__ import annotations

from mutant import Mutant

GROUPS = [
    Mutant(
        "large-record-drops-the-shard",
        "broker/coordinator/shard.py",
        "if result.undo is None:  # memory is ahead of the log",
        "if True:",
        "unit/broker/coordinator/group/test_emitter.py",
    ),
    Mutant(
        "large-record-half-undone",
        "broker/coordinator/group/emitter.py",
        "            self._restore()\n",
        "            pass\n",
        "unit/broker/coordinator/group/test_emitter.py",
    ),
    Mutant(
        "returning-static-member-unanswered",
        "broker/coordinator/group/classic/join.py",
        "response, replay=False, undo=refused)",
        "replay=False, undo=refused, on_commit=lambda: reply(response))",
        "unit/broker/coordinator/group/test_emitter.py",
    ),
    Mutant(
        "group-configs-by-escaped-names",
        "broker/dynamic_configs.py",
        "(paths.unsanitize(part), values)",
        "(part, values)",
        "unit/broker/coordinator/group/test_overrides.py",
    ),
    Mutant(
        "regexes-not-resolved-after-a-leave",
        "broker/coordinator/group/consumer/update.py",
        "overdue or group.resolved_version != self._view.version",
        "overdue or group.checked_version != self._view.version",
        "unit/broker/coordinator/group/consumer/test_regex.py",
    ),
    Mutant(
        "broken-writer-unheard-of",
        "broker/coordinator/shard.py",
        "            done(ErrorCode.UNKNOWN_SERVER_ERROR)\n",
        "            pass\n",
        "unit/broker/coordinator/group/test_emitter.py",
    ),
    Mutant(
        "a-broken-handler-leaves-its-records",
        "broker/coordinator/group/emitter.py",
        "            self._undo(error)\n",
        "",
        "unit/broker/coordinator/group/test_emitter.py",
    ),
    Mutant(
        "consumer-groups-go-any-way",
        "broker/coordinator/group/emitter.py",
        "self._stage = CONSUMER_GROUP.check(self._stage, now)",
        "self._stage = now",
        "unit/broker/coordinator/group/consumer/test_states.py",
    ),
    Mutant(
        "a-refused-join-leaves-a-group",
        "broker/coordinator/group/bridge/migration.py",
        "        return self._state.consumer.unborn(group_id)\n",
        "        return self._state.groups.setdefault(group_id, self._state.consumer.unborn(group_id))\n",
        "unit/broker/coordinator/group/consumer/test_states.py",
    ),
    Mutant(
        "a-downgrade-forgets-assignors",
        "broker/coordinator/group/bridge/migration.py",
        "            classic.update(classic.members[member.member_id], member.classic.protocols)\n",
        "",
        "unit/broker/coordinator/group/bridge/test_migration.py",
    ),
    Mutant(
        "what-cannot-be-encoded-stays-in-memory",
        "broker/coordinator/shard.py",
        "except ProtocolError as error:",
        "except ZeroDivisionError as error:",
        "unit/broker/coordinator/group/test_emitter.py",
    ),
    Mutant(
        "regexes-resolved-at-every-heartbeat",
        "broker/coordinator/group/consumer/update.py",
        "group.resolved_version, group.resolved_ms = self._view.version, now",
        "group.resolved_version = self._view.version",
        "unit/broker/coordinator/group/consumer/test_regex.py",
    ),
    Mutant(
        "names-of-dots-as-they-are",
        "broker/store/paths.py",
        'if entity in (".", ".."):',
        "if False:",
        "unit/broker/coordinator/group/test_overrides.py unit/broker/store/test_znodes.py",
    ),
]
