/* Kafka's murmur2: 32 bits, seed 0x9747b28c, over a key's bytes in little-endian words. */
#ifndef TIDELOG_MURMUR2_H
#define TIDELOG_MURMUR2_H

#include <stdint.h>
#include <string.h>

static inline uint32_t murmur2_hash(const uint8_t *p, uint32_t length) {
    const uint32_t m = 0x5bd1e995u;
    uint32_t h = 0x9747b28cu ^ length;
    for (; length >= 4; p += 4, length -= 4) {
        uint32_t k;
        memcpy(&k, p, 4);
        k *= m;
        k ^= k >> 24;
        h = h * m ^ k * m;
    }
    switch (length) {
    case 3: h ^= (uint32_t)p[2] << 16; /* fall through */
    case 2: h ^= (uint32_t)p[1] << 8;  /* fall through */
    case 1: h = (h ^ p[0]) * m;
    }
    h ^= h >> 13;
    h *= m;
    return h ^ h >> 15;
}

#endif
