/* The 61 bytes in front of a magic 2 batch's records, written with their checksum. */
#ifndef TIDELOG_HEADER_H
#define TIDELOG_HEADER_H

#include "_crc32c.h"
#include "_wire.h"

#define BATCH_OVERHEAD 61

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
    store_64(p, (uint64_t)header->base_offset);
    store_32(p + 8, (uint32_t)(size - 12));
    store_32(p + 12, (uint32_t)header->leader_epoch);
    p[16] = 2;
    store_16(p + 21, (uint16_t)header->attributes);
    store_32(p + 23, (uint32_t)header->last_offset_delta);
    store_64(p + 27, (uint64_t)header->base_timestamp);
    store_64(p + 35, (uint64_t)header->max_timestamp);
    store_64(p + 43, (uint64_t)header->producer_id);
    store_16(p + 51, (uint16_t)header->producer_epoch);
    store_32(p + 53, (uint32_t)header->base_sequence);
    store_32(p + 57, (uint32_t)header->count);
    store_32(p + 17, crc32c_update(0, p + 21, (size_t)(size - 21)));
}

#endif
