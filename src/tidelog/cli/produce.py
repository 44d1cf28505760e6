"""`tidelog produce`: lines of standard input become records of a topic.

Lines are gathered per partition into batches by the client's producer and sent when a batch is full or the input
pauses. Idempotent, so that a retry never doubles a line.

A line that cannot be read stops everything, after what came before it is written and counted: to skip it would lose a
record silently, and to go on with a guess would write a wrong one. The count that is told at the end is of acknowledged
records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tidelog.cli.connection import Interrupted, client_settings, connection_options, parse_pairs, run
from tidelog.cli.input_lines import input_lines
from tidelog.cli.output import Output, counted
from tidelog.cli.record_text import LineFormat, NewRecord, parse_json
from tidelog.common.errors import ErrorCode, KafkaError, UsageError

if TYPE_CHECKING:
    from tidelog.cli.line_producer import LineProducer
    from tidelog.client.cluster.client import ClusterClient

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@click.command("produce")
@click.argument("topic")
@click.option("-k", "--key-separator", metavar="TEXT", help="Each line is KEY TEXT VALUE.")
@click.option("--headers", "with_headers", is_flag=True, help="Each line begins with name:value,name:value and a tab.")
@click.option("-H", "--header", "fixed", multiple=True, metavar="NAME=VALUE", help="A header for every record.")
@click.option("--null", "null_marker", metavar="TEXT", help="This text stands for no key or no value.")
@click.option("-p", "--partition", type=int, help="Write all to this partition.")
@click.option("--compression", type=click.Choice(CODECS), default="none", show_default=True)
@click.option("--acks", type=click.Choice(["all", "1", "0"]), default="all", show_default=True)
@connection_options
@click.option("--json", "as_json", is_flag=True, help="Each line is a JSON object.")
def produce(
    topic: str,
    key_separator: str | None,
    with_headers: bool,
    fixed: tuple[str, ...],
    null_marker: str | None,
    partition: int | None,
    compression: str,
    acks: str,
    server: str | None,
    config_file: str | None,
    as_json: bool,
) -> None:
    """Write the lines of standard input to TOPIC, one record each.

    With --json, each line is an object: {"key": …, "value": …, "headers": {…}, "partition": …, "timestamp": …}. Only
    the value must be there, and null is one. A copy of another topic, as below, needs as many partitions as that has.

    \b
    Examples:
      echo 'hello' | tidelog produce greetings
      echo '42:hello' | tidelog produce greetings -k :
      tidelog consume a --from beginning --json --exit | tidelog produce b --json
    """
    headers = tuple((name, value.encode()) for name, value in parse_pairs(fixed, "--header").items())
    lines = LineFormat(key_separator, with_headers, null_marker=null_marker)

    written = 0

    async def work(cluster: ClusterClient) -> None:
        nonlocal written
        from tidelog.cli.line_producer import LineProducer

        producer = LineProducer(cluster, topic, compression=compression, acks=acks)
        try:
            await send(producer)
        finally:
            written = producer.written
            await producer.close()

    async def send(producer: LineProducer) -> None:
        await producer.start()
        if acks == "all" and not producer.idempotent:
            Output().remark("The cluster gives no producer ids: a line whose write is retried may come twice.")
        count = 0
        try:
            async for line in input_lines():
                count += 1
                record = parse_json(line, count) if as_json else lines.parse(line, count)
                record = record._replace(headers=record.headers + headers)
                await producer.add(_placed(record, partition))
        except UsageError as error:
            await producer.finish()
            stop = "" if str(error).endswith("?") else "."
            raise UsageError(f"{error}{stop} {counted(producer.written, 'record')} before it written.") from error
        await producer.finish()
        Output().remark(f"{counted(producer.written, 'record')} written to {topic}.")

    from tidelog.cli.line_producer import NOT_FOR_LINES

    settings = client_settings(server, config_file)
    try:
        run({name: value for name, value in settings.items() if name not in NOT_FOR_LINES}, work)
    except Interrupted:
        Output().remark(f"Interrupted: {counted(written, 'record')} written to {topic}.")
        raise
    except KafkaError as error:
        if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise UsageError(f"There is no topic {topic}, and the cluster does not create it by itself") from error
        if error.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT:
            raise KafkaError(error.code, _of_an_old_format(topic)) from error
        raise


def _of_an_old_format(topic: str) -> str:
    """Formats 0 and 1 have no room for what keeps a retry from doubling a line, nor for headers."""
    return (
        f"{topic} stores records in an old format, which has neither headers nor what guards against doubles: set its "
        "message.format.version to 0.11.0 or later, or write without headers and with --acks 1 (then a retry may "
        "double a line)."
    )


def _placed(record: NewRecord, partition: int | None) -> NewRecord:
    """`--partition` goes before what a line may say."""
    return record if partition is None else record._replace(partition=partition)
