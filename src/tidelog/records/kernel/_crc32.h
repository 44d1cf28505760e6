/* CRC-32 (the one of gzip), the checksum of messages of magic 0 and 1.
 *
 * No instruction computes it, but x86-64 multiplies polynomials: 16 bytes are carried over the D bits that follow them
 * by multiplying their halves with x^(D+32) and x^(D-32) modulo the polynomial, until 16 bytes are left that have the
 * checksum of all. Four such chains run side by side where there is enough to do. Other machines, and short inputs, use
 * eight tables of 256 entries. The choice is made when the module is loaded.
 */
#ifndef TIDELOG_CRC32_H
#define TIDELOG_CRC32_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define CRC32_FOLDING __attribute__((target("pclmul,sse4.1")))
#endif

#define CRC32_POLYNOMIAL 0xEDB88320u
#define CRC32_FOLD_FROM 48  /* bytes from which folding is faster than the tables */

static uint32_t crc32_tables[8][256];
static uint32_t (*crc32_run)(uint32_t, const uint8_t *, size_t);

static uint32_t crc32_by_table(uint32_t crc, const uint8_t *p, size_t length) {
    for (; length >= 8; p += 8, length -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        word ^= crc;
        crc = 0;
        for (int k = 0; k < 8; k++) crc ^= crc32_tables[7 - k][word >> (8 * k) & 0xFF];
    }
    while (length--) crc = crc >> 8 ^ crc32_tables[0][(crc ^ *p++) & 0xFF];
    return crc;
}

#ifdef CRC32_FOLDING
static uint64_t crc32_carry[2][2];  /* multipliers over 512 and 128 bits */

/* x^power modulo the polynomial, bits reflected as the multiplication wants them. */
static uint64_t crc32_power(int power) {
    uint32_t value = 0x80000000u;
    while (power--) value = value >> 1 ^ (value & 1 ? CRC32_POLYNOMIAL : 0);
    return (uint64_t)value << 1;
}

CRC32_FOLDING static inline __m128i crc32_fold(__m128i block, __m128i by, __m128i next) {
    __m128i low = _mm_clmulepi64_si128(block, by, 0x00), high = _mm_clmulepi64_si128(block, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

CRC32_FOLDING static inline __m128i crc32_block(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)p); }

CRC32_FOLDING static uint32_t crc32_by_folding(uint32_t crc, const uint8_t *p, size_t length) {
    if (length < CRC32_FOLD_FROM) return crc32_by_table(crc, p, length);
    const __m128i near = crc32_block((const uint8_t *)crc32_carry[1]);
    __m128i a = _mm_xor_si128(crc32_block(p), _mm_cvtsi32_si128((int)crc));
    if (length >= 128) {
        const __m128i far = crc32_block((const uint8_t *)crc32_carry[0]);
        __m128i b = crc32_block(p + 16), c = crc32_block(p + 32), d = crc32_block(p + 48);
        for (p += 64, length -= 64; length >= 64; p += 64, length -= 64) {
            a = crc32_fold(a, far, crc32_block(p));
            b = crc32_fold(b, far, crc32_block(p + 16));
            c = crc32_fold(c, far, crc32_block(p + 32));
            d = crc32_fold(d, far, crc32_block(p + 48));
        }
        a = crc32_fold(crc32_fold(crc32_fold(a, near, b), near, c), near, d);
    } else {
        p += 16;
        length -= 16;
    }
    for (; length >= 16; p += 16, length -= 16) a = crc32_fold(a, near, crc32_block(p));
    uint8_t last[16];
    _mm_storeu_si128((__m128i *)last, a);
    return crc32_by_table(crc32_by_table(0, last, 16), p, length);
}
#endif

/* Fills the tables and picks the form; every module that includes this file calls it once when it is loaded. */
static void crc32_init(void) {
    for (uint32_t value = 0; value < 256; value++) {
        uint32_t crc = value;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? CRC32_POLYNOMIAL : 0);
        crc32_tables[0][value] = crc;
    }
    for (int value = 0; value < 256; value++)
        for (int k = 1; k < 8; k++) {
            uint32_t before = crc32_tables[k - 1][value];
            crc32_tables[k][value] = before >> 8 ^ crc32_tables[0][before & 0xFF];
        }
    crc32_run = crc32_by_table;
#ifdef CRC32_FOLDING
    crc32_carry[0][0] = crc32_power(512 + 32);
    crc32_carry[0][1] = crc32_power(512 - 32);
    crc32_carry[1][0] = crc32_power(128 + 32);
    crc32_carry[1][1] = crc32_power(128 - 32);
    __builtin_cpu_init();
    if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) crc32_run = crc32_by_folding;
#endif
}

static inline uint32_t crc32_of(const uint8_t *data, size_t length) { return ~crc32_run(~0u, data, length); }

/* The form of machines without the multiplication; here so that it can be tested on those that have it. */
static inline uint32_t crc32_portable(const uint8_t *data, size_t length) { return ~crc32_by_table(~0u, data, length); }

#endif
