"""From the sasl.* settings to the exchange that proves who we are, on each new connection.

`sasl.username` and `sasl.password` are what PLAIN and SCRAM want; `sasl.jaas.config`, Java's form of them, is
understood as far as it holds `name="value"` pairs. OAUTHBEARER asks a function of the user's for a token. An `async`
one is awaited where the client lives; a plain one may well wait for a server, so it is called on a thread. That is one
of its own: a function that never returns must not keep the loop's other threads (which look names up), nor the program
from ending. `request.timeout.ms` is for it, too.

Everything is read once, when the client is made, so that a mistake shows there and not with the first connection. An
exchange serves one connection: it is made anew for each, and for each renewal of a proof that ends (KIP-368).
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import re
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from tidelog.client.cluster.tls import tls_context as tls_context
from tidelog.client.config import common
from tidelog.client.config import security as keys
from tidelog.client.values import Token
from tidelog.common.config import Config
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.net.node_client import Authenticator, NodeClient
from tidelog.net.sasl import oauth_bearer, plain, scram
from tidelog.net.sasl.authenticate import authenticate
from tidelog.net.sasl.exchange import ClientExchange

_JAAS_FIELD = re.compile(r'\b(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"')
_SUPPORTED = (plain.MECHANISM, *scram.DIGESTS, oauth_bearer.MECHANISM)

#: Makes the exchange for one connection.
MakeExchange = Callable[[], Awaitable[ClientExchange]]


def authenticator(config: Config) -> Authenticator | None:
    """The SASL exchange to run on each new connection; None without SASL."""
    if not config[keys.SECURITY_PROTOCOL].startswith("SASL"):
        return None
    mechanism = config[keys.SASL_MECHANISM]
    if mechanism not in _SUPPORTED:
        raise UsageError(f"sasl.mechanism={mechanism} is not supported: use one of {', '.join(_SUPPORTED)}")
    make = _by_token(config) if mechanism == oauth_bearer.MECHANISM else _by_password(config, mechanism)

    async def prove(node: NodeClient) -> int:
        return await authenticate(node, await make())  # an exchange serves one connection

    return prove


def _by_password(config: Config, mechanism: str) -> MakeExchange:
    """The plain settings go before the JAAS line, which is what a file made for Java holds."""
    jaas = {
        name: re.sub(r"\\(.)", r"\1", value) for name, value in _JAAS_FIELD.findall(config[keys.SASL_JAAS_CONFIG] or "")
    }
    username = config[keys.SASL_USERNAME] or jaas.get("username")
    password = config[keys.SASL_PASSWORD] or jaas.get("password")
    if username is None or password is None:
        raise UsageError("SASL needs sasl.username and sasl.password (or both within sasl.jaas.config)")
    token = jaas.get("tokenauth", "").lower() == "true"
    if mechanism == plain.MECHANISM:
        plain.PlainClient(username, password)  # refuses what it cannot send

    async def make() -> ClientExchange:
        if mechanism == plain.MECHANISM:
            return plain.PlainClient(username, password)
        return scram.ScramClient(mechanism, username, password, token=token)

    return make


def _by_token(config: Config) -> MakeExchange:
    """What a token is, and how long it is good, is between the user's function and the broker."""
    callback = config[keys.SASL_LOGIN_CALLBACK]
    if not callable(callback):
        raise UsageError(
            "OAUTHBEARER needs sasl.login.callback.handler.class: a function, plain or async, that returns a token"
        )

    limit = config[common.REQUEST_TIMEOUT_MS] / 1000

    async def make() -> ClientExchange:
        try:
            async with asyncio.timeout(limit) as asking:
                token = await _ask(callback)
        except TimeoutError as error:
            if not asking.expired():
                raise
            raise _no_token(f"has not returned within {limit:g} s") from error
        if isinstance(token, str):
            token = Token(token)
        if not isinstance(token, Token):
            raise _no_token(f"returned {type(token).__name__}, neither text nor a Token")
        try:
            return oauth_bearer.OAuthBearerClient(token.value, token.extensions)
        except UsageError as error:
            raise _no_token(f"returned what cannot be sent: {error}") from error

    return make


def _no_token(what: str) -> KafkaError:
    """Why we cannot prove who we are. It is not tried again by itself: the function has had its own chance to."""
    return KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, f"the token callback {what}")


async def _ask(callback: Callable[[], Any]) -> Any:
    """The user's function, whatever it raises."""
    try:
        if inspect.iscoroutinefunction(callback):
            return await callback()
        token = await _on_a_thread(callback)
        return await token if inspect.isawaitable(token) else token
    except Exception as error:
        raise _no_token(f"raised {type(error).__name__}: {error}") from error


async def _on_a_thread(function: Callable[[], Any]) -> Any:
    """Its result, from a thread that nobody waits for: one that hangs hangs alone."""
    loop = asyncio.get_running_loop()
    outcome: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def work() -> None:
        if not outcome.set_running_or_notify_cancel():
            return
        try:
            outcome.set_result(function())
        except BaseException as error:  # noqa: BLE001 - whatever it is, whoever waits has to know
            outcome.set_exception(error)

    threading.Thread(target=work, name="tidelog-token", daemon=True).start()
    return await asyncio.wrap_future(outcome, loop=loop)
