"""Where connecting failed, and what to do about it.

A connection comes about in stages, and each has mistakes of its own: a name that nobody knows, a port where nobody
listens, a certificate that nobody vouches for. The error names the stage, gives the system's reason, and says what is
most often behind it; which of several it is, only the user can see.

    DNS                   the host's name is looked up
    TCP                   the connection is made
    TLS                   it is encrypted, and the broker shows who it is
    ApiVersions           both sides agree on what they speak
    SASL                  we show who we are
    advertised listener   all of this again, at the address that the broker itself told

Whether another try may help is part of the answer: a broker that is down may come back, a wrong password stays wrong.
"""

from __future__ import annotations

import os
import re
import ssl
from enum import Enum

from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError


class Stage(Enum):
    """In the order in which a connection passes them; the values are the words of the messages."""

    DNS = "DNS"
    TCP = "TCP"
    TLS = "TLS"
    API_VERSIONS = "ApiVersions"
    SASL = "SASL"
    ADVERTISED_LISTENER = "advertised listener"


class AnsweredInTls(ProtocolError):
    """The first answer was an alert of TLS: the listener speaks it, and we do not."""

    def __init__(self, peer: str) -> None:
        super().__init__(f"{peer} answered in TLS")


class ConnectError(KafkaError):
    """There is no connection. `stage`, `peer`, `reason` and `advice` are what the message is made of."""

    def __init__(
        self,
        stage: Stage,
        peer: str,
        reason: str,
        advice: str,
        *,
        code: ErrorCode | int = ErrorCode.NETWORK_EXCEPTION,
        retriable: bool = True,
    ) -> None:
        self.stage = stage
        self.peer = peer
        self.reason = reason
        self.advice = advice
        self._worth_another_try = retriable
        super().__init__(code, f"cannot connect to {peer} ({stage.value}): {reason.rstrip('.')}. {advice}")

    @property
    def retriable(self) -> bool:
        return self._worth_another_try


def dns_failed(peer: str, host: str, error: OSError) -> ConnectError:
    """Worth another try: names come and go with the machines that they are for, above all in a cluster of containers
    that has just been started.
    """
    advice = f"Does this machine know the name {host}? Check its spelling, DNS and /etc/hosts."
    return ConnectError(Stage.DNS, peer, reason_of(error), advice)


def tcp_failed(peer: str, error: OSError) -> ConnectError:
    """A refusal comes from a machine that is there; silence from one that is not, or from a firewall before it."""
    if isinstance(error, ConnectionRefusedError):
        advice = f"Is a broker running at {peer}, and is that the port of its listener?"
    elif isinstance(error, TimeoutError):
        advice = f"Nothing answers at {peer}: is there a firewall, or is it an address of another network?"
    else:
        advice = f"Can {peer} be reached from this machine at all?"
    return ConnectError(Stage.TCP, peer, reason_of(error), advice)


def tls_failed(peer: str, error: OSError) -> ConnectError:
    """A certificate that is not believed will not be believed next time. A connection that is cut may have been a
    restart, but is more often a listener without TLS, which takes our greeting for a request of absurd size.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = error.verify_message
        if "match" in reason.lower():
            advice = (
                "The certificate is for another name: connect by that one, or set "
                "ssl.endpoint.identification.algorithm to nothing if the name does not matter."
            )
        elif "expired" in reason or "not yet valid" in reason:
            advice = "The broker needs a new certificate; or is this machine's clock wrong?"
        else:
            advice = (
                "Set ssl.truststore.location to a PEM file with the certificate of the authority that signed "
                "the broker's."
            )
        return ConnectError(Stage.TLS, peer, reason, advice, retriable=False)
    if isinstance(error, ssl.SSLError) and "alert" in str(error).lower():
        advice = (
            "The broker refused us: if it wants a certificate from clients (ssl.client.auth), set "
            "ssl.keystore.location to a PEM file with ours and its key; else compare ssl.enabled.protocols."
        )
        return ConnectError(Stage.TLS, peer, _tls_reason(error), advice, retriable=False)
    advice = "Is this a listener with TLS? If not, set security.protocol to PLAINTEXT or SASL_PLAINTEXT."
    reason = _tls_reason(error) if isinstance(error, ssl.SSLError) else reason_of(error)
    return ConnectError(Stage.TLS, peer, reason, advice, retriable=not isinstance(error, ssl.SSLError))


def api_versions_failed(peer: str, error: Exception, *, tls: bool) -> ConnectError:
    """The first request was not answered as a broker answers it."""
    cause = error.__cause__
    if isinstance(cause, ssl.SSLError):  # TLS 1.3 tells after the handshake that it did not like our certificate
        return tls_failed(peer, cause)
    if isinstance(error, AnsweredInTls):
        advice = "Set security.protocol to SSL or SASL_SSL."
        return ConnectError(Stage.API_VERSIONS, peer, str(error), advice, retriable=False)
    code = error.code if isinstance(error, KafkaError) else ErrorCode.NETWORK_EXCEPTION
    reason = error.message if isinstance(error, KafkaError) else str(error)
    if code is ErrorCode.NETWORK_EXCEPTION:
        advice = "Is this a listener of a Kafka broker, and not one with TLS (security.protocol SSL or SASL_SSL)?"
        if tls:
            advice = (
                "Is this a listener of a Kafka broker? If it wants a certificate from clients (ssl.client.auth), set "
                "ssl.keystore.location to a PEM file with ours and its key."
            )
    elif code is ErrorCode.REQUEST_TIMED_OUT:
        advice = "It accepts connections, but does not answer: is it a Kafka broker, and does it hang?"
    else:
        advice = "The broker is too old, or too new, for this client."
    return ConnectError(Stage.API_VERSIONS, peer, reason, advice, code=code, retriable=code.retriable)


def sasl_failed(peer: str, error: KafkaError) -> ConnectError:
    """The broker's own words, and the settings that they are about."""
    advice = {
        ErrorCode.UNSUPPORTED_SASL_MECHANISM: "Set sasl.mechanism to one that the broker offers.",
        ErrorCode.ILLEGAL_SASL_STATE: "This listener wants no SASL: set security.protocol to PLAINTEXT or SSL.",
        ErrorCode.SASL_AUTHENTICATION_FAILED: (
            "Check user and password (or the token), and that the user exists for this mechanism."
        ),
        ErrorCode.UNSUPPORTED_VERSION: "Does this listener want SASL at all? See security.protocol.",
    }.get(error.code, "The broker closed the connection: its log says why.")
    return ConnectError(Stage.SASL, peer, error.message, advice, code=error.code, retriable=error.retriable)


def advertised_failed(node_id: int, error: ConnectError) -> ConnectError:
    """Somebody of the cluster was reached, but not the one that it sent us to."""
    advice = (
        f"That is where broker {node_id} tells clients to come: set its advertised.listeners to an address that can "
        f"be reached from here. {error.advice}"
    )
    reason = f"{error.stage.value}: {error.reason}"
    return ConnectError(
        Stage.ADVERTISED_LISTENER, error.peer, reason, advice, code=error.code, retriable=error.retriable
    )


def reason_of(error: OSError) -> str:
    """Why, in the system's words; asyncio tells the errors of several addresses as one text."""
    numbers = {error.errno} if error.errno else {int(number) for number in re.findall(r"\[Errno (\d+)\]", str(error))}
    if len(numbers) == 1 and (number := numbers.pop()) > 0:
        return os.strerror(number)
    silent = "timed out" if isinstance(error, TimeoutError) else "the connection was closed"
    return error.strerror or str(error) or silent


def _tls_reason(error: ssl.SSLError) -> str:
    """OpenSSL's text, without the line of its sources where it was written and the words for machines: nobody who reads
    this knows them, and they hide what can be understood.
    """
    return re.sub(r"\[[^]]*\]\s*|\s*\(_ssl\.c:\d+\)", "", str(error)) or "the handshake failed"
