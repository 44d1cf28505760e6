"""The compiled part: whole batches are scanned, checked, built and decoded here, without a Python object per record.

    _layout.h      where a header's fields lie             _message.h   one message of magic 0 or 1, read and written
    _wire.h        big-endian numbers and varints          _fields.h    one record's fields, every length checked
    _crc32c.h      the checksum                            _header.h    a batch's header, written
    _columns.h     short copies and views                  _murmur2.h   the hash that places keys
    _walk          the structural check of a batch's records
    _batches       BatchRun: check and stamp batches in the buffer that they came in
    _record        records as Python objects               _builder     records into one batch
    _columns       batches into Arrow's buffers            _encode      Arrow's buffers into batches
    _in_place      the same in the buffer that they are in _filter      which batches are wanted
    _messages      message sets of magic 0 and 1           _convert     from one format to another

Each module has its plain form among the tests (`tests/reference`), and is compared with it.

Why headers (`_*.h`) and not only Cython: what several modules do for each record must be inlined into their loops, and
a C function in a header is, with constants folded. What runs once per batch is Cython.
"""
