"""Seeded faults in reading: the client's fetcher, and readers of segment files beside a broker."""

from __future__ import annotations

from mutant import Mutant

READING = [
    Mutant(
        "fetch-session-without-topic-ids",
        "net/fetch_session.py",
        "if tp not in wanted or wanted[tp].topic_id != known.topic_id",
        "if tp not in wanted",
        "unit/net/test_fetch_session.py",
    ),
    Mutant(
        "fetcher-reads-the-new-topic",
        "client/consumer/engine.py",
        "if topic_id != ZERO_UUID and part.topic_id not in (None, ZERO_UUID, topic_id):",
        "if False:",
        "unit/client/test_engines.py",
    ),
    Mutant(
        "another-topic-on-the-screen",
        "client/consumer/engine.py",
        """            self._positions.out_of_range(part, TopicRecreatedError(part.tp, part.fetch_position))
            return
        part.topic_id = topic_id
""",
        "            pass\n        part.topic_id = topic_id\n",
        "unit/cli/test_consume_process.py",
    ),
    Mutant(
        "deleted-topics-stay-known",
        "client/cluster/metadata.py",
        "for name in self.topics if name not in present]",
        "for name in ()]",
        "unit/client/cluster/test_metadata.py",
    ),
    Mutant(
        "packed-batches-in-one-part",
        "records/arrow/parts.py",
        "if reader.bytes_bound > part_bytes:",
        "if reader.bytes_bound > part_bytes << 20:",
        "unit/records/arrow/test_parts.py",
    ),
    Mutant(
        "packed-segments-in-one-part",
        "log/reading/segment_arrow.py",
        "                    run.buffers(),\n",
        "                    run.buffers(),\n                    part_bytes=1 << 50,\n",
        "unit/log/reading/test_segment_arrow.py",
    ),
    Mutant(
        "arrow-tables-without-an-end-time",
        "log/reading/reader.py",
        "return rows if end_time is None else rows.filter(pc.less(times, end_time))",
        "return rows",
        "unit/log/reading/test_reader.py",
    ),
    Mutant(
        "reader-passes-over-swap",
        "log/reading/segment_listing.py",
        "swapped = {name for name in names if name.suffix == SWAP}",
        "swapped: set[SegmentFile] = set()",
        "unit/log/cleaner/test_reading_beside_a_cleaner.py unit/spark/test_segment_scan.py",
    ),
    Mutant(
        "reader-keeps-its-first-list",
        "log/reading/segment_walk.py",
        """            segments = self._segments()
            if not segments:
                return
""",
        """            segments = self._segments() if last is None else segments
            if not segments:
                return
""",
        "unit/log/cleaner/test_reading_beside_a_cleaner.py",
    ),
    Mutant(
        "reader-believes-every-index",
        "log/reading/segment_reader.py",
        "        if not 0 < position < file.size():\n            return 0\n",
        "        if position >= 0:\n            return position\n",
        "unit/log/cleaner/test_reading_beside_a_cleaner.py",
    ),
    Mutant(
        "fetch-waits-for-what-compaction-removed",
        "client/consumer/fetcher.py",
        "        if gaps and _is_empty(response):",
        "        if False:",
        "unit/client/test_engines.py",
    ),
    Mutant(
        "fetch-skips-what-came-meanwhile",
        "client/consumer/fetcher.py",
        "return part.end is not None and self._end_of(part) >= part.end and self._is_current(entry)",
        "return part.end is not None and self._is_current(entry)",
        "unit/client/test_engines.py",
    ),
    Mutant(
        "fatal-answer-goes-before-records",
        "client/consumer/fetcher.py",
        "            fetched = self._taken()\n",
        "            fetched = self._taken() if self._problem is None else []\n",
        "unit/client/test_engines.py",
    ),
]
