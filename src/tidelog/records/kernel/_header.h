/* The 61 bytes in front of a magic 2 batch's records, written with their checksum. */
#ifndef TIDELOG_HEADER_H
#define TIDELOG_HEADER_H

#include "_crc32c.h"
#include "_layout.h"
#include "_wire.h"

typedef struct {
    int64_t base_offset;
    int64_t base_timestamp;
    int64_t max_timestamp;
    int64_t producer_id;
    int32_t leader_epoch;
    int32_t last_offset_delta;
    int32_t base_sequence;
    int32_t count;
    int16_t attributes;
    int16_t producer_epoch;
} Header;

/* `size` is that of the whole batch; its records are there already. */
static inline void write_header(uint8_t *p, int64_t size, const Header *header) {
    store_64(p + BASE_OFFSET_OFFSET, (uint64_t)header->base_offset);
    store_32(p + LENGTH_OFFSET, (uint32_t)(size - LOG_OVERHEAD));
    store_32(p + PARTITION_LEADER_EPOCH_OFFSET, (uint32_t)header->leader_epoch);
    p[MAGIC_OFFSET] = 2;
    store_16(p + ATTRIBUTES_OFFSET, (uint16_t)header->attributes);
    store_32(p + LAST_OFFSET_DELTA_OFFSET, (uint32_t)header->last_offset_delta);
    store_64(p + BASE_TIMESTAMP_OFFSET, (uint64_t)header->base_timestamp);
    store_64(p + MAX_TIMESTAMP_OFFSET, (uint64_t)header->max_timestamp);
    store_64(p + PRODUCER_ID_OFFSET, (uint64_t)header->producer_id);
    store_16(p + PRODUCER_EPOCH_OFFSET, (uint16_t)header->producer_epoch);
    store_32(p + BASE_SEQUENCE_OFFSET, (uint32_t)header->base_sequence);
    store_32(p + RECORDS_COUNT_OFFSET, (uint32_t)header->count);
    store_32(p + CRC_OFFSET, crc32c_update(0, p + ATTRIBUTES_OFFSET, (size_t)(size - ATTRIBUTES_OFFSET)));
}

#endif
