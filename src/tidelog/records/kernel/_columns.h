/* Small copies for the columnar loops: keys and values are short, and a call of memcpy costs more than their bytes.
 *
 * Both functions may read up to `end` and write a few bytes more than asked for; Arrow's buffers are allocated with
 * that slack, and what follows is written over by the next value. The bytes may be moved towards the front of the
 * buffer that they lie in, by COPY_SLACK or more: nothing that is still to be read is then written over.
 */
#ifndef TIDELOG_COLUMNS_H
#define TIDELOG_COLUMNS_H

#include <stdint.h>
#include <string.h>

#define COPY_SLACK 32

typedef uint64_t Lane __attribute__((vector_size(16), aligned(1), may_alias));

static inline void copy_bytes(uint8_t *to, const uint8_t *from, int32_t length, const uint8_t *end) {
    if (length <= 256 && end - from >= length + COPY_SLACK) {
        for (int32_t done = 0; done < length; done += COPY_SLACK) {
            Lane low = *(const Lane *)(from + done), high = *(const Lane *)(from + done + 16);
            *(Lane *)(to + done) = low;
            *(Lane *)(to + done + 16) = high;
        }
    } else if (length > 0) {
        memmove(to, from, (size_t)length);
    }
}

/* Arrow's 16-byte binary view: the length, then the bytes themselves if there are at most 12, else the first four, the
 * number of the buffer that holds them and their position in it. */
static inline void write_view(uint8_t *to, const uint8_t *from, int32_t length, const uint8_t *end, int32_t buffer,
                              int32_t position) {
    uint64_t low = 0, high = 0;
    if (length > 12) {
        uint32_t prefix;
        memcpy(&prefix, from, 4);
        low = prefix | (uint64_t)(uint32_t)buffer << 32;
        high = (uint32_t)position;
    } else if (end - from >= 16) {
        memcpy(&low, from, 8);
        memcpy(&high, from + 8, 8);
        low = length >= 8 ? low : low & ((1ull << (8 * length)) - 1);
        high = length <= 8 ? 0 : high & ((1ull << (8 * (length - 8))) - 1);
    } else {
        memcpy(&low, from, (size_t)(length < 8 ? length : 8));
        if (length > 8) memcpy(&high, from + 8, (size_t)(length - 8));
    }
    uint64_t words[2] = {(uint32_t)length | low << 32, low >> 32 | high << 32};
    memcpy(to, words, 8);
    memcpy(to + 8, words + 1, 8);
}

static inline void clear_bit(uint8_t *bits, int64_t index) { bits[index >> 3] &= (uint8_t)~(1u << (index & 7)); }

static inline int get_bit(const uint8_t *bits, int64_t index) { return bits[index >> 3] >> (index & 7) & 1; }

#endif
