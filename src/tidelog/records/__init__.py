"""Records and batches: the unit that everything else moves. No I/O, no asyncio.

Reading order:

    attributes     magics, attribute bits, codecs, what a header says
    batch          RecordBatch: a lazy view of a batch of any magic; Record
    builder        BatchBuilder: makes one
    control        the markers that end transactions
    legacy         message sets: magic 0 and 1
    convert        from one format to another
    compression    the codecs in Kafka's framings (lz4_frame: LZ4's quirks)
    validate       what a broker refuses and rewrites on produce
    arrow          records as Arrow columns and back (arrow_read, arrow_write, arrow_in_place)
    origin         who appends: client, coordinator, replication
    crc32c, murmur2

The kernel, compiled:

    _wire.h        big-endian numbers and varints          _fields.h    one record's fields, every length checked
    _crc32c.h      the checksum                            _header.h    a batch's header, written
    _columns.h     short copies and views                  _murmur2.h   the hash that places keys
    _walk          the structural check of a batch's records
    _batches       BatchRun: check and stamp batches in the buffer that they came in
    _record        records as Python objects               _builder     records into one batch
    _columns       batches into Arrow's buffers            _encode      Arrow's buffers into batches
    _in_place      the same in the buffer that they are in _filter      which batches are wanted

The formats are described byte by byte in docs/formats: record-batch, message-set, compression.
"""
