"""An Apache Kafka with all that an Admin may ask for: an authorizer, SASL, delegation tokens, two log directories.

Whoever comes by the plain listener is a super user (`User:ANONYMOUS`); alice comes by SASL, with a password.
"""

from __future__ import annotations

from pathlib import Path

from support.kafka import KafkaBroker
from support.ports import free_ports

USER, PASSWORD = "alice", "alice-secret"


class EverythingKafka(KafkaBroker):
    """`address` is the plain listener's, `sasl_address` the other's."""

    def __init__(self, version: str, home: Path) -> None:
        super().__init__(version, home)
        (self.sasl_port,) = free_ports(1)
        self.directories = [home / "data", home / "data2"]
        login = "org.apache.kafka.common.security.plain.PlainLoginModule"
        plain = f"PLAINTEXT://{self.address},SASL://{self.sasl_address}"
        self.properties |= {
            "listeners": f"{plain},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": plain,
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "listener.name.sasl.plain.sasl.jaas.config": f'{login} required user_{USER}="{PASSWORD}";',
            "listener.name.sasl.scram-sha-256.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:ANONYMOUS;User:{USER}",
            "allow.everyone.if.no.acl.found": "true",
            "delegation.token.secret.key": "of-the-tests",
            "log.dirs": ",".join(map(str, self.directories)),
        }

    @property
    def sasl_address(self) -> str:
        return f"127.0.0.1:{self.sasl_port}"

    @property
    def sasl_settings(self) -> dict[str, object]:
        """What a client needs to come as alice."""
        return {
            "bootstrap.servers": self.sasl_address,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }
