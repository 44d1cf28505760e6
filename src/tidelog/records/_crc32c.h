/* CRC-32C (Castagnoli), the checksum of record batches since magic 2.
 *
 * x86-64 has an instruction for it that takes 8 bytes but answers after 3 cycles, so one chain of it uses a third of
 * the unit. Long inputs are therefore cut into three lanes that run side by side; a lane's checksum is then carried
 * over the bytes that follow it by a linear map ("append N zero bytes"), which is a table look-up per byte of it.
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

/* The linear map of a checksum register over `length` zero bytes, as four 256-entry tables. */
static void crc32c_make_skip(uint32_t skip[4][256], size_t length) {
    uint32_t image[32];
    for (int bit = 0; bit < 32; bit++) {
        uint32_t crc = 1u << bit;
        for (size_t i = 0; i < length; i++) crc = crc >> 8 ^ crc32c_tables[0][crc & 0xFF];
        image[bit] = crc;
    }
    for (int byte = 0; byte < 4; byte++)
        for (int value = 0; value < 256; value++) {
            uint32_t sum = 0;
            for (int bit = 0; bit < 8; bit++)
                if (value >> bit & 1) sum ^= image[byte * 8 + bit];
            skip[byte][value] = sum;
        }
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
}

static inline uint32_t crc32c_update(uint32_t value, const void *data, size_t length) {
    return ~crc32c_run(~value, (const uint8_t *)data, length);
}

/* The form that machines without the instruction use; here so that it can be tested on those that have it. */
static inline uint32_t crc32c_update_portable(uint32_t value, const void *data, size_t length) {
    return ~crc32c_by_table(~value, (const uint8_t *)data, length);
}

#endif
