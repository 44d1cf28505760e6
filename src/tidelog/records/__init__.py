"""Records and batches: the unit that everything else moves. No I/O, no asyncio.

Reading order, room by room:

    format     the three formats as values: attributes (magics, bits, codecs), batch (read), builder (write), control
               (the markers that end transactions), legacy (message sets), convert, validate (what a broker refuses and
               rewrites on produce), origin (who appends)
    codec      compression in Kafka's framings
    kernel     the compiled part, which works on whole batches
    arrow      records as Arrow columns and back

The formats are described byte by byte in docs/formats: record-batch, message-set, compression.

What holds in all rooms:

- A batch is bytes. It is made once, by a producer or by compaction, and travels through broker, disk and follower to
  the consumer unchanged, but for 12 bytes in front of its checksum and, where the topic asks for it, its time.
- Bytes from outside are read with every length checked against what is there; memory is taken in proportion to the
  bytes, never to a number in them. Damage is `CorruptRecordError`, with its place; what is sound but not acceptable is
  `InvalidRecordError`.
- Loops over records are compiled, release the GIL when they take long, and make no Python object per record, except
  where somebody wants records as objects.
- The three formats are equals for readers: what an old segment holds is found, read, searched by time and converted
  like anything else. Writers write magic 2, unless a topic is told otherwise.
"""
