/* What the parts of the page decoder share: the open file, bounded reads of it, and the numbers of its format. */
#ifndef STALLSCOPE_SQLITE_PAGES_H
#define STALLSCOPE_SQLITE_PAGES_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { CORRUPT = -1, UNSUPPORTED = -2, NO_MEMORY = -3, RECOUNT = -4 };
enum { INTERIOR = 0x05, LEAF = 0x0d };

typedef struct {
    int file;
    uint64_t size;
    uint32_t page_bytes;
    uint32_t usable;
    uint32_t pages;
    int is_utf8;
} database;

int open_database(database *db, int file, uint64_t size);
int read_pages(const database *db, uint32_t number, uint8_t *into, uint32_t count);
int open_page(const database *db, uint32_t number, const uint8_t *page, const uint8_t **header, uint32_t *cells);

static inline uint32_t be16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static inline uint32_t be32(const uint8_t *p) { return be16(p) << 16 | be16(p + 2); }
static inline uint64_t be64(const uint8_t *p) { return (uint64_t)be32(p) << 32 | be32(p + 4); }

/* Length of the varint at p (it must end before `end`), or 0. */
static inline int varint(const uint8_t *p, const uint8_t *end, uint64_t *value) {
    uint64_t found = 0;
    if (p < end && !(*p & 0x80)) { *value = *p; return 1; }
    for (int i = 0; i < 9; i++) {
        if (end - p <= i) return 0;
        if (i == 8) { *value = found << 8 | p[i]; return 9; }
        found = found << 7 | (p[i] & 0x7f);
        if (!(p[i] & 0x80)) { *value = found; return i + 1; }
    }
    return 0;
}

/* Distinct values in the order in which they were met. Texts lie behind each other in `bytes`; `values` then holds
 * where each of them ends. Also read by sqlite_library.py: the layout of the first four members is fixed. */
typedef struct {
    int64_t count;
    int64_t *values;
    uint8_t *bytes;
    int64_t used; /* of bytes */
    int64_t capacity, room;
    uint64_t *hashes; /* of texts */
    uint32_t *slots;  /* code + 1, 0 = free */
    uint32_t mask, last;
} dictionary;

/* Code of a value or text, or an error; UNSUPPORTED where a table of codes does not pay. */
int64_t code_of_number(dictionary *d, int64_t value);
int64_t code_of_text(dictionary *d, const uint8_t *text, uint32_t length, uint64_t most_bytes);

#pragma GCC visibility pop

void stallscope_release(dictionary *d);

#endif
