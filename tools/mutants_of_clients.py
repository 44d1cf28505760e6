"""Seeded faults of the clients: settings, connections, proofs of who one is."""

from __future__ import annotations

from mutant import Mutant

CLIENTS = [
    Mutant(
        "any-broker-is-the-least-loaded",
        "client/cluster/connections.py",
        "if node.in_flight == fewest]",
        "]",
        "unit/client/cluster/test_connections.py",
    ),
    Mutant(
        "no-peace-for-who-refused",
        "client/cluster/connections.py",
        "now + self._backoff.wait(failures, self._rng)",
        "now",
        "unit/client/cluster/test_connections.py",
    ),
    Mutant(
        "waiting-is-idling",
        "client/cluster/connections.py",
        "used = node.in_flight > 0 or node.requests",
        "used = node.requests",
        "unit/client/cluster/test_connections.py",
    ),
    Mutant(
        "bootstrap-servers-are-forgotten",
        "client/cluster/client.py",
        'if not known or self.config[keys.METADATA_RECOVERY_STRATEGY] == "rebootstrap":',
        "if not known:",
        "unit/client/cluster/test_connections.py",
    ),
    Mutant(
        "advertised-address-is-not-blamed",
        "client/cluster/client.py",
        "if error.stage in (Stage.DNS, Stage.TCP) and address not in self._bootstrap:",
        "if False:",
        "unit/client/cluster/test_connections.py",
    ),
    Mutant(
        "receive-buffer-has-no-effect",
        "net/dialing.py",
        "if options.receive_buffer >= 0:",
        "if False:",
        "unit/client/cluster/test_connections.py",
    ),
    Mutant(
        "one-address-of-a-name-is-tried",
        "net/dialing.py",
        "in enumerate(addresses):",
        "in enumerate(addresses[:1]):",
        "unit/client/cluster/test_connections.py",
    ),
    Mutant(
        "any-name-in-a-certificate-will-do",
        "client/cluster/tls.py",
        "context.check_hostname = bool(config[keys.SSL_IDENTIFICATION])",
        "context.check_hostname = False",
        "unit/client/cluster/test_tls.py",
    ),
    Mutant(
        "proofs-are-never-renewed",
        "net/node_client.py",
        "if asyncio.get_running_loop().time() < self._renew_at:",
        "if True:",
        "unit/client/cluster/test_security.py",
    ),
    Mutant(
        "scram-server-is-believed-anyhow",
        "net/sasl/scram.py",
        "not hmac.compare_digest(_bytes(server_final[2:]), signature)",
        "False",
        "unit/net/sasl/test_scram.py",
    ),
    Mutant(
        "scram-answer-to-somebody-else",
        "net/sasl/scram.py",
        'if not match["nonce"].startswith(self._nonce):',
        "if False:",
        "unit/net/sasl/test_scram.py",
    ),
    Mutant(
        "idempotence-with-acks-of-one",
        "client/config/producer.py",
        'ACKS: "to all" if config[ACKS] not in ("all", "-1") else "",',
        'ACKS: "",',
        "unit/client/config/test_parsing.py",
    ),
    Mutant(
        "misspelt-keyword-is-taken",
        "client/config/parsing.py",
        "if name not in definition:",
        "if False:",
        "unit/client/config/test_parsing.py",
    ),
    Mutant(
        "first-default-counts-for-all-clients",
        "client/config/parsing.py",
        "self.definition.keys.get(key.name, key).default",
        "key.default",
        "unit/client/config/test_parsing.py",
    ),
    Mutant(
        "plain-text-to-tls-is-tried-again",
        "net/stages.py",
        "return ConnectError(Stage.API_VERSIONS, peer, str(error), advice, retriable=False)",
        "return ConnectError(Stage.API_VERSIONS, peer, str(error), advice)",
        "unit/net/test_stages.py",
    ),
    Mutant(
        "missing-topic-is-waited-for",
        "client/topics.py",
        "and not await _makes_topics(cluster)",
        "and False",
        "unit/client/test_topics.py",
    ),
    Mutant(
        "unknown-client-keys-vanish",
        "client/config/parsing.py",
        "for name in config.unknown:",
        "for name in ():",
        "unit/client/config/test_parsing.py",
    ),
    Mutant(
        "connections-of-others-closed",
        "client/producer/core.py",
        "        if not self.borrowed:\n",
        "        if True:\n",
        "unit/client/test_engines.py::test_a_transaction_is_left_to_somebody_else",
    ),
    Mutant(
        "handed-over-before-it-is-written",
        "client/producer/transaction_exchanges.py",
        "        await self.sender.flush()\n        return self.manager.detach()\n",
        "        return self.manager.detach()\n",
        "unit/client/test_engines.py",
    ),
    Mutant(
        "rows-without-keys-left-to-chance",
        "client/producer/columns.py",
        "        if last is None:\n            chosen",
        "        if True:\n            chosen",
        "spec/test_routing.py",
    ),
    Mutant(
        "lines-behind-a-lost-one",
        "cli/line_producer.py",
        "        self._check()\n        if record.partition",
        "        if record.partition",
        "unit/cli/test_line_producer.py",
    ),
    Mutant(
        "passing-error-turns-idempotence-off",
        "cli/line_producer.py",
        """        try:
            await init_producer_id(self._cluster, None, 0)
        except KafkaError as error:
            if error.code not in NO_IDEMPOTENCE:
                raise
            return False
        return True
""",
        """        from tidelog.protocol.messages import InitProducerIdRequest

        node = await self._cluster.any_node()
        return not (await node.send(InitProducerIdRequest(), highest=4)).error_code
""",
        "unit/cli/test_line_producer.py",
    ),
    Mutant(
        "five-in-flight-without-idempotence",
        "cli/line_producer.py",
        'usual["max_in_flight_requests_per_connection"] = 1',
        'usual["max_in_flight_requests_per_connection"] = 5',
        "unit/cli/test_line_producer.py",
    ),
]
