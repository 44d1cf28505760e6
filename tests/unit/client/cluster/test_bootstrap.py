"""The brokers to begin with: how they are written, and by which names they are found."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from tidelog.client.cluster.bootstrap import Bootstrap
from tidelog.client.config import admin, parse
from tidelog.common.errors import UsageError
from tidelog.net import dialing


def bootstrap(servers: str, lookup: str = "use_all_dns_ips") -> Bootstrap:
    return Bootstrap(parse(admin.KEYS, {"bootstrap.servers": servers, "client.dns.lookup": lookup}))


def test_addresses() -> None:
    known = bootstrap("a:1, [::1]:2")
    assert known.given == asyncio.run(known.addresses()) == [("a", 1), ("::1", 2)]
    assert bootstrap("PLAINTEXT://a:1,SASL_SSL://[::1]:2,").given == known.given
    assert ("a", 1) in known
    assert ("a", 2) not in known


@pytest.mark.parametrize("wrong", ["a", "a:b", "a:0", "a:65536", "a:1,b", "a:²", ":1", "[]:1", "://:1"])
def test_what_is_no_address(wrong: str) -> None:
    with pytest.raises(UsageError, match="is not of the form host:port"):
        bootstrap(wrong)


def test_a_list_of_nobody() -> None:
    with pytest.raises(UsageError, match="names nobody"):
        bootstrap(" , ")


def test_canonical_names(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        names = {"127.0.0.1": "broker-1.example", "127.0.0.2": "broker-2.example"}

        async def addresses(host: str, port: int) -> list[Any]:
            return [(socket.AF_INET, (ip, port)) for ip in (*names, "127.0.0.3")]

        async def name_of(address: tuple[str, int], flags: int = 0) -> tuple[str, str]:
            if address[0] not in names:
                raise OSError("no name")
            return names[address[0]], str(address[1])

        monkeypatch.setattr(dialing, "addresses_of", addresses)
        monkeypatch.setattr(asyncio.get_running_loop(), "getnameinfo", name_of)
        assert await bootstrap("alias:9092", "resolve_canonical_bootstrap_servers_only").addresses() == [
            ("broker-1.example", 9092),
            ("broker-2.example", 9092),
            ("127.0.0.3", 9092),
        ]

    asyncio.run(main())


def test_a_name_that_nobody_knows_fails_where_it_is_connected_to() -> None:
    known = bootstrap("nobody.invalid:9092", "resolve_canonical_bootstrap_servers_only")
    assert asyncio.run(known.addresses()) == [("nobody.invalid", 9092)]
