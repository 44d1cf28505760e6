/* MD5 (RFC 1321) of record keys, for the cleaner's offset map.
 *
 * A key is nearly always shorter than one 64-byte block, and one block's 64 steps form a single chain of dependent
 * operations. So keys are hashed eight at a time: the same steps on vectors of eight, which the compiler maps to what
 * the machine has (two SSE2 registers, one AVX2 register, two NEON registers). Longer keys go one by one.
 * MD5 spreads keys over the map and tells them apart, as in Kafka; nothing here is a matter of security.
 */
#ifndef TIDELOG_MD5_H
#define TIDELOG_MD5_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MD5_LANES 8
#define MD5_ONE_BLOCK 55 /* the longest key that fits into one block with its end mark and length */

typedef uint32_t md5_vector __attribute__((vector_size(4 * MD5_LANES)));

#define MD5_F(b, c, d) ((d) ^ ((b) & ((c) ^ (d))))
#define MD5_G(b, c, d) ((c) ^ ((d) & ((b) ^ (c))))
#define MD5_H(b, c, d) ((b) ^ (c) ^ (d))
#define MD5_I(b, c, d) ((c) ^ ((b) | ~(d)))
#define MD5_STEP(f, a, b, c, d, word, constant, turn) \
    a = a + f(b, c, d) + (word) + (constant); \
    a = b + (a << turn | a >> (32 - turn));

/* The 64 steps, on numbers or on vectors of them: the words are taken in four different orders. */
#define MD5_ROUNDS(a, b, c, d, m) \
    MD5_STEP(MD5_F, a, b, c, d, m[0], 0xd76aa478u, 7) MD5_STEP(MD5_F, d, a, b, c, m[1], 0xe8c7b756u, 12) \
    MD5_STEP(MD5_F, c, d, a, b, m[2], 0x242070dbu, 17) MD5_STEP(MD5_F, b, c, d, a, m[3], 0xc1bdceeeu, 22) \
    MD5_STEP(MD5_F, a, b, c, d, m[4], 0xf57c0fafu, 7) MD5_STEP(MD5_F, d, a, b, c, m[5], 0x4787c62au, 12) \
    MD5_STEP(MD5_F, c, d, a, b, m[6], 0xa8304613u, 17) MD5_STEP(MD5_F, b, c, d, a, m[7], 0xfd469501u, 22) \
    MD5_STEP(MD5_F, a, b, c, d, m[8], 0x698098d8u, 7) MD5_STEP(MD5_F, d, a, b, c, m[9], 0x8b44f7afu, 12) \
    MD5_STEP(MD5_F, c, d, a, b, m[10], 0xffff5bb1u, 17) MD5_STEP(MD5_F, b, c, d, a, m[11], 0x895cd7beu, 22) \
    MD5_STEP(MD5_F, a, b, c, d, m[12], 0x6b901122u, 7) MD5_STEP(MD5_F, d, a, b, c, m[13], 0xfd987193u, 12) \
    MD5_STEP(MD5_F, c, d, a, b, m[14], 0xa679438eu, 17) MD5_STEP(MD5_F, b, c, d, a, m[15], 0x49b40821u, 22) \
    MD5_STEP(MD5_G, a, b, c, d, m[1], 0xf61e2562u, 5) MD5_STEP(MD5_G, d, a, b, c, m[6], 0xc040b340u, 9) \
    MD5_STEP(MD5_G, c, d, a, b, m[11], 0x265e5a51u, 14) MD5_STEP(MD5_G, b, c, d, a, m[0], 0xe9b6c7aau, 20) \
    MD5_STEP(MD5_G, a, b, c, d, m[5], 0xd62f105du, 5) MD5_STEP(MD5_G, d, a, b, c, m[10], 0x02441453u, 9) \
    MD5_STEP(MD5_G, c, d, a, b, m[15], 0xd8a1e681u, 14) MD5_STEP(MD5_G, b, c, d, a, m[4], 0xe7d3fbc8u, 20) \
    MD5_STEP(MD5_G, a, b, c, d, m[9], 0x21e1cde6u, 5) MD5_STEP(MD5_G, d, a, b, c, m[14], 0xc33707d6u, 9) \
    MD5_STEP(MD5_G, c, d, a, b, m[3], 0xf4d50d87u, 14) MD5_STEP(MD5_G, b, c, d, a, m[8], 0x455a14edu, 20) \
    MD5_STEP(MD5_G, a, b, c, d, m[13], 0xa9e3e905u, 5) MD5_STEP(MD5_G, d, a, b, c, m[2], 0xfcefa3f8u, 9) \
    MD5_STEP(MD5_G, c, d, a, b, m[7], 0x676f02d9u, 14) MD5_STEP(MD5_G, b, c, d, a, m[12], 0x8d2a4c8au, 20) \
    MD5_STEP(MD5_H, a, b, c, d, m[5], 0xfffa3942u, 4) MD5_STEP(MD5_H, d, a, b, c, m[8], 0x8771f681u, 11) \
    MD5_STEP(MD5_H, c, d, a, b, m[11], 0x6d9d6122u, 16) MD5_STEP(MD5_H, b, c, d, a, m[14], 0xfde5380cu, 23) \
    MD5_STEP(MD5_H, a, b, c, d, m[1], 0xa4beea44u, 4) MD5_STEP(MD5_H, d, a, b, c, m[4], 0x4bdecfa9u, 11) \
    MD5_STEP(MD5_H, c, d, a, b, m[7], 0xf6bb4b60u, 16) MD5_STEP(MD5_H, b, c, d, a, m[10], 0xbebfbc70u, 23) \
    MD5_STEP(MD5_H, a, b, c, d, m[13], 0x289b7ec6u, 4) MD5_STEP(MD5_H, d, a, b, c, m[0], 0xeaa127fau, 11) \
    MD5_STEP(MD5_H, c, d, a, b, m[3], 0xd4ef3085u, 16) MD5_STEP(MD5_H, b, c, d, a, m[6], 0x04881d05u, 23) \
    MD5_STEP(MD5_H, a, b, c, d, m[9], 0xd9d4d039u, 4) MD5_STEP(MD5_H, d, a, b, c, m[12], 0xe6db99e5u, 11) \
    MD5_STEP(MD5_H, c, d, a, b, m[15], 0x1fa27cf8u, 16) MD5_STEP(MD5_H, b, c, d, a, m[2], 0xc4ac5665u, 23) \
    MD5_STEP(MD5_I, a, b, c, d, m[0], 0xf4292244u, 6) MD5_STEP(MD5_I, d, a, b, c, m[7], 0x432aff97u, 10) \
    MD5_STEP(MD5_I, c, d, a, b, m[14], 0xab9423a7u, 15) MD5_STEP(MD5_I, b, c, d, a, m[5], 0xfc93a039u, 21) \
    MD5_STEP(MD5_I, a, b, c, d, m[12], 0x655b59c3u, 6) MD5_STEP(MD5_I, d, a, b, c, m[3], 0x8f0ccc92u, 10) \
    MD5_STEP(MD5_I, c, d, a, b, m[10], 0xffeff47du, 15) MD5_STEP(MD5_I, b, c, d, a, m[1], 0x85845dd1u, 21) \
    MD5_STEP(MD5_I, a, b, c, d, m[8], 0x6fa87e4fu, 6) MD5_STEP(MD5_I, d, a, b, c, m[15], 0xfe2ce6e0u, 10) \
    MD5_STEP(MD5_I, c, d, a, b, m[6], 0xa3014314u, 15) MD5_STEP(MD5_I, b, c, d, a, m[13], 0x4e0811a1u, 21) \
    MD5_STEP(MD5_I, a, b, c, d, m[4], 0xf7537e82u, 6) MD5_STEP(MD5_I, d, a, b, c, m[11], 0xbd3af235u, 10) \
    MD5_STEP(MD5_I, c, d, a, b, m[2], 0x2ad7d2bbu, 15) MD5_STEP(MD5_I, b, c, d, a, m[9], 0xeb86d391u, 21)

static const uint32_t MD5_START[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};

static inline uint32_t md5_word(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline void md5_put_word(uint8_t *p, uint32_t word) {
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(word >> 8 * i);
}

static void md5_block(uint32_t state[4], const uint8_t *block) {
    uint32_t m[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++) m[i] = md5_word(block + 4 * i);
    MD5_ROUNDS(a, b, c, d, m)
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
}

/* The last block(s) of a message: its rest, a one bit, zeros, its length in bits. Answers how many blocks that took. */
static int md5_pad(uint8_t out[128], const uint8_t *rest, size_t length, uint64_t total) {
    int blocks = length > MD5_ONE_BLOCK ? 2 : 1;
    memset(out, 0, 64 * (size_t)blocks);
    if (length) memcpy(out, rest, length);
    out[length] = 0x80;
    md5_put_word(out + 64 * blocks - 8, (uint32_t)(total << 3));
    md5_put_word(out + 64 * blocks - 4, (uint32_t)(total >> 29));
    return blocks;
}

static void md5_one(const uint8_t *data, size_t length, uint8_t digest[16]) {
    uint32_t state[4];
    uint8_t tail[128];
    size_t position = 0;
    memcpy(state, MD5_START, sizeof state);
    for (; length - position >= 64; position += 64) md5_block(state, data + position);
    int blocks = md5_pad(tail, data + position, length - position, length);
    for (int i = 0; i < blocks; i++) md5_block(state, tail + 64 * i);
    for (int i = 0; i < 4; i++) md5_put_word(digest + 4 * i, state[i]);
}

/* Eight keys of at most MD5_ONE_BLOCK bytes each. */
static void md5_eight(const uint8_t *const keys[], const int32_t lengths[], uint8_t (*digests)[16]) {
    uint8_t blocks[MD5_LANES][128];
    md5_vector m[16], a, b, c, d;
    for (int lane = 0; lane < MD5_LANES; lane++)
        md5_pad(blocks[lane], keys[lane], (size_t)lengths[lane], (uint64_t)lengths[lane]);
    for (int i = 0; i < 16; i++)
        for (int lane = 0; lane < MD5_LANES; lane++) m[i][lane] = md5_word(blocks[lane] + 4 * i);
    for (int lane = 0; lane < MD5_LANES; lane++) {
        a[lane] = MD5_START[0]; b[lane] = MD5_START[1]; c[lane] = MD5_START[2]; d[lane] = MD5_START[3];
    }
    MD5_ROUNDS(a, b, c, d, m)
    for (int lane = 0; lane < MD5_LANES; lane++) {
        md5_put_word(digests[lane], MD5_START[0] + a[lane]);
        md5_put_word(digests[lane] + 4, MD5_START[1] + b[lane]);
        md5_put_word(digests[lane] + 8, MD5_START[2] + c[lane]);
        md5_put_word(digests[lane] + 12, MD5_START[3] + d[lane]);
    }
}

/* The digests of many keys. Short ones are gathered in groups of eight; the rest of the last group one by one. */
static void md5_many(const uint8_t *const keys[], const int32_t lengths[], size_t count, uint8_t (*digests)[16]) {
    const uint8_t *group[MD5_LANES];
    int32_t group_lengths[MD5_LANES];
    size_t places[MD5_LANES];
    uint8_t found[MD5_LANES][16];
    int waiting = 0;
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] > MD5_ONE_BLOCK) {
            md5_one(keys[i], (size_t)lengths[i], digests[i]);
            continue;
        }
        group[waiting] = keys[i];
        group_lengths[waiting] = lengths[i];
        places[waiting++] = i;
        if (waiting == MD5_LANES) {
            md5_eight(group, group_lengths, found);
            for (int lane = 0; lane < MD5_LANES; lane++) memcpy(digests[places[lane]], found[lane], 16);
            waiting = 0;
        }
    }
    for (int i = 0; i < waiting; i++) md5_one(group[i], (size_t)group_lengths[i], digests[places[i]]);
}

#endif
