"""Ten thousand segments under a limit of 1,024 open files, and what an idle partition costs in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

#: Runs in a process of its own: the limit and the memory are the process's.
SCRIPT = """
import json, resource, sys
from pathlib import Path

resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
sys.path.insert(0, sys.argv[2])
from support.logs import batch, run_of
from tidelog.common.types import TopicPartition
from tidelog.log.config import LogConfig
from tidelog.log.manager.manager import LogManager

PARTITIONS, SEGMENTS = 500, 20
config = LogConfig.from_topic({"internal.segment.bytes": 100, "segment.index.bytes": 120, "index.interval.bytes": 1})

def rss():
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0])

def opened():
    manager = LogManager([Path(sys.argv[1])])
    manager.open()
    manager.write_meta("A" * 22, 1)
    manager.load(lambda topic: config)
    return manager

manager = opened()
for number in range(PARTITIONS):
    log = manager.create(TopicPartition("t", number), config)
    for _ in range(SEGMENTS):
        log.append_as_leader(run_of(batch([b"x" * 20])), 0)
    log.advance_high_watermark(log.log_end_offset)
segments = sum(len(log.segments) for log in manager.all_logs())
manager.shutdown()
before = rss()
manager = opened()
after = rss()
read = 0
for log in manager.all_logs():
    for offset in range(log.log_end_offset):
        found = log.read(offset, 1000)
        read += len(found.slice.read()) > 0
        found.slice.release()
manager.shutdown()
print(json.dumps({"segments": segments, "read": read, "kb_per_partition": (after - before) / PARTITIONS}))
"""


def test_ten_thousand_segments_in_1024_files(tmp_path: Path) -> None:
    tests = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "data"), tests], capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["segments"] == 10_000
    assert said["read"] == 10_000
    # 20 segments each: a few KB for the partition and a few hundred bytes for each of its segments
    assert said["kb_per_partition"] < 40, said
