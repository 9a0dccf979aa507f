/* Distinct values and texts of a column, numbered in the order in which they are met.
 *
 * The input is untrusted: probing is bounded, so values that were chosen to collide make the caller fall back, and
 * texts may not take more room than the caller allows.
 */
#include <stdlib.h>
#include <string.h>

#include "sqlite_pages.h"

enum { MOST_NUMBERS = 1 << 16, MOST_TEXTS = 1 << 30, MOST_PROBES = 256, FIRST_CAPACITY = 256 };

static uint64_t mixed(uint64_t value) {
    value = (value ^ value >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return value ^ value >> 29;
}

static uint64_t hash_of_text(const uint8_t *text, uint32_t length) {
    uint64_t hash = length;
    for (; length >= 8; text += 8, length -= 8) hash = mixed(hash ^ be64(text));
    for (; length; text++, length--) hash = mixed(hash ^ *text);
    return mixed(hash);
}

static int resized(void **array, int64_t count, size_t each) {
    void *grown = realloc(*array, (size_t)count * each);
    if (!grown) return NO_MEMORY;
    *array = grown;
    return 0;
}

static void occupy(dictionary *d, uint64_t hash, int64_t code) {
    uint32_t slot = (uint32_t)hash & d->mask;
    while (d->slots[slot]) slot = (slot + 1) & d->mask;
    d->slots[slot] = (uint32_t)code + 1;
}

/* Room for one more value, with at least half of the slots free. */
static int make_room(dictionary *d, int is_text) {
    if (d->count < d->capacity) return 0;
    int64_t capacity = d->capacity ? 2 * d->capacity : FIRST_CAPACITY;
    if (resized((void **)&d->values, capacity, sizeof *d->values)) return NO_MEMORY;
    if (is_text && resized((void **)&d->hashes, capacity, sizeof *d->hashes)) return NO_MEMORY;
    uint32_t *slots = calloc((size_t)capacity * 2, sizeof *slots);
    if (!slots) return NO_MEMORY;
    free(d->slots);
    d->slots = slots;
    d->capacity = capacity;
    d->mask = (uint32_t)capacity * 2 - 1;
    for (int64_t code = 0; code < d->count; code++)
        occupy(d, is_text ? d->hashes[code] : mixed((uint64_t)d->values[code]), code);
    return 0;
}

int64_t code_of_number(dictionary *d, int64_t value) {
    if (d->count && d->values[d->last] == value) return d->last;
    if (make_room(d, 0)) return NO_MEMORY;
    uint32_t slot = (uint32_t)mixed((uint64_t)value) & d->mask;
    for (int probe = 0; probe < MOST_PROBES; probe++, slot = (slot + 1) & d->mask) {
        uint32_t found = d->slots[slot];
        if (found && d->values[found - 1] != value) continue;
        if (!found) {
            if (d->count >= MOST_NUMBERS) return UNSUPPORTED;
            d->values[d->count] = value;
            d->slots[slot] = found = (uint32_t)++d->count;
        }
        return d->last = found - 1;
    }
    return UNSUPPORTED;
}

static int is_text(const dictionary *d, int64_t code, uint64_t hash, const uint8_t *text, uint32_t length) {
    if (d->hashes[code] != hash) return 0;
    int64_t begin = code ? d->values[code - 1] : 0;
    return d->values[code] - begin == length && !memcmp(d->bytes + begin, text, length);
}

static int append(dictionary *d, uint64_t hash, const uint8_t *text, uint32_t length, uint64_t most_bytes) {
    uint64_t used = (uint64_t)d->used + length;
    if (d->count >= MOST_TEXTS || used > most_bytes) return UNSUPPORTED;
    if (used >= (uint64_t)d->room) {
        int64_t room = (int64_t)(2 * used + FIRST_CAPACITY);
        if (resized((void **)&d->bytes, room, 1)) return NO_MEMORY;
        d->room = room;
    }
    memcpy(d->bytes + d->used, text, length);
    d->used = (int64_t)used;
    d->values[d->count] = d->used;
    d->hashes[d->count++] = hash;
    return 0;
}

int64_t code_of_text(dictionary *d, const uint8_t *text, uint32_t length, uint64_t most_bytes) {
    uint64_t hash = hash_of_text(text, length);
    if (make_room(d, 1)) return NO_MEMORY;
    uint32_t slot = (uint32_t)hash & d->mask;
    for (int probe = 0; probe < MOST_PROBES; probe++, slot = (slot + 1) & d->mask) {
        uint32_t found = d->slots[slot];
        if (found && !is_text(d, found - 1, hash, text, length)) continue;
        if (!found) {
            int bad = append(d, hash, text, length, most_bytes);
            if (bad) return bad;
            d->slots[slot] = found = (uint32_t)d->count;
        }
        return found - 1;
    }
    return UNSUPPORTED;
}

/* into[i] = table[codes[rows[i]]] for entries of 1, 2, 4 or 8 bytes and codes of 1, 2 or 4; without rows, of every row in
 * turn, where `into` may be the codes themselves. A code of -1 finds table[-1]. Codes and rows are the caller's own and
 * in range. */
#define TRANSLATE(type, code)                                                               \
    for (int64_t i = 0; i < count; i++)                                                     \
        ((type *)into)[i] = ((const type *)table)[((const code *)codes)[rows ? rows[i] : i]]
#define TRANSLATE_CODES(type)                         \
    if (code_bytes == 1) TRANSLATE(type, int8_t);       \
    else if (code_bytes == 2) TRANSLATE(type, int16_t); \
    else TRANSLATE(type, int32_t)

void stallscope_translate(const void *codes, int32_t code_bytes, const int32_t *rows, int64_t count, const void *table,
                          int32_t bytes, void *into) {
    if (bytes == 1) {
        TRANSLATE_CODES(int8_t);
    } else if (bytes == 2) {
        TRANSLATE_CODES(int16_t);
    } else if (bytes == 4) {
        TRANSLATE_CODES(int32_t);
    } else {
        TRANSLATE_CODES(int64_t);
    }
}

/* into[i] = values[rows[i]] for values of 1, 2, 4 or 8 bytes; rows are the caller's own and in range. */
#define TAKE(type) \
    for (int64_t i = 0; i < count; i++) ((type *)into)[i] = ((const type *)values)[rows[i]]

void stallscope_taken(const void *values, int32_t bytes, const int32_t *rows, int64_t count, void *into) {
    if (bytes == 1) TAKE(int8_t);
    else if (bytes == 2) TAKE(int16_t);
    else if (bytes == 4) TAKE(int32_t);
    else TAKE(int64_t);
}

/* Number of the distinct codes that the rows have; `order` is the codes as they are first met. Codes are below `most` or
 * -1 for none; `seen` has a byte for each, all 0. */
int64_t stallscope_met(const int32_t *codes, const int32_t *rows, int64_t count, int64_t most, uint8_t *seen,
                       int32_t *order) {
    int64_t met = 0;
    for (int64_t i = 0; i < count && met < most; i++) {
        int32_t code = codes[rows ? rows[i] : i];
        if (code < 0 || seen[code]) continue;
        seen[code] = 1;
        order[met++] = code;
    }
    return met;
}

/* into[i] = one number for the codes of row i in two columns, of which the second has `wide` distinct ones. */
void stallscope_paired(const int32_t *left, const int32_t *left_rows, const int32_t *right, const int32_t *right_rows,
                       int64_t count, int32_t wide, int32_t *into) {
    for (int64_t i = 0; i < count; i++)
        into[i] = left[left_rows ? left_rows[i] : i] * wide + right[right_rows ? right_rows[i] : i];
}

/* into = the places of the rows by the rank of their code, equal ones as they were; 0 where they are in that order
 * already. `next` has one entry a rank and one more, all 0. Codes, rows and ranks are the caller's own and in range. */
int stallscope_grouped(const int32_t *codes, const int32_t *rows, int64_t count, const int32_t *rank, int64_t ranks,
                       int64_t *next, int32_t *into) {
    int in_order = 1;
    int32_t last = 0;
    for (int64_t i = 0; i < count; i++) {
        int32_t mine = rank[codes[rows ? rows[i] : i]];
        next[mine + 1]++;
        in_order &= mine >= last;
        last = mine;
    }
    if (in_order) return 0;
    for (int64_t r = 0; r < ranks; r++) next[r + 1] += next[r];
    for (int64_t i = 0; i < count; i++) into[next[rank[codes[rows ? rows[i] : i]]]++] = (int32_t)i;
    return 1;
}

/* Free what a dictionary holds. */
void stallscope_release(dictionary *d) {
    free(d->values);
    free(d->bytes);
    free(d->hashes);
    free(d->slots);
    memset(d, 0, sizeof *d);
}
