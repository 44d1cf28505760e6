"""Faults in changes of the cluster and in configs, for `mutants.py`."""

from __future__ import annotations

from mutant import Mutant

CONTROL = [
    Mutant(
        "a-change-is-the-connections",
        "broker/controller/changes.py",
        "return await asyncio.shield(task)",
        "return await task",
        "faults/broker/test_hang_ups.py",
    ),
    Mutant(
        "a-sync-is-the-connections",
        "broker/replication/replica_manager.py",
        "        await asyncio.shield(task)",
        "        await task",
        "faults/broker/test_hang_ups.py",
    ),
    Mutant(
        "expiry-of-producers-read-at-the-start",
        "log/manager.py",
        "            log.producers.expiration_ms = self.producer_expiration_ms",
        "            log",
        "unit/broker/test_dynamic_keys.py",
    ),
    Mutant(
        "background-threads-read-at-the-start",
        "broker/network/server.py",
        "        self.workers.resize(worker_threads(self._config))\n",
        "",
        "unit/broker/test_dynamic_keys.py",
    ),
    Mutant(
        "a-cordon-cordons-nothing",
        "log/manager.py",
        "if not self.is_cordoned(directory)]",
        "if directory]",
        "unit/broker/test_dynamic_keys.py",
    ),
    Mutant(
        "changes-at-the-same-time",
        "broker/controller/changes.py",
        "async with self._lock:",
        "if True:",
        "unit/broker/handlers/test_changes_at_once.py",
    ),
    Mutant(
        "stop-forgets-changes",
        "broker/controller/changes.py",
        "while self._under_way:",
        "while False:",
        "unit/broker/handlers/test_changes_at_once.py",
    ),
    Mutant(
        "a-groups-stored-config-is-believed",
        "broker/server.py",
        'usable_overrides(values, f"group {group_id}", GROUP_KEYS)',
        "values",
        "unit/broker/test_unreadable_configs.py",
    ),
    Mutant(
        "an-unreadable-config-stops-the-start",
        "broker/controller/loading.py",
        "except StoreError as error:",
        "except ZeroDivisionError as error:",
        "unit/broker/test_unreadable_configs.py",
    ),
    Mutant(
        "a-topic-of-unknown-configs-loses-records",
        "broker/server.py",
        "if overrides is None])",
        "if False])",
        "unit/broker/test_unreadable_configs.py",
    ),
    Mutant(
        "an-emptied-entity-stays",
        "broker/controller/entity_configs.py",
        "if values or not drop_empty:",
        "if True:",
        "unit/broker/test_unreadable_configs.py",
    ),
    Mutant(
        "a-broken-change-goes-on",
        "broker/controller/changes.py",
        "self._on_broken(error)",
        "error",
        "unit/broker/handlers/test_changes_at_once.py",
    ),
    Mutant(
        "broker-config-not-checked-as-a-whole",
        "broker/config/broker_config.py",
        "        made._check()\n",
        "",
        "unit/broker/test_stored_configs.py",
    ),
    Mutant(
        "topics-not-checked-under-a-new-default",
        "broker/topic_configs.py",
        "if defaults == self.broker_defaults():",
        "if defaults:",
        "unit/broker/test_stored_configs.py",
    ),
    Mutant(
        "a-stored-value-stops-the-start",
        "broker/config/broker_config.py",
        "            made = self._with_what_holds(broker, default)",
        "            raise",
        "unit/broker/test_stored_configs.py",
    ),
    Mutant(
        "configs-of-a-topic-that-is-gone",
        "broker/controller/controller.py",
        "            if topic not in self._metadata.topics:\n                raise",
        "            if not topic:\n                raise",
        "unit/broker/handlers/test_changes_at_once.py",
    ),
    Mutant(
        "an-id-is-a-name",
        "broker/controller/topic_plans.py",
        "        if image is None or image.topic_id != topic_id:",
        "        image = image or next(iter(metadata.topics.values()), None)\n        if image is None:",
        "unit/broker/handlers/test_changes_at_once.py",
    ),
    Mutant(
        "configs-left-over-keep-a-name",
        "broker/controller/controller.py",
        "None if item is None else item[1].version",
        "None",
        "unit/broker/handlers/test_changes_at_once.py",
    ),
]
