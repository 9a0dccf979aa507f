/* The leaves of a SQLite table's b-tree, found without SQLite.
 *
 * Written from the public description of the file format (sqlite.org/fileformat2.html). The input is untrusted: every
 * page number, cell pointer, header and payload is checked against the bytes it may use before it is read, trees are
 * bounded in depth and in visited pages, overflow chains in the bytes they may add up to, and anything unusual makes the
 * caller fall back to SQLite itself. Pages are read, not mapped: a mapped file that another program cuts short would end
 * the process.
 */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sqlite_pages.h"

enum { MAX_DEPTH = 32, START_BYTES = 112 }; /* of a page: enough for the file's header and the page's */

static int read_at(const database *db, uint64_t offset, uint8_t *into, uint32_t count) {
    return pread(db->file, into, count, (off_t)offset) == (ssize_t)count ? 0 : CORRUPT;
}

/* `count` bytes from the start of a page on; they may reach into the pages behind it. */
int read_pages(const database *db, uint32_t number, uint8_t *into, uint32_t count) {
    if (number < 1 || number > db->pages) return CORRUPT;
    uint64_t offset = (uint64_t)(number - 1) * db->page_bytes;
    return count > db->size - offset ? CORRUPT : read_at(db, offset, into, count);
}

int open_database(database *db, int file, uint64_t size) {
    uint8_t header[100];
    *db = (database){file, size, 0, 0, 0, 0};
    if (size < 512 || read_at(db, 0, header, sizeof header) || memcmp(header, "SQLite format 3", 16)) return CORRUPT;
    uint32_t page = be16(header + 16);
    page = page == 1 ? 65536 : page;
    if (page < 512 || page > 65536 || (page & (page - 1)) || size % page) return CORRUPT;
    if (header[18] != 1 || header[19] != 1) return UNSUPPORTED; /* write-ahead log */
    if (page - header[20] < 480 || size / page > UINT32_MAX) return CORRUPT;
    *db = (database){file, size, page, page - header[20], (uint32_t)(size / page), be32(header + 56) == 1};
    return 0;
}

/* Where the header of a b-tree page is and how many cells its pointer array holds. */
int open_page(const database *db, uint32_t number, const uint8_t *page, const uint8_t **header, uint32_t *cells) {
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
    int is_counted;    /* read every leaf for its number of cells; else the keys between the leaves tell it */
    uint64_t visited;
    int is_leaf;       /* the subtree that was walked last */
    int64_t last;      /* greatest rowid before the next leaf */
    uint8_t *pages;    /* one a level */
} walk;

typedef struct {
    uint32_t number;
    int is_open;       /* no key bounds its rowids: the right edge of the tree */
    int64_t greatest;  /* rowid, by that key */
} subtree;

static int add(walk *w, uint32_t number, int64_t cells) {
    if (w->found < w->capacity) { w->leaves[w->found] = number; w->cells[w->found] = cells; }
    w->found++;
    return 0;
}

/* A leaf that is not read: where no rowid is missing, the keys beside it tell its cells. Decoding it checks them. */
static int add_unread(walk *w, subtree leaf) {
    uint64_t cells = (uint64_t)leaf.greatest - (uint64_t)w->last;
    if (++w->visited > w->db->pages) return CORRUPT;
    if (cells > w->db->usable / 2) return RECOUNT;
    w->last = leaf.greatest;
    return add(w, leaf.number, (int64_t)cells);
}

static int collect(walk *w, subtree tree, int depth);

static int collect_children(walk *w, const uint8_t *page, const uint8_t *header, subtree tree, int depth) {
    uint32_t cells = be16(header + 3);
    int leaves = w->is_counted ? 0 : -1; /* whether the children are: unknown until the first one was read */
    for (uint32_t i = 0; i <= cells; i++) {
        subtree child = {be32(header + 8), tree.is_open, tree.greatest};
        if (i < cells) {
            uint32_t at = be16(header + 12 + 2 * i);
            uint64_t key;
            if (at + 4 > w->db->usable || !varint(page + at + 4, page + w->db->usable, &key)) return CORRUPT;
            child = (subtree){be32(page + at), 0, (int64_t)key};
        }
        int bad = leaves == 1 && !child.is_open ? add_unread(w, child) : collect(w, child, depth + 1);
        if (bad) return bad;
        if (leaves < 0) leaves = w->is_leaf;
    }
    return 0;
}

static int collect(walk *w, subtree tree, int depth) {
    const uint8_t *header;
    uint32_t cells;
    if (depth > MAX_DEPTH || ++w->visited > w->db->pages) return CORRUPT;
    uint8_t *page = w->pages + (uint64_t)depth * w->db->page_bytes;
    int bad = read_pages(w->db, tree.number, page, START_BYTES);
    if (bad || (bad = open_page(w->db, tree.number, page, &header, &cells))) return bad;
    w->is_leaf = *header == LEAF;
    if (w->is_leaf) {
        w->last = tree.greatest;
        return add(w, tree.number, cells);
    }
    if ((bad = read_pages(w->db, tree.number, page, w->db->page_bytes))) return bad;
    if (open_page(w->db, tree.number, page, &header, &cells) || *header != INTERIOR) return CORRUPT;
    bad = collect_children(w, page, header, tree, depth);
    w->is_leaf = 0;
    return bad;
}

/* Leaves of the table's tree in rowid order with their cell counts. Returns how many there are, or an error; with too
 * little capacity the number is still exact and the arrays are incomplete. Unless `is_counted`, most leaves are not
 * read: their counts are those of a table without holes in its rowids, which stallscope_decode verifies (RECOUNT). */
int64_t stallscope_leaves(int file, uint64_t size, uint32_t root, uint32_t *leaves, int64_t *cells, int64_t capacity,
                          int is_counted) {
    database db;
    int bad = open_database(&db, file, size);
    if (bad) return bad;
    walk w = {.db = &db, .leaves = leaves, .cells = cells, .capacity = capacity, .is_counted = is_counted};
    w.pages = malloc((uint64_t)(MAX_DEPTH + 1) * db.page_bytes);
    if (!w.pages) return NO_MEMORY;
    bad = collect(&w, (subtree){root, 1, 0}, 0);
    free(w.pages);
    return bad ? bad : w.found;
}
