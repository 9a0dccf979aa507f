/* Integer columns of a SQLite table, decoded from the file's pages without SQLite.
 *
 * Written from the public description of the file format (sqlite.org/fileformat2.html). The input is untrusted: every
 * page number, cell pointer, header and payload is checked against the bytes it may use before it is read, trees are
 * bounded in depth and in visited pages, overflow chains in the bytes they may add up to, and anything unusual makes the
 * caller fall back to SQLite itself. Pages are read, not mapped: a mapped file that another program cuts short would end
 * the process.
 */
#define _XOPEN_SOURCE 700
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CORRUPT = -1, UNSUPPORTED = -2, NO_MEMORY = -3 };
enum { INTERIOR = 0x05, LEAF = 0x0d, MAX_DEPTH = 32, MAX_COLUMNS = 2000 };

typedef struct {
    int file;
    uint64_t size;
    uint32_t page_bytes;
    uint32_t usable;
    uint32_t pages;
} database;

static uint32_t be16(const uint8_t *p) { return (uint32_t)p[0] << 8 | p[1]; }
static uint32_t be32(const uint8_t *p) { return be16(p) << 16 | be16(p + 2); }

/* Length of the varint at p (it must end before `end`), or 0. */
static int varint(const uint8_t *p, const uint8_t *end, uint64_t *value) {
    uint64_t found = 0;
    for (int i = 0; i < 9; i++) {
        if (p + i >= end) return 0;
        if (i == 8) { *value = found << 8 | p[i]; return 9; }
        found = found << 7 | (p[i] & 0x7f);
        if (!(p[i] & 0x80)) { *value = found; return i + 1; }
    }
    return 0;
}

static int read_at(const database *db, uint64_t offset, uint8_t *into, uint32_t count) {
    return pread(db->file, into, count, (off_t)offset) == (ssize_t)count ? 0 : CORRUPT;
}

static int read_page(const database *db, uint32_t number, uint8_t *into, uint32_t count) {
    if (number < 1 || number > db->pages) return CORRUPT;
    return read_at(db, (uint64_t)(number - 1) * db->page_bytes, into, count);
}

static int open_database(database *db, int file, uint64_t size) {
    uint8_t header[100];
    *db = (database){file, size, 0, 0, 0};
    if (size < 512 || read_at(db, 0, header, sizeof header) || memcmp(header, "SQLite format 3", 16)) return CORRUPT;
    uint32_t page = be16(header + 16);
    page = page == 1 ? 65536 : page;
    if (page < 512 || page > 65536 || (page & (page - 1)) || size % page) return CORRUPT;
    if (header[18] != 1 || header[19] != 1) return UNSUPPORTED; /* write-ahead log */
    if (page - header[20] < 480 || size / page > UINT32_MAX) return CORRUPT;
    *db = (database){file, size, page, page - header[20], (uint32_t)(size / page)};
    return 0;
}

/* Where the header of a b-tree page is and how many cells its pointer array holds. */
static int open_page(const database *db, uint32_t number, const uint8_t *page, const uint8_t **header, uint32_t *cells) {
    *header = page + (number == 1 ? 100 : 0);
    uint32_t fixed = **header == INTERIOR ? 12 : 8;
    *cells = be16(*header + 3);
    if (**header != INTERIOR && **header != LEAF) return CORRUPT;
    if ((uint32_t)(*header - page) + fixed + 2 * *cells > db->usable) return CORRUPT;
    return 0;
}

typedef struct {
    const database *db;
    uint32_t *leaves;
    int64_t *cells;
    int64_t capacity, found;
    uint64_t visited;
    uint8_t *pages; /* one a level */
} walk;

enum { START_BYTES = 112 }; /* of a page: enough for the file's header and the page's */

static int collect(walk *w, uint32_t number, int depth) {
    const uint8_t *header;
    uint32_t cells;
    if (depth > MAX_DEPTH || ++w->visited > w->db->pages) return CORRUPT;
    uint8_t *page = w->pages + (uint64_t)depth * w->db->page_bytes;
    int bad = read_page(w->db, number, page, START_BYTES);
    if (bad || (bad = open_page(w->db, number, page, &header, &cells))) return bad;
    if (*header == LEAF) {
        if (w->found < w->capacity) { w->leaves[w->found] = number; w->cells[w->found] = cells; }
        w->found++;
        return 0;
    }
    if ((bad = read_page(w->db, number, page, w->db->page_bytes))) return bad;
    if ((bad = open_page(w->db, number, page, &header, &cells)) || *header != INTERIOR) return CORRUPT;
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t at = be16(header + 12 + 2 * i);
        if (at + 4 > w->db->usable) return CORRUPT;
        if ((bad = collect(w, be32(page + at), depth + 1))) return bad;
    }
    return collect(w, be32(header + 8), depth + 1);
}

/* Leaves of the table's tree in rowid order with their cell counts. Returns how many there are, or an error; with too
 * little capacity the number is still exact and the arrays are incomplete. */
int64_t stallscope_leaves(int file, uint64_t size, uint32_t root, uint32_t *leaves, int64_t *cells, int64_t capacity) {
    database db;
    int bad = open_database(&db, file, size);
    if (bad) return bad;
    walk w = {&db, leaves, cells, capacity, 0, 0, malloc((uint64_t)(MAX_DEPTH + 1) * db.page_bytes)};
    if (!w.pages) return NO_MEMORY;
    bad = collect(&w, root, 0);
    free(w.pages);
    return bad ? bad : w.found;
}

typedef struct {
    uint8_t *page, *next; /* the leaf, and a page of an overflow chain */
    uint8_t *bytes;
    uint64_t capacity;
    uint64_t assembled; /* bytes copied from overflow pages: no page belongs to two records */
} scratch;

/* The record of a cell as one run of bytes: in the page, or assembled from its overflow chain. */
static int record(const database *db, const uint8_t *payload, const uint8_t *end, uint64_t length, scratch *s,
                  const uint8_t **out) {
    uint64_t most = db->usable - 35;
    if (length <= most) {
        if (length > (uint64_t)(end - payload)) return CORRUPT;
        *out = payload;
        return 0;
    }
    uint64_t least = (db->usable - 12) * 32 / 255 - 23;
    uint64_t local = least + (length - least) % (db->usable - 4);
    if (local > most) local = least;
    if (length > db->size || local + 4 > (uint64_t)(end - payload)) return CORRUPT;
    if ((s->assembled += length) > db->size) return CORRUPT;
    if (s->capacity < length) {
        uint8_t *grown = realloc(s->bytes, length);
        if (!grown) return NO_MEMORY;
        s->bytes = grown;
        s->capacity = length;
    }
    memcpy(s->bytes, payload, local);
    uint32_t next = be32(payload + local);
    for (uint64_t done = local; done < length;) {
        uint64_t part = length - done < db->usable - 4 ? length - done : db->usable - 4;
        int bad = read_page(db, next, s->next, (uint32_t)part + 4);
        if (bad) return bad;
        memcpy(s->bytes + done, s->next + 4, part);
        done += part;
        next = be32(s->next);
    }
    *out = s->bytes;
    return 0;
}

static const uint8_t WIDTH[10] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};

static int64_t integer(const uint8_t *p, uint64_t type) {
    int width = WIDTH[type];
    int64_t value = (int8_t)p[0];
    for (int i = 1; i < width; i++) value = (int64_t)((uint64_t)value << 8 | p[i]);
    return value;
}

typedef struct {
    const int32_t *column; /* positions in the record, ascending */
    int32_t count;
    int32_t rowid; /* position of the column that aliases the rowid, or -1 */
    int64_t **values;
    uint8_t **valid;
} target;

static int decode_record(const uint8_t *bytes, uint64_t length, int64_t rowid, const target *t, int64_t row) {
    uint64_t header_length;
    const uint8_t *end = bytes + length;
    int n = varint(bytes, end, &header_length);
    if (!n || header_length < (uint64_t)n || header_length > length) return CORRUPT;
    const uint8_t *type_at = bytes + n, *header_end = bytes + header_length, *value_at = header_end;
    int32_t position = 0, next = 0;
    while (next < t->count) {
        if (type_at >= header_end) { /* a short record: the column was added later */
            t->values[next][row] = 0;
            t->valid[next][row] = 0;
            next++;
            continue;
        }
        uint64_t type;
        if (!(n = varint(type_at, header_end, &type))) return CORRUPT;
        type_at += n;
        uint64_t width = type < 10 ? WIDTH[type] : type < 12 ? 0 : (type - 12) / 2;
        if (type == 10 || type == 11 || width > (uint64_t)(end - value_at)) return CORRUPT;
        if (position == t->column[next]) {
            int64_t value = 0;
            uint8_t valid = type != 0;
            if (type == 7 || type >= 12) return UNSUPPORTED; /* a real number or text where an integer is expected */
            if (type == 9) value = 1;
            else if (type && type < 7) value = integer(value_at, type);
            if (position == t->rowid && !valid) { value = rowid; valid = 1; }
            t->values[next][row] = value;
            t->valid[next][row] = valid;
            next++;
        }
        value_at += width;
        if (++position > MAX_COLUMNS) return CORRUPT;
    }
    return 0;
}

static int decode_leaf(const database *db, uint32_t number, int64_t expected, const target *t, int64_t row, scratch *s) {
    const uint8_t *page = s->page, *header, *payload;
    uint32_t cells;
    int bad = read_page(db, number, s->page, db->page_bytes);
    if (bad || (bad = open_page(db, number, page, &header, &cells))) return bad;
    if (*header != LEAF || cells != expected) return CORRUPT;
    const uint8_t *end = page + db->usable;
    for (uint32_t i = 0; i < cells; i++, row++) {
        uint32_t at = be16(header + 8 + 2 * i);
        uint64_t length, rowid;
        if (at >= db->usable) return CORRUPT;
        const uint8_t *p = page + at;
        int n = varint(p, end, &length);
        if (!n) return CORRUPT;
        int m = varint(p + n, end, &rowid);
        if (!m) return CORRUPT;
        if ((bad = record(db, p + n + m, end, length, s, &payload))) return bad;
        if ((bad = decode_record(payload, length, (int64_t)rowid, t, row))) return bad;
    }
    return 0;
}

/* Decode the leaves into values[k][row...] and valid[k][row...] for every wanted column k. 0, or an error. */
int stallscope_decode(int file, uint64_t size, const uint32_t *leaves, const int64_t *cells, int64_t count,
                      const int32_t *column, int32_t columns, int32_t rowid, int64_t **values, uint8_t **valid,
                      int64_t row) {
    database db;
    int bad = open_database(&db, file, size);
    if (bad) return bad;
    scratch s = {malloc(db.page_bytes), malloc(db.page_bytes), 0, 0, 0};
    if (!s.page || !s.next) bad = NO_MEMORY;
    target t = {column, columns, rowid, values, valid};
    for (int64_t i = 0; i < count && !bad; i++) {
        bad = decode_leaf(&db, leaves[i], cells[i], &t, row, &s);
        row += cells[i];
    }
    free(s.page);
    free(s.next);
    free(s.bytes);
    return bad;
}
