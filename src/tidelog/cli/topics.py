"""`tidelog topics`: create, list, describe, delete, on any Kafka-compatible cluster.

All of it is the Admin's, and so works against any cluster. Creating waits until the topic can be written to; describing
asks leaders for offsets, which metadata does not have. Configs are shown only where somebody set them for the topic:
the defaults are the broker's, and `serve` documents them.

Internal topics are left out of lists unless asked for: what brokers keep for themselves, and everything else whose name
begins with two underscores, by which tools (our Spark sink, schema registries, Connect) mark what is theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

from tidelog.cli.connection import client_settings, connection_options, parse_pairs, run
from tidelog.cli.output import Output, counted, json_option
from tidelog.common.errors import ErrorCode, KafkaError, UsageError

if TYPE_CHECKING:
    from tidelog.client.admin.aio import Admin
    from tidelog.client.admin.topic_values import TopicDescription, TopicListing
    from tidelog.client.cluster.client import ClusterClient

#: How the names of internal topics begin.
INTERNAL = "__"


@click.group("topics")
def topics() -> None:
    """Create, list, describe and delete topics; works against Apache Kafka too."""


@topics.command("create")
@click.argument("names", nargs=-1, required=True, metavar="TOPIC...")
@click.option("-p", "--partitions", type=int, default=-1, help="How many.  [default: num.partitions of the broker]")
@click.option("-r", "--replication-factor", type=int, default=-1, help="Copies.  [default: as the broker says]")
@click.option("--config", "configs", multiple=True, metavar="KEY=VALUE", help="A topic config; may be repeated.")
@click.option("--if-not-exists", is_flag=True, help="No error when the topic is there already.")
@connection_options
@json_option
def create(
    names: tuple[str, ...],
    partitions: int,
    replication_factor: int,
    configs: tuple[str, ...],
    if_not_exists: bool,
    server: str | None,
    config_file: str | None,
    as_json: bool,
) -> None:
    """Create topics.

    \b
    Examples:
      tidelog topics create orders -p 6
      tidelog topics create changes -p 3 --config cleanup.policy=compact
    """
    wanted = parse_pairs(configs, "--config")

    async def work(cluster: ClusterClient) -> None:
        output = Output(as_json=as_json)
        admin = _admin(cluster)
        for name in names:
            created = True
            try:
                made = await admin.create_topic(name, partitions, replication_factor=replication_factor, configs=wanted)
                count, topic_id = made.partitions, made.topic_id
            except KafkaError as error:
                if not if_not_exists or error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise KafkaError(error.code, f"{_reason(error)}{_hint(error.code, wanted)}") from error
                there = await admin.describe_topic(name)
                created, count, topic_id = False, len(there.partitions), there.topic_id
            if as_json:
                output.json({"topic": name, "partitions": count, "id": topic_id, "created": created})
            else:
                partitions_there = counted(count, "partition")
                output.line(
                    f"Created {name} with {partitions_there}."
                    if created
                    else f"{name} is there already, with {partitions_there}."
                )

    run(client_settings(server, config_file), work)


@topics.command("list")
@click.option("--internal", is_flag=True, help="Also those of brokers and tools, whose names begin with __.")
@connection_options
@json_option
def list_topics(internal: bool, server: str | None, config_file: str | None, as_json: bool) -> None:
    """List topics.

    \b
    Examples:
      tidelog topics list
      tidelog topics list --json | jq -r .topic
    """

    async def work(cluster: ClusterClient) -> None:
        admin = _admin(cluster)
        shown = await admin.describe_topics(_listed(await admin.list_topics(internal=True), internal))
        if not shown and not as_json:
            Output().remark("No topics yet: `tidelog topics create NAME` makes one.")
            return
        Output(as_json=as_json).rows(
            ["Topic", "Partitions", "Replicas"],
            [(name, len(topic.partitions), _factor(topic)) for name, topic in shown.ok.items()],
        )

    run(client_settings(server, config_file), work)


@topics.command("describe")
@click.argument("names", nargs=-1, metavar="[TOPIC]...")
@connection_options
@json_option
def describe(names: tuple[str, ...], server: str | None, config_file: str | None, as_json: bool) -> None:
    """Show partitions, leaders, offsets and configs.

    All topics are shown when none is named, but for internal ones (those whose names begin with __).

    \b
    Examples:
      tidelog topics describe orders
      tidelog topics describe --json | jq '.topic, .configs'
    """

    async def work(cluster: ClusterClient) -> None:
        admin = _admin(cluster)
        output = Output(as_json=as_json)
        known = await admin.list_topics(internal=True)
        for name in names or _listed(known):
            if name not in known:
                raise UsageError(no_such_topic(name, known))
            await _show(admin, await admin.describe_topic(name), output)

    run(client_settings(server, config_file), work)


@topics.command("delete")
@click.argument("names", nargs=-1, required=True, metavar="TOPIC...")
@click.option("--if-exists", is_flag=True, help="No error when the topic is not there.")
@connection_options
@json_option
def delete(names: tuple[str, ...], if_exists: bool, server: str | None, config_file: str | None, as_json: bool) -> None:
    """Delete topics, with all their records.

    \b
    Examples:
      tidelog topics delete orders
      tidelog topics delete scratch-1 scratch-2 --if-exists
    """

    async def work(cluster: ClusterClient) -> None:
        admin = _admin(cluster)
        output = Output(as_json=as_json)
        for name in names:
            try:
                await admin.delete_topic(name, missing_ok=if_exists)
            except KafkaError as error:
                if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise UsageError(no_such_topic(name, await admin.topics())) from error
                raise KafkaError(error.code, _reason(error)) from error
            if as_json:
                output.json({"topic": name, "deleted": True})
            else:
                output.line(f"Deleted {name}.")

    run(client_settings(server, config_file), work)


def _listed(known: Mapping[str, TopicListing], internal: bool = False) -> list[str]:
    """The names to show, in order."""
    return sorted(
        name for name, listing in known.items() if internal or not (listing.internal or name.startswith(INTERNAL))
    )


def _admin(cluster: ClusterClient) -> Admin:
    """The Admin, over the connections of this command. Imported when a command runs, not for its help."""
    from tidelog.client.admin.aio import Admin

    return Admin.over(cluster)


async def _show(admin: Admin, topic: TopicDescription, output: Output) -> None:
    """One topic: its partitions, and where each begins and ends; its configs, as far as somebody has set them."""
    from tidelog.client.admin.config_values import ConfigResource, ConfigSource
    from tidelog.common.types import TopicPartition

    partitions = {TopicPartition(topic.name, each.partition): each for each in topic.partitions}
    starts, ends = await admin.beginning_offsets(partitions), await admin.end_offsets(partitions)
    entries = await admin.describe_config(ConfigResource.topic(topic.name))
    configs = {key: e.value for key, e in entries.items() if e.source is ConfigSource.DYNAMIC_TOPIC}
    rows = [(each.partition, each.leader, list(each.replicas), starts[tp], ends[tp]) for tp, each in partitions.items()]
    if output.as_json:
        columns = ("partition", "leader", "replicas", "start", "end")
        described = {"topic": topic.name, "id": topic.topic_id, "internal": topic.internal, "configs": configs}
        output.json({**described, "partitions": [dict(zip(columns, row, strict=True)) for row in rows]})
        return
    settings = ", ".join(f"{key}={value}" for key, value in configs.items()) or "defaults"
    plain = [(index, leader, ",".join(map(str, nodes)), first, end) for index, leader, nodes, first, end in rows]
    title = f"{topic.name} (id {topic.topic_id}; {settings})"
    output.rows(["Partition", "Leader", "Replicas", "Start", "End"], plain, title=title)


def _reason(error: KafkaError) -> str:
    """What the broker says is wrong. The Admin's next step is for whoever writes Python: `_hint` has the command's."""
    from tidelog.client.admin.hints import AdminError

    return error.reason if isinstance(error, AdminError) else error.message


def _hint(code: ErrorCode, configs: Mapping[str, str]) -> str:
    """What to do about a refused creation, where that can be said.

    The broker's own text says what is wrong; what it cannot know is which option of this command mends it, and which
    key was probably meant.
    """
    if code is ErrorCode.TOPIC_ALREADY_EXISTS:
        return ". --if-not-exists takes it as it is."
    if code is ErrorCode.INVALID_CONFIG:
        from tidelog.client.admin.config_names import TOPIC_CONFIGS, meant

        if (name := meant(configs, TOPIC_CONFIGS)) is not None:
            return f". Did you mean {name}?"
    return ""


def no_such_topic(name: str, found: Iterable[str]) -> str:
    """What to say of a topic that is not there: the nearest name, or how to list them."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(found), 1)
    hint = f"did you mean {close[0]}?" if close else "`tidelog topics list` shows what there is"
    return f"There is no topic {name}: {hint}"


def _factor(topic: TopicDescription) -> int:
    """Replicas per partition; the largest, while a reassignment makes them differ."""
    return max((len(partition.replicas) for partition in topic.partitions), default=0)
