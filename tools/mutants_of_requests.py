"""Seeded faults in how requests come, wait, are read and answered."""

from __future__ import annotations

from mutant import Mutant

REQUESTS = [
    Mutant(
        "completions-nest",
        "broker/purgatory/completions.py",
        "if not self._busy:",
        "if True:",
        "unit/broker/purgatory/test_completions.py unit/broker/network/test_chains.py",
    ),
    Mutant(
        "fetch-waits-at-a-segments-end",
        "broker/handlers/records/fetching.py",
        "partition.log.crosses_segments(fetch.fetch_offset, end)",
        "end < 0",
        "unit/broker/handlers/records/test_fetch_growth.py",
    ),
    Mutant(
        "aborted-list-without-end",
        "log/partition/partition_log.py",
        "else self.aborted_transactions(start, end)",
        "else self.aborted_transactions(start, self.last_stable_offset)",
        "unit/broker/handlers/records/test_fetch_growth.py",
    ),
    Mutant(
        "conversion-keeps-its-file",
        "broker/handlers/records/fetch.py",
        "after=piece.release",
        "after=None",
        "unit/broker/handlers/records/test_fetch_growth.py",
    ),
    Mutant(
        "session-of-two-connections",
        "broker/handlers/records/fetch.py",
        "session.epoch != next_epoch(request.session_epoch)",
        "session.epoch < 0",
        "unit/broker/handlers/records/test_fetch_growth.py",
    ),
    Mutant(
        "times-looked-up-on-the-loop",
        "broker/handlers/records/list_offsets.py",
        "await services.workers.run(partial(_find, lookups))",
        "_find(lookups)",
        "unit/broker/handlers/records/test_fetch_growth.py",
    ),
    Mutant(
        "gzip-members-copied-again",
        "records/codec/compression.py",
        "        step = GZIP_STEP\n",
        "        step = len(data)\n",
        "unit/records/codec/test_compression.py",
    ),
    Mutant(
        "unpacked-before-it-is-measured",
        "broker/replication/partition.py",
        "            if size:\n",
        "            if False:\n",
        "unit/broker/handlers/records/test_produce.py",
    ),
    Mutant(
        "reset-leaves-its-place-taken",
        "net/_connection.pyx",
        "except OSError:  # who knocked",
        "except KeyError:  # who knocked",
        "unit/net/test_connection_leaks.py",
    ),
    Mutant(
        "slow-reader-taken-for-idle",
        "net/connection_table.py",
        "return connection.reads + connection.writes",
        "return connection.reads",
        "unit/net/test_connection_leaks.py",
    ),
    Mutant(
        "shard-loads-for-ever",
        "broker/coordinator/shard.py",
        "except Exception:  # whatever it is",
        "except (KafkaError, OSError):  # whatever it is",
        "unit/broker/coordinator/test_runtime.py",
    ),
    Mutant(
        "crowd-takes-the-last-descriptors",
        "net/listener.py",
        "if is_scarce(sock.fileno()):",
        "if sock.fileno() < 0:",
        "unit/net/test_connection_table.py",
    ),
    Mutant(
        "files-take-the-last-descriptors",
        "log/segment/_handles.pyx",
        "if self.ceiling > 0 and",
        "if self.ceiling < 0 and",
        "unit/log/segment/test_handles.py",
    ),
    Mutant(
        "deaf-scraper-keeps-its-answer",
        "broker/http.py",
        "writer.transport.abort()",
        "writer.transport.get_write_buffer_size()",
        "unit/broker/test_http.py",
    ),
    Mutant(
        "every-bad-record-named",
        "records/format/validate.py",
        "if len(self.errors) >= MOST_NAMED:",
        "if not self.errors:",
        "unit/records/format/test_validate.py",
    ),
    Mutant(
        "metrics-unpacked-on-the-loop",
        "broker/handlers/cluster/telemetry.py",
        "await services.workers.run(lambda: _unpack(codec, metrics, max_bytes))",
        "_unpack(codec, metrics, max_bytes)",
        "unit/broker/handlers/cluster/test_telemetry.py",
    ),
    Mutant(
        "who-leaves-makes-room-on-the-threads",
        "broker/workers.py",
        "lambda waiting: job.cancel() if waiting.cancelled() else None",
        "lambda waiting: self._over(job, outcome, None) if waiting.cancelled() and not job.cancel() else None",
        "unit/broker/test_workers.py",
    ),
    Mutant(
        "nothing-copied-without-sendfile",
        "net/_socket.h",
        "errno == EINVAL || errno == ENOSYS ?",
        "0 ?",
        "spec/test_zero_copy.py",
    ),
]
