"""Topics as Spark tables: a source (batch and stream, over the wire or straight from log files) and an exactly-once
sink.

Reading order:

    data_source        what Spark calls; `options` and `schema` are what it is told and what it gets
    offsets            ranges, limits of a trigger, the JSON of checkpoints; `boundaries`: options to ranges; `pushdown`
    batch_reader, stream_reader   the two kinds of queries: both plan ranges in the driver and read them in tasks
    wire_topics, wire_scan        over the wire, by `client.consumer`
    segment_topics, segment_scan, segment_index   from log directories, by `log.reading`
    rows, writers      the sink: columns to records, tasks and driver
    transaction_names, decisions, decision_reader, commit_protocol, strays, checkpoint   how a batch is written once
    session, worker    settings that suit it, and what a worker process needs

Spark's rules that shape all of it:

- A query's plan is made in the driver and pickled to the tasks, which run in other processes, perhaps on other
  machines, perhaps twice (speculation), perhaps again (a retry). So a task holds nothing but offsets and options, and
  opens its own connections.
- A micro-batch is [start, end) per partition, written to the checkpoint before it is run. After a crash the same range
  is run again: a source must give the same rows, a sink must not write them twice. Spark helps the sink by nothing but
  the batch's number.
- Python data sources are called in fresh processes, for planning and for every task; importing costs more than a small
  task's work. What only some need is imported where it is needed.
"""
