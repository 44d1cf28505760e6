/* One message of magic 0 or 1: where its fields lie, with every length checked, and the writer of such messages.
 *
 *     offset 8 | size 4 | crc-32 4 (of magic to end) | magic 1 | attributes 1 | [timestamp 8, magic 1] |
 *     key length 4 (negative: null) | key | value length 4 (negative: null) | value
 */
#ifndef TIDELOG_MESSAGE_H
#define TIDELOG_MESSAGE_H

#include "_crc32.h"
#include "_layout.h"
#include "_wire.h"

enum {
    MESSAGE_FINE, MESSAGE_CUT, MESSAGE_SMALL, MESSAGE_MAGIC, MESSAGE_SHORT, MESSAGE_KEY, MESSAGE_VALUE, MESSAGE_END,
    MESSAGE_CRC, MESSAGE_OTHER_MAGIC, MESSAGE_PACKED
};

typedef struct {
    const uint8_t *stop;   /* end of the message */
    const uint8_t *key;
    const uint8_t *value;
    int64_t offset;
    int64_t timestamp;     /* -1 in magic 0 */
    int64_t size;          /* as stated, without offset and size */
    int32_t key_length;    /* negative: null */
    int32_t value_length;  /* negative: null */
    int8_t magic;
    uint8_t attributes;
} Message;

/* Reads the message at p, or says what is wrong with it. Less than a whole message before `end` is MESSAGE_CUT. */
static inline int read_message(const uint8_t *p, const uint8_t *end, Message *m) {
    if (end - p < LOG_OVERHEAD) return MESSAGE_CUT;
    m->size = load_i32(p + LENGTH_OFFSET);
    if (m->size < MESSAGE_OVERHEAD_V0) return MESSAGE_SMALL;
    if (m->size > end - p - LOG_OVERHEAD) return MESSAGE_CUT;
    m->stop = p + LOG_OVERHEAD + m->size;
    m->offset = load_i64(p);
    m->magic = (int8_t)p[MAGIC_OFFSET];
    m->attributes = p[MESSAGE_ATTRIBUTES_OFFSET];
    if (m->magic != 0 && m->magic != 1) return MESSAGE_MAGIC;
    if (m->size < message_overhead(m->magic)) return MESSAGE_SHORT;
    m->timestamp = m->magic ? load_i64(p + MESSAGE_TIMESTAMP_OFFSET) : -1;
    const uint8_t *q = p + message_key_size_offset(m->magic);
    m->key_length = load_i32(q);
    m->key = q += 4;
    if (m->key_length > m->stop - 4 - q) return MESSAGE_KEY;
    if (m->key_length > 0) q += m->key_length;
    m->value_length = load_i32(q);
    m->value = q += 4;
    if (m->value_length > m->stop - q) return MESSAGE_VALUE;
    if (m->value_length > 0) q += m->value_length;
    return q == m->stop ? MESSAGE_FINE : MESSAGE_END;
}

static inline uint32_t message_crc(const uint8_t *p, int64_t size) {
    return crc32_of(p + MAGIC_OFFSET, (size_t)(LOG_OVERHEAD + size - MAGIC_OFFSET));
}

/* The bytes of a message with fields of these lengths, offset and size included. */
static inline int64_t message_size(int magic, int32_t key_length, int32_t value_length) {
    return LOG_OVERHEAD + message_overhead(magic) + (key_length > 0 ? key_length : 0) +
           (value_length > 0 ? value_length : 0);
}

static inline uint8_t *write_field(uint8_t *p, const uint8_t *data, int32_t length) {
    store_32(p, (uint32_t)(length < 0 ? -1 : length));
    if (length > 0) memcpy(p + 4, data, (size_t)length);
    return p + 4 + (length > 0 ? length : 0);
}

/* Writes the checksum and the size of the message that starts at p and ends at `stop`. */
static inline void seal_message(uint8_t *p, const uint8_t *stop) {
    int64_t size = stop - p - LOG_OVERHEAD;
    store_32(p + LENGTH_OFFSET, (uint32_t)size);
    store_32(p + MESSAGE_CRC_OFFSET, message_crc(p, size));
}

/* Writes what stands before the key's length; answers where that goes. */
static inline uint8_t *begin_message(uint8_t *p, int magic, uint8_t attributes, int64_t offset, int64_t timestamp) {
    store_64(p, (uint64_t)offset);
    p[MAGIC_OFFSET] = (uint8_t)magic;
    p[MESSAGE_ATTRIBUTES_OFFSET] = attributes;
    if (magic) store_64(p + MESSAGE_TIMESTAMP_OFFSET, (uint64_t)timestamp);
    return p + message_key_size_offset(magic);
}

static inline uint8_t *write_message(uint8_t *p, int magic, uint8_t attributes, int64_t offset, int64_t timestamp,
                                     const uint8_t *key, int32_t key_length, const uint8_t *value,
                                     int32_t value_length) {
    uint8_t *q = begin_message(p, magic, attributes, offset, timestamp);
    q = write_field(q, key, key_length);
    q = write_field(q, value, value_length);
    seal_message(p, q);
    return q;
}

#endif
