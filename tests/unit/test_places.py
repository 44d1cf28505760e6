"""A module's test is found by its path: `a/b/c.py` and `a/b/_c.pyx` are tested by `tests/unit/a/b/test_c*.py`.

Some modules are the inside of a room, and are tested by its face: `TOGETHER` says which, and where. A row that is not
needed (its module has a test of its own by now, or is gone) fails, and so does a module that has neither.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SOURCE = TESTS.parent / "src" / "tidelog"

#: Declarations: keys with their defaults, named tuples, protocols, names. Whoever uses them tests them.
DECLARED = (
    "broker/config/*.py",
    "broker/controller/api.py",
    "broker/coordinator/metadata.py",
    "broker/coordinator/ports.py",
    "broker/coordinator/result.py",
    "broker/coordinator/group/consumer/handler.py",
    "broker/coordinator/group/consumer/kinds.py",
    "broker/coordinator/group/consumer/assignors/spec.py",
    "broker/handlers/*/services.py",
    "broker/handlers/context.py",
    "broker/handlers/operations.py",
    "broker/metadata/control_messages.py",
    "broker/metrics.py",
    "broker/store/api.py",
    "broker/store/errors.py",
    "client/config/*.py",
    "client/consumer/errors.py",
    "client/consumer/host.py",
    "client/producer/record.py",
    "client/values.py",
    "common/clock.py",
    "common/rng.py",
    "common/types.py",
    "log/append.py",
    "log/cleaner/config.py",
    "log/cleaner/errors.py",
    "log/segment/file_budget.py",
    "log/topic_keys.py",
    "protocol/_catalog.py",
    "records/arrow/module.py",
    "records/format/attributes.py",
    "records/format/origin.py",
)

#: A room's inside, and the tests of its face.
TOGETHER = {
    "broker/adoption/*.py": "unit/broker/adoption/test_adoption.py",
    "broker/controller/config_changes.py": "unit/broker/handlers/configs/test_alter.py",
    "broker/controller/creations.py": "unit/broker/controller/test_controller.py",
    "broker/controller/deletions.py": "unit/broker/controller/test_controller.py",
    "broker/controller/elections.py": "unit/broker/controller/test_controller.py",
    "broker/controller/entity_configs.py": "unit/broker/handlers/configs/test_alter.py",
    "broker/controller/loading.py": "unit/broker/test_stored_configs.py",
    "broker/controller/partition_states.py": "unit/broker/controller/test_controller.py",
    "broker/coordinator/_offset_record.pyx": "unit/broker/coordinator/test_records.py",
    "broker/coordinator/loading.py": "unit/broker/coordinator/test_shard.py",
    "broker/coordinator/group/bridge/classic_members.py": "unit/broker/coordinator/group/bridge/test_migration.py",
    "broker/coordinator/group/classic/*.py": "scenarios/coordinator/test_scenarios.py",
    "broker/coordinator/group/consumer/assignors/*.py": "property/coordinator/test_assignors.py",
    "broker/coordinator/group/consumer/*.py": "scenarios/coordinator/test_scenarios.py",
    "broker/coordinator/group/machine.py": "property/coordinator/test_replay.py",
    "broker/coordinator/group/offsets/*": "unit/broker/handlers/groups/test_offset_commit.py",
    "broker/coordinator/transaction/markers.py": "unit/broker/test_node.py",
    "broker/coordinator/transaction/*.py": "scenarios/coordinator/test_scenarios.py",
    "broker/dynamic_configs.py": "unit/broker/test_stored_configs.py",
    "broker/exposition.py": "unit/broker/test_http.py",
    "broker/handlers/cluster/telemetry_clients.py": "unit/broker/handlers/cluster/test_telemetry.py",
    "broker/handlers/configs/list_resources.py": "unit/broker/handlers/test_every_version.py",
    "broker/handlers/encoded.py": "unit/broker/handlers/topics/test_kept_answers.py",
    "broker/handlers/groups/_heartbeat.pyx": "unit/broker/handlers/groups/test_read_takers.py",
    "broker/handlers/groups/_offset_fetch.pyx": "unit/broker/handlers/groups/test_read_takers.py",
    "broker/handlers/groups/_group_taker.pyx": "unit/broker/handlers/groups/test_read_takers.py",
    "broker/handlers/groups/*.py": "unit/broker/handlers/groups/test_versions.py",
    "broker/handlers/records/_produce_answer.pyx": "unit/broker/handlers/records/test_produce.py",
    "broker/handlers/records/fetching.py": "unit/broker/handlers/records/test_fetch.py",
    "broker/handlers/records/leaders.py": "unit/broker/handlers/records/test_produce.py",
    "broker/handlers/records/preparation.py": "unit/broker/handlers/records/test_old_formats.py",
    "broker/handlers/records/records_field.py": "unit/broker/handlers/records/test_refusals.py",
    "broker/handlers/records/versions.py": "unit/broker/handlers/test_field_versions.py",
    "broker/handlers/security/sasl.py": "unit/broker/handlers/test_every_version.py",
    "broker/handlers/takers.py": "unit/broker/network/test_sink.py",
    "broker/handlers/topics/reassignments.py": "unit/broker/handlers/test_every_version.py",
    "broker/handlers/transactions/*.py": "unit/broker/handlers/groups/test_versions.py",
    "broker/logging_setup.py": "unit/broker/test_server.py",
    "broker/metadata/topic_configs.py": "unit/broker/metadata/test_config_entries.py",
    "broker/network/dispatcher.py": "unit/broker/network/test_hostile_frames.py",
    "broker/purgatory/purgatories.py": "unit/broker/coordinator/test_coordinators.py",
    "broker/replication/appends.py": "unit/broker/replication/test_flusher.py",
    "broker/replication/fetcher.py": "unit/broker/replication/test_follower.py",
    "broker/replication/waiting.py": "unit/broker/handlers/records/test_produce.py",
    "broker/replication/waking.py": "unit/broker/replication/test_partition.py",
    "broker/requests/_taker.pyx": "unit/broker/network/test_sink.py",
    "broker/requests/_writer.pyx": "unit/broker/handlers/records/test_fetch_codec.py",
    "broker/store/adopted.py": "unit/broker/adoption/test_adoption.py",
    "broker/store/paths.py": "unit/broker/store/test_znodes.py",
    "broker/store/tree.py": "contract/store/test_contract.py",
    "cli/connection.py": "unit/cli/test_topic_commands.py",
    "cli/input_lines.py": "unit/cli/test_produce_process.py",
    "cli/log_*.py": "unit/cli/test_log_commands.py",
    "cli/properties_file.py": "unit/cli/test_main.py",
    "cli/serve.py": "unit/broker/test_serve_process.py",
    "cli/topics.py": "unit/cli/test_topic_commands.py",
    "client/admin/routes.py": "unit/client/admin/test_call.py",
    "client/admin/*.py": "unit/client/admin/test_on_broker.py",
    "client/cluster/backoff.py": "unit/client/cluster/test_connections.py",
    "client/consumer/assignors/*.py": "unit/client/consumer/assignors/test_assignors.py",
    "client/consumer/handling/job_queues.py": "unit/client/consumer/handling/test_workload.py",
    "client/consumer/handling/*.py": "unit/client/consumer/handling/test_runs.py",
    "client/consumer/membership/*.py": "unit/client/consumer/membership/test_decisions.py",
    "client/consumer/arrow_fetcher.py": "unit/client/test_engines.py",
    "client/consumer/committing.py": "unit/client/consumer/test_commits.py",
    "client/consumer/fetched_batches.py": "unit/client/consumer/test_engine.py",
    "client/consumer/fetch_request.py": "unit/client/consumer/test_engine.py",
    "client/consumer/fetcher.py": "unit/client/test_engines.py",
    "client/consumer/reset.py": "unit/client/consumer/test_positions.py",
    "client/consumer/subscribing.py": "unit/client/consumer/test_subscriptions.py",
    "client/consumer/*.py": "unit/client/consumer/test_polling.py",
    "client/offsets.py": "unit/client/test_engines.py",
    "client/producer/recovery.py": "unit/client/producer/test_delivery.py",
    "client/producer/*": "unit/client/producer/test_producer.py",
    "client/transaction_requests.py": "unit/client/test_engines.py",
    "log/cleaner/cleaned_transactions.py": "property/log/test_compaction_kernel.py",
    "log/cleaner/job.py": "unit/log/cleaner/test_threads.py",
    "log/cleaner/legacy.py": "unit/log/partition/test_old_format_log.py",
    "log/cleaner/plan.py": "unit/log/cleaner/test_cleaner.py",
    "log/cleaner/rewriter.py": "unit/log/cleaner/test_cleaner.py",
    "log/directory/log_dir.py": "unit/log/manager/test_manager.py",
    "log/directory/meta_properties.py": "unit/log/manager/test_manager.py",
    "log/manager/*.py": "unit/log/manager/test_manager.py",
    "log/partition/*.py": "unit/log/partition/test_partition_log.py",
    "log/producers/*": "unit/log/producers/test_state_manager.py",
    "log/reading/offline.py": "unit/cli/test_log_commands.py",
    "log/reading/*.py": "unit/log/reading/test_reader.py",
    "log/recovery/*": "unit/log/recovery/test_recovery.py",
    "log/segment/*": "unit/log/segment/test_segment.py",
    "net/_incoming.pyx": "unit/net/test_connection.py",
    "net/_outgoing.pyx": "unit/net/test_connection.py",
    "net/_receive.pyx": "unit/net/test_connection.py",
    "net/_sending.pyx": "unit/net/test_connection.py",
    "net/_socket_sending.pyx": "unit/net/test_connection_leaks.py",
    "net/dialing.py": "unit/net/test_node_client.py",
    "net/listener.py": "unit/net/test_connection_table.py",
    "net/sasl/exchange.py": "unit/net/sasl/test_plain.py",
    "net/tuning.py": "unit/net/test_connection_leaks.py",
    "protocol/_decoder.py": "unit/protocol/test_messages.py",
    "protocol/_encoder.py": "unit/protocol/test_messages.py",
    "protocol/_source.py": "unit/protocol/test_messages.py",
    "protocol/consumer_protocol.py": "unit/broker/coordinator/group/bridge/test_migration.py",
    "protocol/headers.py": "unit/protocol/test_api.py",
    "protocol/schema.py": "unit/protocol/test_parser.py",
    "records/arrow/buffers.py": "unit/records/arrow/test_read.py",
    "records/arrow/schema.py": "unit/records/arrow/test_read.py",
    "records/codec/lz4_frame.py": "unit/records/codec/test_compression.py",
    "records/format/control.py": "unit/log/producers/test_state_manager.py",
    "records/kernel/_columns.pyx": "unit/records/arrow/test_read.py",
    "records/kernel/_convert.pyx": "unit/records/format/test_convert.py",
    "records/kernel/_encode.pyx": "unit/records/arrow/test_write.py",
    "records/kernel/_filter.pyx": "unit/records/arrow/test_read.py",
    "records/kernel/_in_place.pyx": "unit/records/arrow/test_in_place.py",
    "records/kernel/_messages.pyx": "unit/records/format/test_legacy.py",
    "records/kernel/murmur2.py": "unit/records/arrow/test_write.py",
    "records/kernel/*": "property/records/test_record_properties.py",
    "spark/batch_reader.py": "spark/test_batch_source.py",
    "spark/data_source.py": "spark/test_batch_source.py",
    "spark/decision_reader.py": "unit/spark/test_commit_protocol.py",
    "spark/decisions.py": "unit/spark/test_commit_protocol.py",
    "spark/pushdown.py": "unit/spark/test_boundaries.py",
    "spark/schema.py": "unit/spark/test_options.py",
    "spark/segment_topics.py": "unit/spark/test_segment_scan.py",
    "spark/session.py": "spark/test_session.py",
    "spark/strays.py": "unit/spark/test_rival_drivers.py",
    "spark/wire_topics.py": "unit/spark/test_wire_scan.py",
    "spark/worker.py": "spark/test_worker.py",
    "testing/pytest_plugin.py": "unit/testing/test_broker.py",
    "testing/*.py": "unit/testing/test_doubles.py",
}


def modules() -> list[str]:
    found = (path for pattern in ("*.py", "*.pyx") for path in SOURCE.rglob(pattern) if path.name != "__init__.py")
    names = sorted(str(path.relative_to(SOURCE)) for path in found)
    return [name for name in names if "/" in name]  # the public names at the top are faces of what lies below


def has_test(module: str) -> bool:
    path = Path(module)
    return any((TESTS / "unit" / path.parent).glob(f"test_{path.stem.lstrip('_')}*.py"))


def row_of(module: str) -> str | None:
    """The first row that speaks of the module."""
    return next((pattern for pattern in (*DECLARED, *TOGETHER) if fnmatch(module, pattern)), None)


LEFT = [module for module in modules() if not has_test(module)]


def test_every_module_has_its_test() -> None:
    assert not [module for module in LEFT if row_of(module) is None], "test it at its path, or say here where"


def test_every_row_is_needed() -> None:
    needed = {row_of(module) for module in LEFT}
    assert not [pattern for pattern in (*DECLARED, *TOGETHER) if pattern not in needed]


@pytest.mark.parametrize("test", sorted(set(TOGETHER.values())))
def test_the_tests_are_there(test: str) -> None:
    assert (TESTS / test).is_file()
