"""`tidelog log verify`: is everything in the directory as it should be?

An error is something that a reader or a broker would trip over, or that contradicts the data; a warning is something
that the next start makes good by itself (a torn end of the last segment, an epoch behind the end, a checkpoint that
names a partition which is gone). Every finding names file and byte. Nothing is changed.
"""

from __future__ import annotations

from pathlib import Path

import click

from tidelog.cli.log_paths import is_partition, partitions_of
from tidelog.cli.output import Output, counted, json_option, size_text
from tidelog.log.reading.verify import ERROR, Finding, PartitionVerifier, Totals, verify_checkpoints


@click.command("verify")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--topic", "-t", multiple=True, help="Only this topic; may be repeated.")
@json_option
def verify(paths: tuple[Path, ...], topic: tuple[str, ...], as_json: bool) -> int:
    """Check log directories or partitions: checksums, offsets, indexes, snapshots, checkpoints.

    Exit status: 0 when no error was found (warnings are only reported), 1 otherwise.

    \b
    Examples:
      tidelog log verify /var/lib/kafka
      tidelog log verify /var/lib/kafka/orders-0 --json
    """
    output = Output(as_json=as_json)
    partitions = list(partitions_of(paths, topic))
    total = Totals()
    findings: list[Finding] = []
    for path in paths:
        if not is_partition(path):
            findings += verify_checkpoints(path)
    with output.progress("verifying", sum(partition.size for partition in partitions)) as advance:
        for partition in partitions:
            verifier = PartitionVerifier(partition, progress=advance)
            findings += verifier.findings()
            for name, count in vars(verifier.totals).items():
                setattr(total, name, getattr(total, name) + count)
    _report(output, findings)
    errors = sum(finding.severity == ERROR for finding in findings)
    if as_json:
        output.json(
            {"partitions": len(partitions), **vars(total), "errors": errors, "warnings": len(findings) - errors}
        )
    else:
        output.line(
            f"{counted(len(partitions), 'partition')}, {counted(total.segments, 'segment')}, "
            f"{counted(total.batches, 'batch')}, {counted(total.records, 'record')}, {size_text(total.bytes)}: "
            f"{counted(errors, 'error')}, {counted(len(findings) - errors, 'warning')}",
            style="bold red" if errors else "green",
        )
    return 1 if errors else 0


def _report(output: Output, findings: list[Finding]) -> None:
    """All findings in one table, or nothing at all."""
    if not findings:
        return
    rows = [(f.severity, str(f.path), f.position if f.position >= 0 else None, f.problem) for f in findings]
    output.rows(("Severity", "File", "Position", "Problem"), rows)
