"""`tidelog topics`: create, list, describe, delete, on any Kafka-compatible cluster.

All of it goes over the client's core and Kafka's public APIs, so that it works against any cluster. Creating waits
until the topic can be written to; describing asks leaders for offsets, which metadata does not have. Configs are shown
only where somebody set them for the topic: the defaults are the broker's, and `serve` documents them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from tidelog.cli.connection import client_settings, connection_options, parse_pairs, run
from tidelog.cli.output import Output, counted, json_option
from tidelog.common.errors import ErrorCode, KafkaError, UsageError, error_name

if TYPE_CHECKING:
    from tidelog.client.cluster.client import ClusterClient
    from tidelog.client.cluster.metadata import TopicInfo

TOPIC_RESOURCE = 2
#: Sources of a config value that somebody set for the topic itself.
DYNAMIC_TOPIC = 1


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
        from tidelog.client.topics import create_topic

        for name in names:
            try:
                await create_topic(
                    cluster,
                    name,
                    partitions,
                    replication_factor=replication_factor,
                    config=wanted,
                    exists_ok=if_not_exists,
                )
            except KafkaError as error:
                raise KafkaError(error.code, f"{error.message}{_hint(error.code, wanted)}") from error
            info = cluster.metadata.topics[name]
            output = Output(as_json=as_json)
            if as_json:
                output.json({"topic": name, "partitions": len(info.partitions), "id": _id(info)})
            else:
                output.line(f"Created {name} with {counted(len(info.partitions), 'partition')}.")

    run(client_settings(server, config_file), work)


@topics.command("list")
@click.option("--internal", is_flag=True, help="Also those that the brokers keep for themselves.")
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
        found = await cluster.all_topics()
        shown = [info for info in sorted(found.values(), key=lambda info: info.name) if internal or not info.internal]
        if not shown and not as_json:
            Output().remark("No topics yet: `tidelog topics create NAME` makes one.")
            return
        Output(as_json=as_json).rows(
            ["Topic", "Partitions", "Replicas"],
            [(info.name, len(info.partitions), _factor(info)) for info in shown],
        )

    run(client_settings(server, config_file), work)


@topics.command("describe")
@click.argument("names", nargs=-1, metavar="[TOPIC]...")
@connection_options
@json_option
def describe(names: tuple[str, ...], server: str | None, config_file: str | None, as_json: bool) -> None:
    """Show partitions, leaders, offsets and configs.

    All topics are shown when none is named, but for those that the brokers keep for themselves.

    \b
    Examples:
      tidelog topics describe orders
      tidelog topics describe --json | jq '.topic, .configs'
    """

    async def work(cluster: ClusterClient) -> None:
        from tidelog.client.offsets import beginning_offsets, end_offsets
        from tidelog.common.types import TopicPartition

        found = await cluster.all_topics()
        wanted = names or sorted(name for name, info in found.items() if not info.internal)
        output = Output(as_json=as_json)
        for name in wanted:
            info = found.get(name)
            if info is None:
                raise UsageError(no_such_topic(name, found))
            partitions = [TopicPartition(name, index) for index in sorted(info.partitions)]
            starts = await beginning_offsets(cluster, partitions)
            ends = await end_offsets(cluster, partitions)
            configs = await topic_configs(cluster, name)
            rows = [
                (
                    tp.partition,
                    info.partitions[tp.partition].leader,
                    list(info.partitions[tp.partition].replicas),
                    starts[tp],
                    ends[tp],
                )
                for tp in partitions
            ]
            if as_json:
                columns = ("partition", "leader", "replicas", "start", "end")
                output.json(
                    {
                        "topic": name,
                        "id": _id(info),
                        "internal": info.internal,
                        "configs": configs,
                        "partitions": [dict(zip(columns, row, strict=True)) for row in rows],
                    }
                )
                continue
            settings = ", ".join(f"{key}={value}" for key, value in configs.items()) or "defaults"
            plain = [
                (index, leader, ",".join(map(str, nodes)), first, end) for index, leader, nodes, first, end in rows
            ]
            output.rows(
                ["Partition", "Leader", "Replicas", "Start", "End"], plain, title=f"{name} (id {_id(info)}; {settings})"
            )

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
        from tidelog.client.topics import delete_topic

        output = Output(as_json=as_json)
        for name in names:
            try:
                await delete_topic(cluster, name, missing_ok=if_exists)
            except KafkaError as error:
                if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise UsageError(no_such_topic(name, await cluster.all_topics())) from error
                raise
            if as_json:
                output.json({"topic": name, "deleted": True})
            else:
                output.line(f"Deleted {name}.")

    run(client_settings(server, config_file), work)


async def topic_configs(cluster: ClusterClient, name: str) -> dict[str, str]:
    """What was set for the topic itself.

    DescribeConfigs tells the source of each value; DYNAMIC_TOPIC is what CreateTopics or AlterConfigs have set for this
    topic, all others are defaults of some layer.
    """
    from tidelog.protocol.messages import DescribeConfigsRequest

    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None
    )
    response: Any = await (await cluster.any_node()).send(DescribeConfigsRequest(resources=[resource]))
    result = response.results[0]
    if result.error_code:
        raise KafkaError(
            result.error_code, result.error_message or f"configs of {name}: {error_name(result.error_code)}"
        )
    return {entry.name: entry.value for entry in result.configs if entry.config_source == DYNAMIC_TOPIC}


def _hint(code: ErrorCode, configs: Mapping[str, str]) -> str:
    """What to do about a refused creation, where that can be said.

    The broker's own text says what is wrong; what it cannot know is which option of this command mends it, and which
    key was probably meant.
    """
    if code is ErrorCode.TOPIC_ALREADY_EXISTS:
        return " --if-not-exists takes it as it is."
    if code is ErrorCode.INVALID_CONFIG:
        from difflib import get_close_matches

        from tidelog.log.config import TOPIC_KEYS

        for name in configs:
            if name not in TOPIC_KEYS and (close := get_close_matches(name, TOPIC_KEYS.keys, 1)):
                return f". Did you mean {close[0]}?"
    return ""


def no_such_topic(name: str, found: dict[str, TopicInfo]) -> str:
    """What to say of a topic that is not there: the nearest name, or how to list them."""
    from difflib import get_close_matches

    close = get_close_matches(name, found, 1)
    hint = f"did you mean {close[0]}?" if close else "`tidelog topics list` shows what there is"
    return f"There is no topic {name}: {hint}"


def _factor(info: TopicInfo) -> int:
    """Replicas per partition; the largest, while a reassignment makes them differ."""
    return max((len(partition.replicas) for partition in info.partitions.values()), default=0)


def _id(info: TopicInfo) -> str:
    from tidelog.common.uuids import uuid_to_text

    return uuid_to_text(info.id)
