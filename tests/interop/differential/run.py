"""Runs scripts against Apache Kafka and Tidelog and compares what they wrote down.

By hand: `PYTHONPATH=tests python -m interop.differential.run --kafka HOST:PORT --tidelog HOST:PORT [script...]`.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from interop.differential.compare import Report
from interop.differential.peer import Peer
from interop.differential.scripts import SCRIPTS
from interop.differential.session import Entry, Session, served
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import ProduceRequest

Address = tuple[str, int]
NEVER = range(100)
#: KIP-896: the first versions that Kafka 4 serves. What is older is compared with Kafka 3.9, all else with Kafka 4.
KIP_896 = {
    ApiKey.PRODUCE: 3,
    ApiKey.FETCH: 4,
    ApiKey.LIST_OFFSETS: 1,
    ApiKey.OFFSET_COMMIT: 2,
    ApiKey.OFFSET_FETCH: 1,
    ApiKey.CREATE_TOPICS: 2,
    ApiKey.DELETE_TOPICS: 1,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: 2,
    ApiKey.WRITE_TXN_MARKERS: 1,
    ApiKey.DESCRIBE_ACLS: 1,
    ApiKey.CREATE_ACLS: 1,
    ApiKey.DELETE_ACLS: 1,
    ApiKey.DESCRIBE_CONFIGS: 1,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 1,
    ApiKey.DESCRIBE_LOG_DIRS: 1,
    ApiKey.CREATE_DELEGATION_TOKEN: 1,
    ApiKey.RENEW_DELEGATION_TOKEN: 1,
    ApiKey.EXPIRE_DELEGATION_TOKEN: 1,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: 1,
}
NEWER = {int(key): range(KIP_896.get(key, 0), NEVER.stop) for key in ApiKey}


def versions_to_compare(
    kafka: Address, tidelog: Address, leave_out: dict[int, range] | None = None
) -> dict[int, range]:
    """The versions that both serve, without those that another oracle has answered for."""
    theirs, ours = served(*kafka), served(*tidelog)
    theirs[ApiKey.PRODUCE] = range(
        max(oldest_produce(kafka), theirs[ApiKey.PRODUCE].start), theirs[ApiKey.PRODUCE].stop
    )
    out = {}
    for key in theirs.keys() & ours.keys():
        known = (leave_out or {}).get(key, range(0))
        both = [v for v in theirs[key] if v in ours[key] and v not in known]
        out[key] = range(both[0], both[-1] + 1) if both else range(0)
    return out


def oldest_produce(kafka: Address) -> int:
    """Kafka 4 says that it serves Produce 0 to 2, for the sake of librdkafka, but does not."""
    peer = Peer(*kafka)
    found = peer.ask(ApiKey.PRODUCE, 0, ProduceRequest(acks=1))
    peer.close()
    return 0 if isinstance(found, bytes) else 3


def run_script(name: str, address: Address, versions: dict[int, range], prefix: str, thorough: bool) -> list[Entry]:
    session = Session(name, *address, prefix, versions, thorough)
    try:
        session.learn_cluster()
        SCRIPTS[name](session)
    finally:
        session.close()
    return session.transcript


def compare(
    oracle: str,
    kafka: Address,
    tidelog: Address,
    report: Report,
    *,
    scripts: list[str] | None = None,
    leave_out: dict[int, range] | None = None,
    prefix: str = "diff",
    thorough: bool = False,
    log: Callable[[str], None] = lambda line: None,
) -> None:
    """Run scripts and add what they found."""
    versions = versions_to_compare(kafka, tidelog, leave_out)
    with ThreadPoolExecutor(2) as pool:
        for name in scripts or list(SCRIPTS):
            begun, part = time.monotonic(), Report()
            both = [pool.submit(run_script, name, to, versions, prefix, thorough) for to in (kafka, tidelog)]
            theirs, ours = (future.result() for future in both)
            assert len(theirs) == len(ours), f"{name}: {len(theirs)} and {len(ours)} answers"
            part.add(oracle, theirs, ours)
            seconds = time.monotonic() - begun
            log(f"{name}: {len(theirs)} cases, {len(part.differences)} differ, {seconds:.1f} s")
            report.merge(part)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kafka", required=True)
    parser.add_argument("--tidelog", required=True)
    parser.add_argument("--oracle", default="4.3.1")
    parser.add_argument("--thorough", action="store_true")
    parser.add_argument("--requests", action="store_true", help="print a request with each difference")
    parser.add_argument("scripts", nargs="*")
    given = parser.parse_args(arguments)
    addresses = [(where.partition(":")[0], int(where.partition(":")[2])) for where in (given.kafka, given.tidelog)]
    report = Report()
    for name in given.scripts or list(SCRIPTS):
        try:
            compare(
                given.oracle,
                *addresses,
                report,
                scripts=[name],
                thorough=given.thorough,
                leave_out=NEWER if given.oracle.startswith("3.") else None,
                prefix=f"d{int(time.time()) % 100000:05}",
                log=print,
            )
        except Exception:
            traceback.print_exc()
    print(report.table())
    print(report.grouped(given.requests))
    return 1 if report.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
