"""A broker's values: its file and command line (static), over which dynamic changes lie.

Precedence, as DescribeConfigs shows it: the value set for this broker, the one set for all brokers, the static one, the
default. Dynamic values come from the store's `/config/brokers` nodes; `apply_dynamic` takes both layers at once, works
out what changed, and tells who asked to know. Values read through `config[KEY]` are always the effective ones.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tidelog.broker import config as keys
from tidelog.broker.config.definition import BROKER_KEYS
from tidelog.broker.config.endpoints import Endpoint, advertise, parse_listeners, parse_overrides, parse_protocol_map
from tidelog.common.config import Config, ConfigError, Key, Update
from tidelog.common.errors import KafkaError
from tidelog.log.message_format import check_broker_format

logger = logging.getLogger(__name__)

T = TypeVar("T")

#: Prefixes under which others declare their keys: they are not ours to check, and not unknown.
LISTENER_PREFIX = "listener.name."
FOREIGN_PREFIXES = (LISTENER_PREFIX, "rlmm.config.", "rsm.config.", "config.providers.", "sasl.oauthbearer.")
#: What may be set for one listener alone, of that which is not security.
LISTENER_KEYS = (keys.MAX_CONNECTIONS, keys.MAX_CONNECTION_CREATION_RATE)
HOUR_MS = 3_600_000
MINUTE_MS = 60_000


def listener_key(name: str) -> Key[Any] | None:
    """The key that `listener.name.<listener>.<key>` sets for one listener, if it is one of `LISTENER_KEYS`."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    return next((key for key in LISTENER_KEYS if name.endswith(f".{key.name}")), None)


def _with_suggestion(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, BROKER_KEYS.keys, 1, 0.8)
    return f"{name} (did you mean {close[0]}?)" if close else name


ChangeCallback = Callable[[frozenset[str]], None]


class BrokerConfig:
    def __init__(self, raw: Mapping[str, str]) -> None:
        self.raw = dict(raw)
        self.static: Config = BROKER_KEYS.parse(self.raw)
        #: Names that nobody declared, in the file's order.
        self.unknown = tuple(name for name in self.static.unknown if not name.startswith(FOREIGN_PREFIXES))
        self.dynamic_broker: dict[str, str] = {}
        self.dynamic_default: dict[str, str] = {}
        #: Stored values (name, text) that cannot hold, and therefore do not.
        self.ignored: frozenset[tuple[str, str]] = frozenset()
        self._effective = self.static
        self._callbacks: list[ChangeCallback] = []
        self._check()

    def __getitem__(self, key: Key[T]) -> T:
        return self._effective[key]

    def explicit(self, key: Key[Any]) -> bool:
        """Whether anybody set the key, in the file or dynamically."""
        return key.name in self._effective.explicit

    def explicit_values(self) -> dict[str, Any]:
        """What is set, parsed, by name."""
        return {name: self._effective[BROKER_KEYS.keys[name]] for name in self._effective.explicit}

    def warn_of_what_has_no_effect(self) -> None:
        """One line of the keys that nobody knows, with those that were probably meant; one of ZooKeeper."""
        if self.unknown:
            logger.warning("Unknown configuration keys, ignored: %s", ", ".join(map(_with_suggestion, self.unknown)))
        if self[keys.ZOOKEEPER_CONNECT]:
            logger.warning("zookeeper.connect is set, but this broker serves alone, on its embedded store")

    # -- dynamic -----------------------------------------------------------------------------------------------------

    def on_change(self, callback: ChangeCallback) -> None:
        self._callbacks.append(callback)

    def apply_dynamic(self, broker: Mapping[str, str], default: Mapping[str, str]) -> frozenset[str]:
        """Take the two dynamic layers; returns (and tells) the names whose effective value changed.

        A stored value that cannot hold (it no longer parses, or breaks a rule over several keys) is left out with a
        warning rather than stopping the broker: what lies below it stays in force.
        """
        try:
            made = self.with_dynamic(broker, default)
        except KafkaError:
            made = self._with_what_holds(broker, default)
        before, listeners_before = self._effective, self._listener_values()
        self.dynamic_broker, self.dynamic_default = made.dynamic_broker, made.dynamic_default
        self.ignored, self._effective = made.ignored, made._effective
        listeners_after = self._listener_values()
        names = before.explicit | self._effective.explicit
        changed = frozenset(
            name for name in names if before[BROKER_KEYS.keys[name]] != self._effective[BROKER_KEYS.keys[name]]
        )
        changed |= {name for name, _ in listeners_before.items() ^ listeners_after.items()}
        if changed:
            for callback in self._callbacks:
                callback(changed)
        return changed

    def with_dynamic(self, broker: Mapping[str, str], default: Mapping[str, str]) -> BrokerConfig:
        """This configuration under other dynamic layers, checked as a whole; raises ConfigError. Nobody is told."""
        values: dict[str, Any] = {}
        for layer in (default, broker):
            for name, text in layer.items():
                key = BROKER_KEYS.keys.get(name)
                if key is not None and key.update is not Update.READ_ONLY:
                    values[name] = key.parse(text)
                elif (of_one := listener_key(name)) is not None:
                    of_one.parse(text)
        made = object.__new__(BrokerConfig)
        vars(made).update(vars(self), _callbacks=[])
        made.dynamic_broker, made.dynamic_default = dict(broker), dict(default)
        made.ignored = frozenset()
        made._effective = self.static.with_values(values)
        made._check()
        protocols = {endpoint.name: endpoint.protocol for endpoint in self.listeners}
        for endpoint in made.listeners:
            if protocols.get(endpoint.name, endpoint.protocol) != endpoint.protocol:
                text = f"The security protocol of an existing listener cannot be changed: {endpoint.name}"
                raise ConfigError(keys.LISTENER_SECURITY_PROTOCOL_MAP.name, endpoint.protocol, text)
        return made

    def _with_what_holds(self, broker: Mapping[str, str], default: Mapping[str, str]) -> BrokerConfig:
        """The dynamic layers without the values that cannot hold, alone or beside the others."""
        layers: tuple[dict[str, str], dict[str, str]] = ({}, {})
        left = [(0, *item) for item in broker.items()] + [(1, *item) for item in default.items()]
        made, progress, reasons = self.with_dynamic({}, {}), True, dict[tuple[int, str], str]()
        while left and progress:
            progress = False
            for entry in list(left):
                number, name, text = entry
                tried = tuple({**layer, name: text} if n == number else layer for n, layer in enumerate(layers))
                try:
                    made = self.with_dynamic(*tried)
                except KafkaError as error:
                    reasons[number, name] = error.message
                    continue
                layers[number][name] = text
                left.remove(entry)
                progress = True
        for number, name, _ in left:
            logger.warning("A stored config of the broker is ignored: %s", reasons[number, name])
        made.ignored = frozenset((name, text) for _, name, text in left)
        return made

    def usable(self, stored: Mapping[str, str]) -> dict[str, str]:
        """What is stored without that which is ignored: the next change takes it out of the store."""
        return {name: text for name, text in stored.items() if (name, text) not in self.ignored}

    def _listener_values(self) -> dict[str, str]:
        """What is set for single listeners, by its full name."""
        layers = {**self.raw, **self.dynamic_default, **self.dynamic_broker}
        return {name: text for name, text in layers.items() if name.startswith(LISTENER_PREFIX)}

    def of_listener(self, key: Key[T], listener: str) -> T:
        """The value for one listener: `listener.name.<listener>.<key>`, else the broker's own."""
        name = f"{LISTENER_PREFIX}{listener.lower()}.{key.name}"
        for layer in (self.dynamic_broker, self.dynamic_default, self.raw):
            if name in layer:
                try:
                    return key.parse(layer[name])
                except ConfigError as error:
                    if layer is self.raw:
                        raise ConfigError(name, layer[name], error.allowed) from None
        return self[key]

    def settle_node_id(self, node_id: int) -> None:
        """The id that the broker has found for itself, under both of its names, as Kafka shows it."""
        known = {keys.NODE_ID.name: node_id, keys.BROKER_ID.name: node_id}
        self.raw.update({name: str(node_id) for name in known})
        self.static, self._effective = self.static.with_values(known), self._effective.with_values(known)

    # -- derived -----------------------------------------------------------------------------------------------------

    @property
    def node_id(self) -> int:
        """`node.id`, else `broker.id`; -1 when neither is set."""
        return self[keys.NODE_ID] if self[keys.NODE_ID] >= 0 else self[keys.BROKER_ID]

    @property
    def log_dirs(self) -> list[str]:
        return self[keys.LOG_DIRS] or self[keys.LOG_DIR]

    @property
    def listeners(self) -> list[Endpoint]:
        """The listeners to open: all but those of a KRaft controller."""
        names: list[str] = self[keys.CONTROLLER_LISTENER_NAMES]
        texts: list[str] = self[keys.LISTENERS]
        controllers = {name.upper() for name in names}
        found = parse_listeners("listeners", texts, self._protocols())
        return [endpoint for endpoint in found if endpoint.name not in controllers]

    @property
    def advertised(self) -> list[Endpoint]:
        texts: list[str] | None = self[keys.ADVERTISED_LISTENERS]
        return advertise(self.listeners, parse_listeners("advertised.listeners", texts or [], self._protocols()))

    @property
    def inter_broker_listener(self) -> str:
        name = self[keys.INTER_BROKER_LISTENER_NAME]
        if name:
            return name.upper()
        protocol = self[keys.SECURITY_INTER_BROKER_PROTOCOL]
        return next((e.name for e in self.listeners if e.protocol == protocol), self.listeners[0].name)

    @property
    def per_ip_overrides(self) -> dict[str, int]:
        """How many connections single addresses may have."""
        return parse_overrides(self[keys.MAX_CONNECTIONS_PER_IP_OVERRIDES])

    @property
    def takes_partitions(self) -> bool:
        """Whether there is a log directory that is not cordoned."""
        cordoned = self[keys.CORDONED_LOG_DIRS]
        return "*" not in cordoned and not set(self.log_dirs) <= set(cordoned)

    @property
    def retention_ms(self) -> int:
        if (ms := self[keys.LOG_RETENTION_MS]) is None:
            minutes = self[keys.LOG_RETENTION_MINUTES]
            ms = self[keys.LOG_RETENTION_HOURS] * HOUR_MS if minutes is None else minutes * MINUTE_MS
        return -1 if ms < 0 else ms

    # -- checks over several keys ------------------------------------------------------------------------------------

    def _protocols(self) -> dict[str, str]:
        table = parse_protocol_map(self[keys.LISTENER_SECURITY_PROTOCOL_MAP])
        names: list[str] = self[keys.CONTROLLER_LISTENER_NAMES]
        # A listener named after a controller needs no entry in the map of a file that does not open it.
        return {**{name.upper(): "PLAINTEXT" for name in names}, **table}

    def _check(self) -> None:
        roles = self[keys.PROCESS_ROLES]
        if roles and "broker" not in roles:
            raise ConfigError(
                keys.PROCESS_ROLES.name, ",".join(roles), "A Tidelog node is a broker: add the broker role"
            )
        if not self.listeners:
            raise ConfigError("listeners", self.raw.get("listeners"), "At least one broker listener is needed")
        if self.inter_broker_listener not in {endpoint.name for endpoint in self.listeners}:
            allowed = "It must be one of the listeners: " + ", ".join(e.name for e in self.listeners)
            raise ConfigError("inter.broker.listener.name", self.inter_broker_listener, allowed)
        if self[keys.NODE_ID] >= 0 and self[keys.BROKER_ID] >= 0 and self[keys.NODE_ID] != self[keys.BROKER_ID]:
            raise ConfigError("node.id", self[keys.NODE_ID], f"It must equal broker.id ({self[keys.BROKER_ID]})")
        if not self.log_dirs:
            raise ConfigError("log.dirs", "", "At least one log directory is needed")
        self._check_message_format()
        _ = self.advertised, self.per_ip_overrides
        self._check_cordoned()
        lag, longest = self[keys.LOG_CLEANER_MIN_COMPACTION_LAG_MS], self[keys.LOG_CLEANER_MAX_COMPACTION_LAG_MS]
        if lag > longest:
            name = keys.LOG_CLEANER_MIN_COMPACTION_LAG_MS.name
            raise ConfigError(name, lag, f"It must not exceed log.cleaner.max.compaction.lag.ms ({longest})")
        for endpoint in self.listeners:
            for key in LISTENER_KEYS:
                self.of_listener(key, endpoint.name)

    def _check_message_format(self) -> None:
        """A broker cannot write a format by default that its protocol does not know."""
        protocol, version = self[keys.INTER_BROKER_PROTOCOL_VERSION], self[keys.LOG_MESSAGE_FORMAT_VERSION]
        allowed = check_broker_format(protocol, version)
        if allowed is not None:
            raise ConfigError(keys.LOG_MESSAGE_FORMAT_VERSION.name, version, allowed)

    def _check_cordoned(self) -> None:
        name, wanted = keys.CORDONED_LOG_DIRS.name, self[keys.CORDONED_LOG_DIRS]
        if "*" in wanted and len(wanted) > 1:
            raise ConfigError(name, ",".join(wanted), "Beside * it must not contain other values")
        missing = [path for path in wanted if path not in (*self.log_dirs, "*")]
        if missing:
            raise ConfigError(name, ",".join(missing), "All entries must be present in log.dirs or log.dir")
