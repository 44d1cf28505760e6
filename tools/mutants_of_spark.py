"""Seeded faults in the Spark source and sink."""

from __future__ import annotations

from mutant import Mutant

SPARK = [
    Mutant(
        "push-down-before-1970",
        "spark/pushdown.py",
        "or self.timestamp_ms < 0:",
        "or False:",
        "unit/spark/test_boundaries.py",
    ),
    Mutant(
        "wire-scan-waits-for-what-never-comes",
        "spark/wire_scan.py",
        "    if end >= part.end:\n        return False\n",
        "    if end >= 0:\n        return False\n",
        "unit/spark/test_wire_scan.py",
    ),
    Mutant(
        "spark-decision-not-checked",
        "spark/commit_protocol.py",
        "if end - now < needed:",
        "if end - now < 0:",
        "unit/spark/test_commit_protocol.py",
    ),
    Mutant(
        "spark-decision-checked-too-early",
        "spark/commit_protocol.py",
        """        decision = await self._log.open()
        self._step("opened")
        if decision is None or decision.batch < self._batch:
            if decision is not None and self._may_skip:
                await _carry_out_late(self._cluster, decision, self._step)
            decision = Decision(self._query, self._batch, transactions)
            if transactions:
                await self._check_alive(transactions)
""",
        """        await self._log.read()
        await self._check_alive(transactions)
        decision = await self._log.open()
        self._step("opened")
        if decision is None or decision.batch < self._batch:
            if decision is not None and self._may_skip:
                await _carry_out_late(self._cluster, decision, self._step)
            decision = Decision(self._query, self._batch, transactions)
            if transactions:
""",
        "unit/spark/test_commit_protocol.py",
    ),
    Mutant(
        "spark-decision-lives-as-long-as-a-batch",
        "spark/decisions.py",
        "transaction_timeout_ms=self._limit_ms",
        "transaction_timeout_ms=cluster.config[keys.TRANSACTION_TIMEOUT_MS]",
        "unit/spark/test_commit_protocol.py",
    ),
    Mutant(
        "spark-late-decision-is-made",
        "spark/decisions.py",
        "if clock.monotonic() >= deadline:",
        "if clock.monotonic() >= deadline + 1000:",
        "unit/spark/test_commit_protocol.py",
    ),
    Mutant(
        "spark-strays-of-longer-names",
        "spark/transaction_names.py",
        "(?P<query>.+)/(?P<batch>",
        "(?P<query>[^/]+)/(?:.*/)?(?P<batch>",
        "unit/spark/test_transaction_names.py",
    ),
    Mutant(
        "spark-aborted-decision-counts",
        "spark/decision_reader.py",
        "if marker is not None and marker.committed:",
        "if marker is not None:",
        "unit/spark/test_commit_protocol.py",
    ),
    Mutant(
        "spark-decisions-move-with-the-count",
        "spark/decisions.py",
        "min(partitions, PARTITIONS)",
        "partitions",
        "unit/spark/test_commit_protocol.py",
    ),
    Mutant(
        "spark-another-topic-behind-a-loss",
        "spark/wire_scan.py",
        "part.end, fetcher.ranges[tp].topic_id)",
        "part.end)",
        "unit/spark/test_wire_scan.py",
    ),
    Mutant(
        "spark-pattern-dies-with-a-topic-in-between",
        "spark/boundaries.py",
        "if options.pattern is None or error.code is not",
        "if error.code is",
        "unit/spark/test_wire_scan.py",
    ),
    Mutant(
        "spark-decision-of-many-tasks-too-large",
        "spark/decisions.py",
        'compression_type="gzip",',
        'compression_type="none",',
        "unit/spark/test_rival_drivers.py",
    ),
    Mutant(
        "spark-superseded-driver-aborts",
        "spark/strays.py",
        "if not await log.condemn(strays):",
        "if not strays:",
        "unit/spark/test_rival_drivers.py",
    ),
    Mutant(
        "spark-condemned-is-decided",
        "spark/commit_protocol.py",
        "if any(one.transactional_id not in claimed for one in transactions):",
        "if False:",
        "unit/spark/test_rival_drivers.py",
    ),
    Mutant(
        "spark-check-takes-no-time",
        "spark/commit_protocol.py",
        "            ends.append((end, found.timeout_ms))",
        """            if end - self._cluster.clock.time_ms() < reserve_ms(found.timeout_ms):
                ends.append((0, found.timeout_ms))""",
        "unit/spark/test_rival_drivers.py",
    ),
    Mutant(
        "spark-decision-of-a-narrower-topic-unseen",
        "spark/decisions.py",
        "if standing.decided is None and places != everywhere:",
        "if False:",
        "unit/spark/test_rival_drivers.py",
    ),
    Mutant(
        "spark-claims-live-as-the-readers-do",
        "spark/strays.py",
        "_LIVES * claim.life_ms",
        '_LIVES * cluster.config[cluster.config.definition.keys["transaction.timeout.ms"]]',
        "unit/spark/test_rival_drivers.py",
    ),
    Mutant(
        "spark-named-write-looks-not-back",
        "spark/commit_protocol.py",
        "if decision is not None and self._may_skip:",
        "if False:",
        "unit/spark/test_rival_drivers.py",
    ),
    Mutant(
        "spark-abort-without-messages",
        "spark/writers.py",
        "named or self._options.query_id or query_of_checkpoint(self._options.checkpoint)",
        "named",
        "unit/spark/test_writers.py",
    ),
    Mutant(
        "published-position-in-a-deleted-topic",
        "spark/stream_reader.py",
        "self._options.group_id, done, missing_ok=True)",
        "self._options.group_id, done)",
        "unit/spark/test_wire_scan.py",
    ),
]
