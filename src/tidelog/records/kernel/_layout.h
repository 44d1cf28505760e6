/* Where the fields lie in the entries of a log, for compiled code; `records/format/layout.py` says the same for Python
 * and explains it. `tests/unit/records/format/test_layout.py` holds the two against each other and against the page
 * docs/formats/record-batch.md. They are enumerators, so they cost what a literal costs.
 */
#ifndef TIDELOG_LAYOUT_H
#define TIDELOG_LAYOUT_H

enum {
    /* every entry, whatever its magic */
    BASE_OFFSET_OFFSET = 0,
    LENGTH_OFFSET = 8,
    LOG_OVERHEAD = 12,
    MAGIC_OFFSET = 16,

    /* a batch of magic 2 */
    PARTITION_LEADER_EPOCH_OFFSET = 12,
    CRC_OFFSET = 17,
    ATTRIBUTES_OFFSET = 21,             /* the checksum covers what lies from here on */
    LAST_OFFSET_DELTA_OFFSET = 23,
    BASE_TIMESTAMP_OFFSET = 27,
    MAX_TIMESTAMP_OFFSET = 35,
    PRODUCER_ID_OFFSET = 43,
    PRODUCER_EPOCH_OFFSET = 51,
    BASE_SEQUENCE_OFFSET = 53,
    RECORDS_COUNT_OFFSET = 57,
    RECORD_BATCH_OVERHEAD = 61,

    /* a message of magic 0 or 1 */
    MESSAGE_CRC_OFFSET = 12,            /* the checksum covers what lies from the magic on */
    MESSAGE_ATTRIBUTES_OFFSET = 17,
    MESSAGE_TIMESTAMP_OFFSET = 18,      /* magic 1 only */
    MESSAGE_KEY_SIZE_OFFSET_V0 = 18,
    MESSAGE_KEY_SIZE_OFFSET_V1 = 26,
    MESSAGE_OVERHEAD_V0 = 14,           /* without key and value, after LOG_OVERHEAD */
    MESSAGE_OVERHEAD_V1 = 22,

    /* the attributes: the same bits in all magics */
    CODEC_MASK = 0x07,
    TIMESTAMP_TYPE_BIT = 0x08,
    TRANSACTIONAL_BIT = 0x10,
    CONTROL_BIT = 0x20,
    DELETE_HORIZON_BIT = 0x40
};

/* Magic 1 is magic 0 with a timestamp in front of the key: what depends on it, for a magic found to be 0 or 1. */
static inline int message_key_size_offset(int magic) {
    return magic ? MESSAGE_KEY_SIZE_OFFSET_V1 : MESSAGE_KEY_SIZE_OFFSET_V0;
}
static inline int message_overhead(int magic) { return magic ? MESSAGE_OVERHEAD_V1 : MESSAGE_OVERHEAD_V0; }

#endif
