"""Record codecs side by side: Tidelog's kernel, aiokafka's compiled code and kafka-python, in one run.

    python bench/records_codec.py [--quick] [--records 100000] [--rounds 30]

Each row is the best of several rounds by CPU time of the thread, so that neighbours on the machine disturb little. The
input is one uncompressed magic 2 batch: 10-byte keys, 100-byte values, no headers. Encoding includes the checksum.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable
from functools import partial

import pyarrow as pa
from aiokafka.record.default_records import DefaultRecordBatch as AioBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AioBuilder
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
from kafka.record.memory_records import MemoryRecords as KafkaPythonRecords

from tidelog.records.arrow import arrow_to_batches, batches_to_arrow
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel._batches import BatchRun

COLUMNS = ("offset", "timestamp", "key", "value")
ONE_BATCH = 1 << 30


class Table:
    """Rows of (what, million records a second), with ratios to the best peer of each part."""

    def __init__(self, records: int, rounds: int) -> None:
        self.records = records
        self.rounds = rounds

    def rate(self, work: Callable[[], object]) -> float:
        work()
        gc.collect()
        gc.disable()
        best = float("inf")
        spent = 0.0
        for _ in range(self.rounds):
            start = time.thread_time()
            work()
            took = time.thread_time() - start
            best = min(best, took)
            spent += took
            if spent > 3:
                break
        gc.enable()
        return self.records / best / 1e6

    def part(self, title: str, ours: dict[str, Callable[[], object]], peers: dict[str, Callable[[], object]]) -> None:
        print(f"\n{title}")
        rates = {name: self.rate(work) for name, work in peers.items()}
        best = max(rates.values())
        for name, rate in {name: self.rate(work) for name, work in ours.items()}.items():
            print(f"  {name:<46}{rate:9.1f} M records/s {rate / best:7.1f} x the best peer")
        for name, rate in rates.items():
            print(f"  {name:<46}{rate:9.2f} M records/s")


def aio_encode(keys: list[bytes], values: list[bytes], builder: type) -> bytes:
    out = builder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=ONE_BATCH,
    )
    append = out.append
    for i in range(len(keys)):
        append(i, 1_600_000_000_000 + i % 50, keys[i], values[i], [])
    return bytes(out.build())


def our_encode(keys: list[bytes], values: list[bytes]) -> bytes:
    builder = BatchBuilder()
    append = builder.append
    for i in range(len(keys)):
        append(1_600_000_000_000 + i % 50, keys[i], values[i])
    return builder.build()


def aio_read(batch: bytearray) -> list[object]:
    return [(record.offset, record.timestamp, record.key, record.value) for record in AioBatch(batch)]


def kafka_python_read(batch: bytes) -> list[object]:
    records = KafkaPythonRecords(batch).next_batch()
    return [(record.offset, record.timestamp, record.key, record.value) for record in records]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--quick", action="store_true", help="three rounds of 10,000 records")
    options = parser.parse_args()
    if options.quick:
        options.records, options.rounds = 10_000, 3
    n = options.records
    keys, values = [b"k%09d" % i for i in range(n)], [b"v" * 100] * n
    key_column, value_column = pa.array(keys), pa.array(values)
    times = pa.array([1_600_000_000_000 + i % 50 for i in range(n)])
    batch = our_encode(keys, values)
    if batch[16:] != aio_encode(keys, values, AioBuilder)[16:]:
        raise SystemExit("the peers' batches differ from ours")
    run = BatchRun(b"".join(arrow_to_batches(key_column, value_column, times)))  # of 1 MB, as a broker takes them
    run.scan()
    print(f"{n:,} records of 10 + 100 bytes in one batch of {len(batch):,} bytes")
    table = Table(n, options.rounds)
    table.part(
        "decode",
        {
            "Arrow, copied": lambda: batches_to_arrow(batch, columns=COLUMNS),
            "Arrow, as views": lambda: batches_to_arrow(batch, columns=COLUMNS, view=True),
            "Arrow, copied, all columns": lambda: batches_to_arrow(batch),
            "Record objects": lambda: next(iter_batches(batch)).records(),
        },
        {
            "aiokafka (compiled), tuples of four fields": lambda: aio_read(bytearray(batch)),
            "kafka-python, tuples of four fields": lambda: kafka_python_read(batch),
        },
    )
    table.part(
        "encode",
        {
            "from Arrow, one batch": lambda: arrow_to_batches(
                key_column, value_column, times, max_batch_bytes=ONE_BATCH
            ),
            "from Arrow, batches of 1 MB": lambda: arrow_to_batches(key_column, value_column, times),
            "record by record": lambda: our_encode(keys, values),
        },
        {
            "aiokafka (compiled)": lambda: aio_encode(keys, values, AioBuilder),
            "kafka-python": lambda: aio_encode(keys, values, KafkaPythonBuilder),
        },
    )
    table.part(
        "validate, as a broker does on produce (batches of 1 MB)",
        {
            "structure of every record": lambda: run.check(crc=False),
            "structure and checksum": run.check,
            "checksum alone": lambda: run.check(records=False),
        },
        {
            "aiokafka: checksum alone": lambda: AioBatch(bytearray(batch)).validate_crc(),
            "aiokafka: checksum and iteration": lambda: (
                AioBatch(bytearray(batch)).validate_crc(),
                sum(1 for _ in AioBatch(bytearray(batch))),
            ),
        },
    )
    small_batches(table)
    packed_batches(table, key_column, value_column, times)


def small_batches(table: Table) -> None:
    """What the broker pays for a producer that sends single records: nanoseconds for each batch of one."""
    one = our_encode([b"k%09d" % 0], [b"v" * 100])
    count = 10_000
    buffer = bytearray(one * count)

    def whole() -> None:
        run = BatchRun(buffer)
        run.scan()
        run.check()
        run.stamp(0, 1)

    rate = table.rate(whole) * count / table.records
    print(f"\nbatches of one record: parse, check and stamp {1000 / rate:.0f} ns each ({rate:.1f} M batches/s)")


def packed_batches(table: Table, key_column: pa.Array, value_column: pa.Array, times: pa.Array) -> None:
    print("\npacked batches of 1 MB (values of 100 equal bytes pack well)")
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD):
        batches = arrow_to_batches(key_column, value_column, times, codec=codec)
        run = BatchRun(b"".join(batches))
        run.scan()
        write = table.rate(partial(arrow_to_batches, key_column, value_column, times, codec=codec))
        read = table.rate(partial(batches_to_arrow, batches, columns=COLUMNS))
        check = table.rate(run.check)
        print(f"  {codec.label:<8} encode {write:6.1f}   decode {read:6.1f}   validate {check:6.1f} M records/s")


if __name__ == "__main__":
    main()
