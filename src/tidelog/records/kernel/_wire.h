/* Big-endian numbers and Kafka's zig-zag varints, as the record loops read and write them.
 *
 * A reader takes the position and the end of what may be read and answers the position after the number,
 * or NULL when the number is cut off, longer than its width allows, or overflows it. The one-byte case comes first:
 * nearly every varint of a record is one byte long.
 */
#ifndef TIDELOG_WIRE_H
#define TIDELOG_WIRE_H

#include <stdint.h>
#include <string.h>

#define WIRE_LIKELY(x) __builtin_expect(!!(x), 1)

static inline uint16_t load_u16(const uint8_t *p) { uint16_t v; memcpy(&v, p, 2); return __builtin_bswap16(v); }
static inline uint32_t load_u32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t load_u64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline int16_t load_i16(const uint8_t *p) { return (int16_t)load_u16(p); }
static inline int32_t load_i32(const uint8_t *p) { return (int32_t)load_u32(p); }
static inline int64_t load_i64(const uint8_t *p) { return (int64_t)load_u64(p); }
static inline void store_16(uint8_t *p, uint16_t v) { v = __builtin_bswap16(v); memcpy(p, &v, 2); }
static inline void store_32(uint8_t *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void store_64(uint8_t *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }

static inline uint32_t zigzag_32(int32_t v) { return (uint32_t)v << 1 ^ (uint32_t)(v >> 31); }
static inline uint64_t zigzag_64(int64_t v) { return (uint64_t)v << 1 ^ (uint64_t)(v >> 63); }
static inline int32_t unzigzag_32(uint32_t v) { return (int32_t)(v >> 1 ^ (0u - (v & 1))); }
static inline int64_t unzigzag_64(uint64_t v) { return (int64_t)(v >> 1 ^ (0ull - (v & 1))); }

/* Java's long addition: it wraps. */
static inline int64_t add_wrapping(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }

static const uint8_t *read_varlong_slow(const uint8_t *p, const uint8_t *end, int width, uint64_t *out) {
    uint64_t value = 0;
    int shift = 0;
    for (; p < end && shift < width; shift += 7) {
        uint8_t byte = *p++;
        uint64_t bits = byte & 0x7F;
        if (shift + 7 > width && bits >> (width - shift)) return NULL;
        value |= bits << shift;
        if (byte < 0x80) {
            *out = value;
            return p;
        }
    }
    return NULL;
}

static inline const uint8_t *read_varlong(const uint8_t *p, const uint8_t *end, int64_t *out) {
    uint64_t value;
    if (WIRE_LIKELY(p < end && p[0] < 0x80)) {
        *out = unzigzag_32(p[0]);
        return p + 1;
    }
    p = read_varlong_slow(p, end, 64, &value);
    if (p) *out = unzigzag_64(value);
    return p;
}

static inline const uint8_t *read_varint(const uint8_t *p, const uint8_t *end, int32_t *out) {
    uint64_t value;
    if (WIRE_LIKELY(p < end && p[0] < 0x80)) {
        *out = unzigzag_32(p[0]);
        return p + 1;
    }
    if (WIRE_LIKELY(end - p >= 3)) {
        if (p[1] < 0x80) {
            *out = unzigzag_32((p[0] & 0x7Fu) | (uint32_t)p[1] << 7);
            return p + 2;
        }
        if (p[2] < 0x80) {
            *out = unzigzag_32((p[0] & 0x7Fu) | (p[1] & 0x7Fu) << 7 | (uint32_t)p[2] << 14);
            return p + 3;
        }
    }
    p = read_varlong_slow(p, end, 32, &value);
    if (p) *out = unzigzag_32((uint32_t)value);
    return p;
}

/* The same where at least 16 bytes may be read from p: no look at the end. */
static inline const uint8_t *read_varint_wide(const uint8_t *p, int32_t *out) {
    uint64_t value;
    if (WIRE_LIKELY(p[0] < 0x80)) {
        *out = unzigzag_32(p[0]);
        return p + 1;
    }
    if (WIRE_LIKELY(p[1] < 0x80)) {
        *out = unzigzag_32((p[0] & 0x7Fu) | (uint32_t)p[1] << 7);
        return p + 2;
    }
    if (WIRE_LIKELY(p[2] < 0x80)) {
        *out = unzigzag_32((p[0] & 0x7Fu) | (p[1] & 0x7Fu) << 7 | (uint32_t)p[2] << 14);
        return p + 3;
    }
    p = read_varlong_slow(p, p + 5, 32, &value);
    if (p) *out = unzigzag_32((uint32_t)value);
    return p;
}

static inline const uint8_t *read_varlong_wide(const uint8_t *p, int64_t *out) {
    uint64_t value;
    if (WIRE_LIKELY(p[0] < 0x80)) {
        *out = unzigzag_32(p[0]);
        return p + 1;
    }
    if (WIRE_LIKELY(p[1] < 0x80)) {
        *out = unzigzag_32((p[0] & 0x7Fu) | (uint32_t)p[1] << 7);
        return p + 2;
    }
    p = read_varlong_slow(p, p + 10, 64, &value);
    if (p) *out = unzigzag_64(value);
    return p;
}

/* Writers may touch up to WRITE_SLACK bytes after the number. */
#define WRITE_SLACK 8

static inline uint8_t *write_unsigned(uint8_t *p, uint64_t value) {
    if (WIRE_LIKELY(value < 0x80)) {
        *p = (uint8_t)value;
        return p + 1;
    }
    if (WIRE_LIKELY(value < 0x4000)) {
        uint16_t two = (uint16_t)((value & 0x7F) | 0x80 | value >> 7 << 8);
        memcpy(p, &two, 2);
        return p + 2;
    }
    if (WIRE_LIKELY(value < 0x200000)) {
        uint32_t three = (uint32_t)((value & 0x7F) | 0x8080 | (value & 0x3F80) << 1 | value >> 14 << 16);
        memcpy(p, &three, 4);
        return p + 3;
    }
    while (value > 0x7F) {
        *p++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *p++ = (uint8_t)value;
    return p;
}

static inline uint8_t *write_varlong(uint8_t *p, int64_t value) { return write_unsigned(p, zigzag_64(value)); }

static inline int size_of_unsigned(uint64_t value) {
    return ((63 - __builtin_clzll(value | 1)) * 9 + 73) >> 6;  /* its bits by seven, rounded up, without dividing */
}

static inline int size_of_varlong(int64_t value) { return size_of_unsigned(zigzag_64(value)); }

/* The same for numbers that are never negative: lengths and counts. */
static inline uint8_t *write_count(uint8_t *p, int64_t value) { return write_unsigned(p, (uint64_t)value << 1); }
static inline int size_of_count(int64_t value) { return size_of_unsigned((uint64_t)value << 1); }

#endif
