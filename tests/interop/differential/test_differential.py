"""Apache Kafka and Tidelog are asked the same questions and must give the same answers.

Everything that Kafka 4.3 serves is compared with it; what only older clients speak, with Kafka 3.9. Differences that
are meant have their reason in `exceptions.py`. `--soak` goes through every version, with more random messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.differential.compare import Report
from interop.differential.exceptions import NOT_SERVED, unused
from interop.differential.run import NEWER, Address, compare
from interop.differential.session import OFFSETS_PARTITIONS, api_name, served
from support.kafka import KAFKA_3, KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer

pytestmark = [pytest.mark.java, pytest.mark.timeout(1800)]

#: What both brokers are told, so that they have the same to say.
PROPERTIES = {
    "auto.create.topics.enable": "true",
    "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
    "transaction.state.log.num.partitions": "5",
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.delete.delay.ms": "1000",
    "num.partitions": "1",
    "log.retention.ms": "-1",  # the records of the scripts are old
    "group.consumer.max.session.timeout.ms": "600000",
    "group.consumer.session.timeout.ms": "600000",  # nobody beats in the scripts
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.min.assignment.interval.ms": "0",
}


def _address(text: str) -> Address:
    host, _, port = text.partition(":")
    return host, int(port)


@pytest.fixture(scope="module", params=[KAFKA_4, KAFKA_3])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Address, Address]]:
    """A version of Apache Kafka, its address, and Tidelog's."""
    home: Path = tmp_path_factory.mktemp("differential")
    ours = TidelogServer(home / "tidelog", properties={"node.id": "1", **PROPERTIES})
    with KafkaBroker(request.param, home / "kafka", properties=PROPERTIES) as kafka, ours:
        yield request.param, _address(kafka.address), _address(ours.address)


@pytest.mark.soak
def test_the_offsets_of_old_consumers(tmp_path: Path) -> None:
    """OffsetCommit and OffsetFetch 0 keep offsets in ZooKeeper: only a Kafka that has one serves them."""
    ours = TidelogServer(tmp_path / "tidelog", properties={"node.id": "1", **PROPERTIES})
    kafka = KafkaBroker(KAFKA_3, tmp_path / "kafka", mode="zookeeper", properties=PROPERTIES)
    report = Report()
    with kafka, ours:
        addresses = _address(kafka.address), _address(ours.address)
        compare("ZooKeeper", *addresses, report, scripts=["offset-commit", "offset-fetch"], leave_out=NEWER, log=print)
    print(report.table())
    assert not report.differences, report.grouped(requests=True)


def test_what_kafka_serves_is_served(pair: tuple[str, Address, Address]) -> None:
    """Every key and version that Kafka names is named by Tidelog, except those with a reason."""
    _, kafka, tidelog = pair
    theirs, ours = served(*kafka), served(*tidelog)
    missing = {
        api_name(key): set(versions) - set(ours.get(key, ()))
        for key, versions in theirs.items()
        if set(versions) - set(ours.get(key, ()))
    }
    unreasoned = {name: found for name, found in missing.items() if name not in NOT_SERVED}
    assert not unreasoned, f"not served: {unreasoned}"


def test_the_same_answers(pair: tuple[str, Address, Address], request: pytest.FixtureRequest) -> None:
    version, kafka, tidelog = pair
    thorough = request.config.getoption("--soak")
    report = Report()
    known = None if version == KAFKA_4 else NEWER
    compare(version, kafka, tidelog, report, leave_out=known, thorough=thorough, log=print)
    print(report.table())
    print("\n".join(f"{count:>6} {reason}" for reason, count in report.reasons.most_common()))
    assert not report.differences, f"{len(report.differences)} differences:\n{report.grouped(requests=True)}"
    assert report.equal.total() > report.excepted.total()
    idle = unused(version, report.reasons)
    assert not idle, f"these exceptions are not needed any more: {idle}"
