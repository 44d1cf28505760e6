"""Seeded faults of the command line, the offline tools, and the adoption of an Apache Kafka's directories."""

from __future__ import annotations

from mutant import Mutant

TOOLS = [
    Mutant(
        "packed-old-entry-is-one-record",
        "log/reading/verify.py",
        "RecordBatch(run, index).record_count",
        "(1 if header.magic < 2 else header.record_count)",
        "unit/cli/test_log_commands.py",
    ),
    Mutant(
        "any-folder-is-a-partition",
        "cli/log_paths.py",
        "is not None and _holds_log(resolved)",
        "is not None",
        "unit/cli/test_log_commands.py",
    ),
    Mutant(
        "deleted-topic-never-missed",
        "broker/handlers/topics/metadata.py",
        "if name in metadata.topics and not deleted else",
        "if name in metadata.topics else",
        "unit/broker/handlers/topics/test_metadata.py",
    ),
    Mutant(
        "strays-left-aside",
        "broker/adoption/strays.py",
        "        _restore(manager, tp, path)\n",
        "        str(path)\n",
        "unit/broker/adoption/test_adoption.py",
    ),
    Mutant(
        "comeback-keeps-stale-configs",
        "broker/adoption/comeback.py",
        "if values != ours:",
        "if values != ours and not ours:",
        "unit/broker/adoption/test_adoption.py",
    ),
    Mutant(
        "kafka-in-between-unseen",
        "broker/adoption/scan.py",
        "return note is None or note.log != log_files(fs, metadata_log)",
        "return note is None",
        "unit/broker/adoption/test_adoption.py",
    ),
    Mutant(
        "refused-adoption-sticks",
        "broker/adoption/adopt.py",
        "                configs.check(name)\n",
        "                configs.overrides(name)\n",
        "unit/broker/adoption/test_adoption.py",
    ),
    Mutant(
        "ctrl-c-waits-for-enter",
        "cli/input_lines.py",
        'name="input", daemon=True',
        'name="input", daemon=False',
        "unit/cli/test_produce_process.py",
    ),
    Mutant(
        "slow-pipe-held-back",
        "cli/input_lines.py",
        "return lambda: os.read(number, BLOCK)",
        "return lambda: stream.read(BLOCK)",
        "unit/cli/test_produce_process.py::test_a_slow_pipe_is_not_held_back",
    ),
    Mutant(
        "dead-leader-asked-again",
        "client/producer/sender.py",
        "        if outcome.code.refresh_metadata:\n",
        "        if False:\n",
        "unit/cli/test_line_producer.py",
    ),
    Mutant(
        "topic-that-nobody-makes-waited-for",
        "cli/line_producer.py",
        "        await ensure_writable(self._cluster, self._topic)\n",
        "        await Producer.over(self._cluster).partitions_for(self._topic)\n",
        "unit/cli/test_produce_process.py",
    ),
    Mutant(
        "only-serve-names-unknown-keys",
        "broker/node.py",
        "        self.config.warn_of_what_has_no_effect()\n",
        "",
        "unit/testing/test_broker.py",
    ),
    Mutant(
        "properties-must-be-utf-8",
        "cli/properties_file.py",
        'text = data.decode("latin-1")',
        "raise",
        "unit/cli/test_main.py",
    ),
    Mutant(
        "json-fields-ignored",
        "cli/record_text.py",
        "value.keys() - {*FIELDS, *CONSUMED}",
        "value.keys() - value.keys()",
        "unit/cli/test_topic_commands.py",
    ),
]
