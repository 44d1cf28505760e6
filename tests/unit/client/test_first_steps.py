"""What somebody sees who tries the clients for the first time, and mistypes this and that."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tidelog import Admin, Consumer, Producer, TopicPartition, UsageError, aio

SETTINGS = {"bootstrap.servers": "127.0.0.1:1,127.0.0.1:2"}


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (Producer, r"<Producer of producer-\d+ at 127\.0\.0\.1:1, 127\.0\.0\.1:2>"),
        (aio.Producer, r"<Producer of producer-\d+ at .*>"),
        (Consumer, r"<Consumer of consumer-\d+ at .*>"),
        (aio.Consumer, r"<Consumer of consumer-\d+ at .*>"),
        (Admin, r"<Admin of adminclient-\d+ at .*>"),
        (aio.Admin, r"<Admin of adminclient-\d+ at .*>"),
    ],
)
def test_a_client_says_who_it_is(kind: Any, shown: str) -> None:
    assert re.fullmatch(shown, repr(kind(SETTINGS)))


@pytest.mark.parametrize("most", [0, -3, "10", 1.5])
def test_poll_takes_a_number_of_records(most: Any) -> None:
    with Consumer(SETTINGS) as consumer:
        consumer.assign([TopicPartition("t", 0)])
        with pytest.raises(UsageError, match=rf"max_records={most!r}: expected a number from 1 on"):
            consumer.poll(0, max_records=most)
