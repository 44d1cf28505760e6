"""Topics as administrators see them, and what their requests make of them: a model for several clients at once.

Changes follow one another in an order that nobody knows: `possible` gives every state that some order leads to, of
those in which the answers are the ones that came.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any

from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m

NAMES = ("a", "b")
KEYS = ("retention.ms", "segment.ms", "flush.ms")
CLIENTS = 4
MISSING, EXISTS = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), int(ErrorCode.TOPIC_ALREADY_EXISTS)
FEWER = int(ErrorCode.INVALID_PARTITIONS)

Topics = dict[str, tuple[int, dict[str, str]]]
"""Name → (partitions, configs)."""


def request_of(action: tuple[str, str, Any]) -> Any:
    kind, name, detail = action
    if kind == "create":
        topic = m.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=detail, replication_factor=1)
        return m.CreateTopicsRequest(topics=[topic], timeout_ms=60_000)
    if kind == "delete":
        return m.DeleteTopicsRequest(topics=[m.DeleteTopicsRequest.DeleteTopicState(name=name)], timeout_ms=60_000)
    if kind == "grow":
        grown = m.CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=detail, assignments=None)
        return m.CreatePartitionsRequest(topics=[grown], timeout_ms=60_000)
    request = m.IncrementalAlterConfigsRequest
    value = "70000" if kind == "set" else None
    config = request.AlterableConfig(name=detail, config_operation=0 if kind == "set" else 1, value=value)
    return request(resources=[request.AlterConfigsResource(resource_type=2, resource_name=name, configs=[config])])


def code_of(kind: str, answer: Any) -> int:
    fields = {"create": "topics", "grow": "results"}
    return int(getattr(answer, fields.get(kind, "responses"))[0].error_code)


def carried_out(topics: Topics, action: tuple[str, str, Any]) -> tuple[Topics, int]:
    """What an action makes of the topics, and its answer."""
    kind, name, detail = action
    present = topics.get(name)
    if kind == "create":
        return (topics, EXISTS) if present else ({**topics, name: (detail, {})}, 0)
    if present is None:
        return topics, MISSING
    count, configs = present
    if kind == "delete":
        return {other: value for other, value in topics.items() if other != name}, 0
    if kind == "grow":
        return ({**topics, name: (detail, configs)}, 0) if detail > count else (topics, FEWER)
    kept = {key: value for key, value in configs.items() if key != detail}
    return {**topics, name: (count, {**kept, detail: "70000"} if kind == "set" else kept)}, 0


def possible(topics: Topics, actions: list[Any], codes: list[int]) -> list[Topics]:
    """What can be after these actions with these answers, in whichever order they came."""
    found: list[Topics] = []
    for order in permutations(range(len(actions))):
        after = topics
        for number in order:
            after, code = carried_out(after, actions[number])
            if code != codes[number]:
                break
        else:
            if after not in found:
                found.append(after)
    return found
