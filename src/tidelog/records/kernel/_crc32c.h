/* CRC-32C (Castagnoli), the checksum of record batches since magic 2.
 *
 * x86-64 has an instruction for it that takes 8 bytes but answers after 3 cycles, so one chain of it uses a third of
 * the unit. Long inputs are therefore cut into three lanes that run side by side; a lane's checksum is then carried
 * over the bytes that follow it by a linear map ("append N zero bytes"), which is a table look-up per byte of it.
 *
 * Newer processors multiply polynomials 64 bytes at a time. A block is then carried over the D bits that follow it by
 * multiplying its halves with x^(D+32) and x^(D-32) modulo the polynomial, which leaves 16 bytes with the checksum of
 * all: twice as fast again from a kilobyte on.
 *
 * Other machines use ARM's instruction or the eight-table form. The choice is made when the module is loaded.
 */
#ifndef TIDELOG_CRC32C_H
#define TIDELOG_CRC32C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif
#if defined(__x86_64__) && (defined(__clang__) || __GNUC__ >= 9)
#include <immintrin.h>
#define CRC32C_FOLDING
#endif

#define CRC32C_POLYNOMIAL 0x82F63B78u
#define CRC32C_LONG 4096  /* bytes per lane */
#define CRC32C_SHORT 256

static uint32_t crc32c_tables[8][256];
static uint32_t crc32c_skip_long[4][256];
static uint32_t crc32c_skip_short[4][256];
static uint32_t (*crc32c_run)(uint32_t, const uint8_t *, size_t);

static inline uint64_t crc32c_load(const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

static uint32_t crc32c_by_table(uint32_t crc, const uint8_t *p, size_t length) {
    while (length >= 8) {
        uint32_t low = crc ^ ((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
        crc = crc32c_tables[7][low & 0xFF] ^ crc32c_tables[6][low >> 8 & 0xFF] ^ crc32c_tables[5][low >> 16 & 0xFF] ^
              crc32c_tables[4][low >> 24] ^ crc32c_tables[3][p[4]] ^ crc32c_tables[2][p[5]] ^ crc32c_tables[1][p[6]] ^
              crc32c_tables[0][p[7]];
        p += 8;
        length -= 8;
    }
    while (length--) crc = crc >> 8 ^ crc32c_tables[0][(crc ^ *p++) & 0xFF];
    return crc;
}

static uint32_t crc32c_map(const uint32_t image[32], uint32_t crc) {
    uint32_t sum = 0;
    for (int bit = 0; bit < 32; bit++)
        if (crc >> bit & 1) sum ^= image[bit];
    return sum;
}

/* The linear map of a checksum register over `length` zero bytes (a power of two), as four 256-entry tables: the map of
 * one byte, applied to itself until it spans them all. */
static void crc32c_make_skip(uint32_t skip[4][256], size_t length) {
    uint32_t image[32], twice[32];
    for (int bit = 0; bit < 32; bit++) image[bit] = (1u << bit) >> 8 ^ crc32c_tables[0][(1u << bit) & 0xFF];
    for (; length > 1; length /= 2) {
        for (int bit = 0; bit < 32; bit++) twice[bit] = crc32c_map(image, image[bit]);
        memcpy(image, twice, sizeof image);
    }
    for (int byte = 0; byte < 4; byte++)
        for (uint32_t value = 0; value < 256; value++) skip[byte][value] = crc32c_map(image, value << (8 * byte));
}

static inline uint32_t crc32c_skip(uint32_t skip[4][256], uint32_t crc) {
    return skip[0][crc & 0xFF] ^ skip[1][crc >> 8 & 0xFF] ^ skip[2][crc >> 16 & 0xFF] ^ skip[3][crc >> 24];
}

#if defined(__x86_64__) && defined(__GNUC__)
#define CRC32C_HARDWARE __attribute__((target("sse4.2")))
#define CRC32C_WORD(crc, p) ((uint32_t)__builtin_ia32_crc32di((crc), crc32c_load(p)))
#define CRC32C_BYTE(crc, p) (__builtin_ia32_crc32qi((crc), *(p)))
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#define CRC32C_HARDWARE
#define CRC32C_WORD(crc, p) (__crc32cd((crc), crc32c_load(p)))
#define CRC32C_BYTE(crc, p) (__crc32cb((crc), *(p)))
#endif

#ifdef CRC32C_HARDWARE
CRC32C_HARDWARE static inline uint32_t crc32c_lanes(uint32_t crc, const uint8_t *p, size_t lane,
                                                    uint32_t skip[4][256]) {
    uint32_t second = 0, third = 0;
    for (size_t i = 0; i < lane; i += 8) {
        crc = CRC32C_WORD(crc, p + i);
        second = CRC32C_WORD(second, p + lane + i);
        third = CRC32C_WORD(third, p + 2 * lane + i);
    }
    crc = crc32c_skip(skip, crc) ^ second;
    return crc32c_skip(skip, crc) ^ third;
}

CRC32C_HARDWARE static uint32_t crc32c_by_hardware(uint32_t crc, const uint8_t *p, size_t length) {
    for (; length >= 3 * CRC32C_LONG; p += 3 * CRC32C_LONG, length -= 3 * CRC32C_LONG)
        crc = crc32c_lanes(crc, p, CRC32C_LONG, crc32c_skip_long);
    for (; length >= 3 * CRC32C_SHORT; p += 3 * CRC32C_SHORT, length -= 3 * CRC32C_SHORT)
        crc = crc32c_lanes(crc, p, CRC32C_SHORT, crc32c_skip_short);
    for (; length >= 8; p += 8, length -= 8) crc = CRC32C_WORD(crc, p);
    while (length--) {
        crc = CRC32C_BYTE(crc, p);
        p++;
    }
    return crc;
}
#endif

#ifdef CRC32C_FOLDING
#define CRC32C_FOLD_FROM 1024
#define CRC32C_WIDE __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.2")))

static uint64_t crc32c_carry[5][2];  /* multipliers over 2048, 512, 384, 256 and 128 bits */
static const int crc32c_carried_bits[5] = {2048, 512, 384, 256, 128};

/* x^power modulo the polynomial, bits reflected as the multiplication wants them. */
static uint64_t crc32c_power(int power) {
    uint32_t value = 0x80000000u;
    while (power--) value = value >> 1 ^ (value & 1 ? CRC32C_POLYNOMIAL : 0);
    return (uint64_t)value << 1;
}

CRC32C_WIDE static inline __m512i crc32c_fold(__m512i block, int over, __m512i next) {
    __m512i by = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)crc32c_carry[over]));
    __m512i low = _mm512_clmulepi64_epi128(block, by, 0x00), high = _mm512_clmulepi64_epi128(block, by, 0x11);
    return _mm512_ternarylogic_epi64(low, high, next, 0x96);  /* exclusive or of the three */
}

CRC32C_WIDE static inline __m128i crc32c_fold_lane(__m128i lane, int over) {
    __m128i by = _mm_loadu_si128((const __m128i *)crc32c_carry[over]);
    return _mm_xor_si128(_mm_clmulepi64_si128(lane, by, 0x00), _mm_clmulepi64_si128(lane, by, 0x11));
}

CRC32C_WIDE static uint32_t crc32c_by_folding(uint32_t crc, const uint8_t *p, size_t length) {
    if (length < CRC32C_FOLD_FROM) return crc32c_by_hardware(crc, p, length);
    const __m512i *blocks = (const __m512i *)p;
    __m512i a = _mm512_xor_si512(_mm512_loadu_si512(blocks), _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    __m512i b = _mm512_loadu_si512(blocks + 1), c = _mm512_loadu_si512(blocks + 2), d = _mm512_loadu_si512(blocks + 3);
    for (p += 256, length -= 256; length >= 256; p += 256, length -= 256) {
        blocks = (const __m512i *)p;
        a = crc32c_fold(a, 0, _mm512_loadu_si512(blocks));
        b = crc32c_fold(b, 0, _mm512_loadu_si512(blocks + 1));
        c = crc32c_fold(c, 0, _mm512_loadu_si512(blocks + 2));
        d = crc32c_fold(d, 0, _mm512_loadu_si512(blocks + 3));
    }
    d = crc32c_fold(crc32c_fold(crc32c_fold(a, 1, b), 1, c), 1, d);
    for (; length >= 64; p += 64, length -= 64) d = crc32c_fold(d, 1, _mm512_loadu_si512((const __m512i *)p));
    __m128i rest = _mm_xor_si128(
        _mm_xor_si128(crc32c_fold_lane(_mm512_extracti32x4_epi32(d, 0), 2),
                      crc32c_fold_lane(_mm512_extracti32x4_epi32(d, 1), 3)),
        _mm_xor_si128(crc32c_fold_lane(_mm512_extracti32x4_epi32(d, 2), 4), _mm512_extracti32x4_epi32(d, 3)));
    uint8_t last[16];
    _mm_storeu_si128((__m128i *)last, rest);
    return crc32c_by_hardware(crc32c_by_hardware(0, last, 16), p, length);
}

static int crc32c_has_folding(void) {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}
#endif

static int crc32c_has_hardware(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    __builtin_cpu_init();
    return __builtin_cpu_supports("sse4.2");
#elif defined(CRC32C_HARDWARE)
    return 1;
#else
    return 0;
#endif
}

/* Fills the tables and picks the form; every module that includes this file calls it once when it is loaded. */
static void crc32c_init(void) {
    for (uint32_t value = 0; value < 256; value++) {
        uint32_t crc = value;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
        crc32c_tables[0][value] = crc;
    }
    for (int value = 0; value < 256; value++)
        for (int k = 1; k < 8; k++)
            crc32c_tables[k][value] =
                crc32c_tables[k - 1][value] >> 8 ^ crc32c_tables[0][crc32c_tables[k - 1][value] & 0xFF];
    crc32c_make_skip(crc32c_skip_long, CRC32C_LONG);
    crc32c_make_skip(crc32c_skip_short, CRC32C_SHORT);
    crc32c_run = crc32c_by_table;
#ifdef CRC32C_HARDWARE
    if (crc32c_has_hardware()) crc32c_run = crc32c_by_hardware;
#endif
#ifdef CRC32C_FOLDING
    for (int i = 0; i < 5; i++) {
        crc32c_carry[i][0] = crc32c_power(crc32c_carried_bits[i] + 32);
        crc32c_carry[i][1] = crc32c_power(crc32c_carried_bits[i] - 32);
    }
    if (crc32c_has_folding()) crc32c_run = crc32c_by_folding;
#endif
}

static inline uint32_t crc32c_update(uint32_t value, const void *data, size_t length) {
    return ~crc32c_run(~value, (const uint8_t *)data, length);
}

/* The forms that lesser machines use; here so that they can be tested on those that have more. */
static inline uint32_t crc32c_by_lanes(uint32_t value, const void *data, size_t length) {
#ifdef CRC32C_HARDWARE
    if (crc32c_has_hardware()) return ~crc32c_by_hardware(~value, (const uint8_t *)data, length);
#endif
    return ~crc32c_by_table(~value, (const uint8_t *)data, length);
}

static inline uint32_t crc32c_update_portable(uint32_t value, const void *data, size_t length) {
    return ~crc32c_by_table(~value, (const uint8_t *)data, length);
}

#endif
