/* One record of a magic 2 batch: where its fields lie, with every length checked.
 *
 * The only reader of a record's structure; checking, decoding and the columns build on it. The next record starts at
 * `stop`, which hangs on the length alone, so that a processor works on several records at once; that the fields add up
 * to it is checked beside that. With 64 bytes ahead the numbers are read without looking at the end each time.
 */
#ifndef TIDELOG_FIELDS_H
#define TIDELOG_FIELDS_H

#include "_wire.h"

#define FIELDS_WIDE 64
#define SMALLEST_BODY 6  /* attributes, and five numbers of one byte */

enum { FINE, BAD_LENGTH, BAD_FIELD, BAD_KEY, BAD_VALUE, BAD_HEADER_COUNT, BAD_HEADER, BAD_END };

typedef struct {
    const uint8_t *stop;     /* end of the record */
    const uint8_t *key;
    const uint8_t *value;
    const uint8_t *headers;  /* the first header, after their number */
    int64_t timestamp;       /* since the batch's base timestamp */
    int32_t delta;           /* since the batch's base offset */
    int32_t key_length;      /* negative: null */
    int32_t value_length;    /* negative: null */
    int32_t header_count;
    int32_t length;          /* of the record, without the length itself */
} Fields;

static int check_headers(const uint8_t *q, const uint8_t *stop, int32_t count) {
    int32_t size;
    if (count < 0 || count > stop - q) return BAD_HEADER_COUNT;
    for (; count > 0; count--) {
        q = read_varint(q, stop, &size);
        if (!q || size < 0 || size > stop - q) return BAD_HEADER;
        q = read_varint(q + size, stop, &size);
        if (!q || size > stop - q) return BAD_HEADER;
        if (size > 0) q += size;
    }
    return q == stop ? FINE : BAD_END;
}

/* The careful form, for the last bytes of a batch. */
static int read_fields_narrow(const uint8_t *p, const uint8_t *end, Fields *f) {
    f->length = -1;
    const uint8_t *q = read_varint(p, end, &f->length);
    if (!q || f->length < 0 || f->length > end - q) return BAD_LENGTH;
    f->stop = q + f->length;
    if (f->length < SMALLEST_BODY) return BAD_FIELD;
    if (!(q = read_varlong(q + 1, f->stop, &f->timestamp))) return BAD_FIELD;
    if (!(q = read_varint(q, f->stop, &f->delta))) return BAD_FIELD;
    if (!(q = read_varint(q, f->stop, &f->key_length)) || f->key_length > f->stop - q) return BAD_KEY;
    f->key = q;
    if (f->key_length > 0) q += f->key_length;
    if (!(q = read_varint(q, f->stop, &f->value_length)) || f->value_length > f->stop - q) return BAD_VALUE;
    f->value = q;
    if (f->value_length > 0) q += f->value_length;
    if (!(q = read_varint(q, f->stop, &f->header_count))) return BAD_HEADER_COUNT;
    f->headers = q;
    return check_headers(q, f->stop, f->header_count);
}

static inline int read_fields_slowly(const uint8_t *p, const uint8_t *end, Fields *f) {
    Fields apart;  /* so that the caller's own never leaves its registers */
    int fault = read_fields_narrow(p, end, &apart);
    *f = apart;
    return fault;
}

/* Reads the record at p, or says what is wrong with it. */
static inline int read_fields(const uint8_t *p, const uint8_t *end, Fields *f) {
    if (end - p < FIELDS_WIDE) return read_fields_slowly(p, end, f);
    const uint8_t *q = read_varint_wide(p, &f->length);
    if (!q || f->length < SMALLEST_BODY || f->length > end - q) return read_fields_slowly(p, end, f);
    f->stop = q + f->length;
    q = read_varlong_wide(q + 1, &f->timestamp);
    if (!q || !(q = read_varint_wide(q, &f->delta))) return BAD_FIELD;
    if (!(q = read_varint_wide(q, &f->key_length)) || f->key_length > f->stop - q) return BAD_KEY;
    f->key = q;
    if (f->key_length > 0) q += f->key_length;
    if (end - q < 16) return read_fields_slowly(p, end, f);
    if (!(q = read_varint_wide(q, &f->value_length)) || f->value_length > f->stop - q) return BAD_VALUE;
    f->value = q;
    if (f->value_length > 0) q += f->value_length;
    if (WIRE_LIKELY(q + 1 == f->stop && f->stop[-1] == 0)) {  /* no headers: the usual end */
        f->headers = f->stop;
        f->header_count = 0;
        return FINE;
    }
    return read_fields_slowly(p, end, f);
}

#endif
