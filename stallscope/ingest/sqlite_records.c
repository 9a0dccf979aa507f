/* Columns of a SQLite table, decoded from its leaf pages.
 *
 * The records of a table repeat a few headers, and a header fixes where each value lies: it is parsed once and then
 * recognized. Nothing is read beyond the bytes of its record (READ_AHEAD bytes behind every buffer belong to it too).
 */
#include <stdlib.h>
#include <string.h>

#include "sqlite_pages.h"

enum { MAX_COLUMNS = 2000, MAX_WANTED = 64, LAYOUTS = 64, HEADER_BYTES = 64, BATCH_PAGES = 32, READ_AHEAD = 8 };
enum { NUMBER = 0, SMALL = 1, REAL = 2, KEY = 3, TEXT = 4, NO_CODE = -1 };
enum { NO_VALUE = 0, DOUBLE = 7, ZERO = 8, ONE = 9, BLOB = 12 }; /* serial types; 13, 15, … are texts */

/* One wanted column and what one thread decodes of it. Also defined in sqlite_library.py. */
typedef struct {
    int32_t position; /* in the record; ascending */
    int32_t kind;
    int64_t low, high; /* SMALL: what its values are clipped to; TEXT: high is the longest one */
    void *values;      /* a row each of the whole table: int64, int32, double, or codes (int32) */
    uint8_t *missing;  /* 1 where there is no value (0 before); NULL: no matter */
    int64_t nulls;     /* found */
    dictionary distinct;
} column;

typedef struct {
    uint8_t header[HEADER_BYTES];
    uint32_t header_length; /* 0: free */
    uint64_t need;          /* bytes of the record up to the last wanted value */
    uint64_t at[MAX_WANTED];
    uint64_t type[MAX_WANTED];
} layout;

typedef struct {
    const database *db;
    column *columns;
    int32_t count, rowid; /* position of the column that aliases the rowid, or -1 */
    layout *layouts;
    uint8_t *batch; /* pages first … first + held - 1 */
    uint32_t first, held;
    uint8_t *chain; /* a page of an overflow chain */
    uint8_t *bytes; /* a record that is longer than its page */
    uint64_t capacity;
    uint64_t assembled; /* bytes copied from overflow pages: no page belongs to two records */
} decoder;

/* The record of a cell as one run of bytes: in the page, or assembled from its overflow chain. */
static int record(decoder *d, const uint8_t *payload, const uint8_t *end, uint64_t length, const uint8_t **out) {
    const database *db = d->db;
    uint64_t most = db->usable - 35;
    *out = payload;
    if (length <= most) return length > (uint64_t)(end - payload) ? CORRUPT : 0;
    uint64_t least = (db->usable - 12) * 32 / 255 - 23;
    uint64_t local = least + (length - least) % (db->usable - 4);
    if (local > most) local = least;
    if (length > db->size || local + 4 > (uint64_t)(end - payload)) return CORRUPT;
    if ((d->assembled += length) > db->size) return CORRUPT;
    if (d->capacity < length) {
        uint8_t *grown = realloc(d->bytes, length + READ_AHEAD);
        if (!grown) return NO_MEMORY;
        d->bytes = grown;
        d->capacity = length;
    }
    memcpy(d->bytes, payload, local);
    uint32_t next = be32(payload + local);
    for (uint64_t done = local; done < length;) {
        uint64_t part = length - done < db->usable - 4 ? length - done : db->usable - 4;
        int bad = read_pages(db, next, d->chain, (uint32_t)part + 4);
        if (bad) return bad;
        memcpy(d->bytes + done, d->chain + 4, part);
        done += part;
        next = be32(d->chain);
    }
    *out = d->bytes;
    return 0;
}

static const uint8_t WIDTH[BLOB] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};

static uint64_t width_of(uint64_t type) { return type < BLOB ? WIDTH[type] : (type - BLOB) / 2; }

/* Where the wanted values of a record with this header lie. */
static int parse(const decoder *d, const uint8_t *type_at, const uint8_t *header_end, uint64_t value_at, layout *found) {
    int32_t position = 0, next = 0;
    found->need = value_at;
    while (next < d->count) {
        uint64_t type = NO_VALUE; /* a short record: the column was added later */
        if (type_at < header_end) {
            int n = varint(type_at, header_end, &type);
            if (!n || type == 10 || type == 11 || type > (uint64_t)1 << 40) return CORRUPT;
            type_at += n;
        }
        for (; next < d->count && d->columns[next].position == position; next++) {
            found->at[next] = value_at;
            found->type[next] = type;
        }
        found->need = value_at += width_of(type);
        if (++position > MAX_COLUMNS) return CORRUPT;
    }
    return 0;
}

/* The layout of a record, from memory where its header was met before. */
static int layout_of(decoder *d, const uint8_t *bytes, uint64_t length, const layout **found) {
    uint64_t header_length, hash = 0;
    int n = varint(bytes, bytes + length, &header_length);
    if (!n || header_length < (uint64_t)n || header_length > length) return CORRUPT;
    if (header_length > HEADER_BYTES) { /* the last place is for headers that are not remembered */
        d->layouts[LAYOUTS].header_length = (uint32_t)n;
        *found = &d->layouts[LAYOUTS];
        return parse(d, bytes + n, bytes + header_length, header_length, &d->layouts[LAYOUTS]);
    }
    for (uint64_t i = 0; i < header_length; i += 8) {
        uint64_t left = header_length - i, word = be64(bytes + i) >> (left < 8 ? 8 * (8 - left) : 0);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    }
    layout *known = &d->layouts[hash >> 58];
    *found = known;
    if (known->header_length == header_length && !memcmp(known->header, bytes, header_length)) return 0;
    known->header_length = 0;
    int bad = parse(d, bytes + n, bytes + header_length, header_length, known);
    if (bad) return bad;
    memcpy(known->header, bytes, header_length);
    known->header_length = (uint32_t)header_length;
    return 0;
}

static int64_t integer(const uint8_t *p, uint64_t type) {
    return type >= ZERO ? type == ONE : (int64_t)be64(p) >> (64 - 8 * WIDTH[type]);
}

static int put_text(column *c, const uint8_t *text, uint64_t type, int64_t row, const database *db) {
    uint64_t length = type ? (type - BLOB) / 2 : 0;
    if (type && (type < BLOB || !(type & 1) || !db->is_utf8 || length > (uint64_t)c->high)) return UNSUPPORTED;
    const uint8_t *nul = length ? memchr(text, 0, length) : NULL; /* where SQLite's substr ends a text */
    int64_t code = code_of_text(&c->distinct, text, (uint32_t)(nul ? nul - text : (ptrdiff_t)length), db->size);
    if (code < 0) return (int)code;
    ((int32_t *)c->values)[row] = (int32_t)code;
    return 0;
}

static int put_null(column *c, int64_t row) {
    c->nulls++;
    if (c->missing) c->missing[row] = 1;
    if (c->kind == NUMBER) ((int64_t *)c->values)[row] = 0;
    else if (c->kind == REAL) ((double *)c->values)[row] = 0;
    else ((int32_t *)c->values)[row] = c->kind == KEY ? NO_CODE : 0;
    return 0;
}

static int put_number(column *c, int64_t value, int64_t row) {
    int64_t code;
    switch (c->kind) {
    case NUMBER:
        ((int64_t *)c->values)[row] = value;
        return 0;
    case SMALL:
        ((int32_t *)c->values)[row] = (int32_t)(value < c->low ? c->low : value > c->high ? c->high : value);
        return 0;
    case REAL:
        ((double *)c->values)[row] = (double)value;
        return 0;
    default:
        if ((code = code_of_number(&c->distinct, value)) < 0) return (int)code;
        ((int32_t *)c->values)[row] = (int32_t)code;
        return 0;
    }
}

static int put_real(column *c, uint64_t bits, int64_t row) {
    double value;
    memcpy(&value, &bits, sizeof bits);
    if (value != value) return put_null(c, row); /* SQLite reads what is no number as NULL */
    ((double *)c->values)[row] = value;
    return 0;
}

static int put(decoder *d, column *c, const uint8_t *value, uint64_t type, int64_t rowid, int64_t row) {
    if (c->position == d->rowid) return c->kind == TEXT ? UNSUPPORTED : put_number(c, rowid, row);
    if (c->kind == TEXT) return put_text(c, value, type, row, d->db);
    if (type == NO_VALUE) return put_null(c, row);
    if (type == DOUBLE && c->kind == REAL) return put_real(c, be64(value), row);
    if (type == DOUBLE || type >= BLOB) return UNSUPPORTED; /* a real number or text where an integer is expected */
    return put_number(c, integer(value, type), row);
}

static int decode_record(decoder *d, const uint8_t *bytes, uint64_t length, int64_t rowid, int64_t row) {
    const layout *found;
    int bad = layout_of(d, bytes, length, &found);
    if (bad) return bad;
    if (found->need > length) return CORRUPT;
    for (int32_t k = 0; k < d->count; k++)
        if ((bad = put(d, &d->columns[k], bytes + found->at[k], found->type[k], rowid, row))) return bad;
    return 0;
}

/* The page of leaf i, read together with the leaves that follow it in the file as in the tree. */
static int leaf_page(decoder *d, const uint32_t *leaves, int64_t i, int64_t count, const uint8_t **page) {
    if (!d->held || leaves[i] < d->first || leaves[i] - d->first >= d->held) {
        uint32_t run = 1;
        while (run < BATCH_PAGES && i + run < count && leaves[i + run] == leaves[i] + run) run++;
        d->held = 0;
        int bad = read_pages(d->db, leaves[i], d->batch, run * d->db->page_bytes);
        if (bad) return bad;
        d->first = leaves[i];
        d->held = run;
    }
    *page = d->batch + (uint64_t)(leaves[i] - d->first) * d->db->page_bytes;
    return 0;
}

static int decode_leaf(decoder *d, const uint8_t *page, uint32_t number, int64_t expected, int64_t row) {
    const uint8_t *header, *payload, *end = page + d->db->usable;
    uint32_t cells;
    int bad = open_page(d->db, number, page, &header, &cells);
    if (bad) return bad;
    if (*header != LEAF || cells != expected) return RECOUNT;
    for (uint32_t i = 0; i < cells; i++, row++) {
        uint32_t at = be16(header + 8 + 2 * i);
        uint64_t length, rowid;
        if (at >= d->db->usable) return CORRUPT;
        const uint8_t *p = page + at;
        int n = varint(p, end, &length);
        if (!n) return CORRUPT;
        int m = varint(p + n, end, &rowid);
        if (!m) return CORRUPT;
        if ((bad = record(d, p + n + m, end, length, &payload))) return bad;
        if ((bad = decode_record(d, payload, length, (int64_t)rowid, row))) return bad;
    }
    return 0;
}

/* Decode the leaves into row, row + 1, … of every wanted column. 0, or an error; RECOUNT where a leaf holds another
 * number of cells. The dictionaries of the columns are released by the caller, whatever came back. */
int stallscope_decode(int file, uint64_t size, const uint32_t *leaves, const int64_t *cells, int64_t count,
                      column *columns, int32_t wanted, int32_t rowid, int64_t row) {
    database db;
    int bad = open_database(&db, file, size);
    if (bad) return bad;
    if (wanted > MAX_WANTED) return UNSUPPORTED;
    decoder d = {.db = &db, .columns = columns, .count = wanted, .rowid = rowid};
    d.layouts = calloc(LAYOUTS + 1, sizeof *d.layouts);
    d.batch = malloc((size_t)BATCH_PAGES * db.page_bytes + READ_AHEAD);
    d.chain = malloc(db.page_bytes);
    if (!d.layouts || !d.batch || !d.chain) bad = NO_MEMORY;
    for (int64_t i = 0; i < count && !bad; i++) {
        const uint8_t *page;
        bad = leaf_page(&d, leaves, i, count, &page);
        if (!bad) bad = decode_leaf(&d, page, leaves[i], cells[i], row);
        row += cells[i];
    }
    free(d.layouts);
    free(d.batch);
    free(d.chain);
    free(d.bytes);
    return bad;
}
