"""A process that writes to a log until it is killed; every line on stdout is a promise.

    python -m support.log_writer DIRECTORY SEED [PROMISES]

Prints `flushed N` when everything below offset N is synced, and `table {json}` with it. In between it appends, rolls,
compacts, deletes old segments and writes checkpoints, as chance will have it. After so many PROMISES it ends by itself,
as suddenly as if it had been killed.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

from support.managed_logs import TP, append, compact_config
from tidelog.common.rng import seeded_rng
from tidelog.log.manager.manager import LogManager

CONFIG = compact_config(internal_segment_bytes=4000, segment_index_bytes=4096, file_delete_delay_ms=0)


def main() -> None:
    rng = random.Random(int(sys.argv[2]))
    manager = LogManager([Path(sys.argv[1])], {"log.cleaner.dedupe.buffer.size": 24 * 1000}, rng=seeded_rng(1))
    manager.open()
    manager.load(lambda topic: CONFIG)
    log = manager.create(TP, CONFIG)
    log.advance_high_watermark(log.log_end_offset)
    rewriter = manager.cleaner.new_rewriter()
    table: dict[str, str] = {}
    promises = int(sys.argv[3]) if len(sys.argv) > 3 else -1
    print("ready", flush=True)
    while True:
        pairs = [(b"k%d" % rng.randrange(30), b"%d" % log.log_end_offset) for _ in range(rng.randrange(1, 6))]
        first = append(log, pairs).first_offset
        table.update((key.decode(), f"{first + n}") for n, (key, _) in enumerate(pairs))
        chance = rng.random()
        if chance < 0.2:
            log.flush()
            print(f"flushed {log.recovery_point} {json.dumps(table)}", flush=True)
            promises -= 1
            if promises == 0:
                os._exit(0)
        elif chance < 0.25:
            log.roll()
        elif chance < 0.3:
            manager.checkpoint()
        elif chance < 0.4:
            manager.cleaner.clean_one(rewriter)
            assert not manager.cleaner.uncleanable
        elif chance < 0.45:
            manager.scheduler.run_due()  # type: ignore[attr-defined]  # the manager's own timer queue


if __name__ == "__main__":
    main()
