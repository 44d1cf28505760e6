"""The guides that are about more than one client: their code runs as it stands, and prints what they say."""

from __future__ import annotations

import re

import pytest

from support.guides import GUIDES, promised, run_guide
from tidelog import Consumer
from tidelog.testing import Broker


def test_the_guide_of_transactions(capfd: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        assert run_guide("transactions", broker.address, everything=True) == 5
        settings = {"bootstrap.servers": broker.address, "isolation.level": "read_committed"}
        with Consumer(settings) as consumer:
            invoices = [record.value for record in consumer.tail("invoices", 500)]
    assert capfd.readouterr().out.splitlines() == ["[b'...']", "100", "100"]
    made = [b"invoice of %d" % number for number in range(100)]
    assert sorted(invoices) == sorted([b"...", *made, *made, b"..."])


def test_the_guide_of_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """pandas, polars and DuckDB, there and back."""
    with Broker() as broker:
        assert run_guide("arrow", broker.address, everything=False) == 6
        with Consumer(bootstrap_servers=broker.address) as consumer:
            per_shop = [(record.key, record.value) for record in consumer.tail("per-shop", 50)]
            copied = {record.key for record in consumer.tail("sales-copy", 50)}
    printed = capsys.readouterr().out
    assert "4 rows in " in printed
    assert "[('Lima', 13.5), ('Oslo', 3.0)]" in printed
    assert sorted(per_shop) == sorted(
        [(b"Lima", b"13.5"), (b"Oslo", b"3.0"), (b"Rome", b"0.0"), (b"Lima", b"13.5"), (b"Oslo", b"3.0")]
    )
    assert copied == {b"Lima", b"Oslo", b"Rome"}


def test_the_guide_of_asyncio(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker:
        assert run_guide("asyncio", broker.address, everything=False) == 5
    printed = capsys.readouterr().out.splitlines()
    assert printed[1:] == ["10 written", "1011 read", "1011 handled", "True", "(True, 1)"]


#: In the order of the README; a reader may go on in any other.
PAGES = ["producer", "consumer", "transactions", "arrow", "asyncio", "admin", "errors"]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(("pages", "delay_ms"), [(PAGES, 1200), (PAGES[::-1], 0)], ids=["forwards", "backwards"])
def test_one_page_after_the_other_on_one_broker(
    pages: list[str], delay_ms: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each makes what it needs, under names of its own, and prints what its comments promise.

    Forwards, a group's wait for more members is longer than a `poll` of a second, as it is in a broker that somebody
    starts (three seconds; the testing broker has none).
    """
    with Broker(config={"group.initial.rebalance.delay.ms": str(delay_ms)}) as broker:
        for page in pages:
            run_guide(page, broker.address, everything=False)
            printed = capfd.readouterr().out
            for text in promised(page):
                pattern = ".*".join(map(re.escape, text.split("..."))).replace("4711", r"\d+")
                assert re.search(pattern, printed), f"{page}.md promises {text!r}"


@pytest.mark.parametrize("task", ["producer", "consumer", "transactions", "arrow", "asyncio", "errors", "admin"])
def test_every_task_has_its_page(task: str) -> None:
    assert "```python" in (GUIDES / f"{task}.md").read_text()
