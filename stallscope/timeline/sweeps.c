/* Single passes over sorted times for which numpy would need several passes and as many temporary arrays.
 *
 * Every function has the same one in Python beside its caller (`sweeps.py`), which gives identical results and is used
 * where this file was not compiled. The caller owns all memory and gives outputs their largest possible size; lengths
 * and positions are checked there, nothing here reads beyond the lengths it is given.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NO_ROW = -1, NO_MEMORY = -1, UNSORTED = -2, TOO_MANY = -3, TOO_WIDE = -4, OUTSIDE = -5 };

static int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }

/* First place in line[low, high) whose value is > wanted (right) or >= wanted. */
static int64_t bisect(const int64_t *line, int64_t low, int64_t high, int64_t wanted, int right) {
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (line[middle] < wanted || (right && line[middle] == wanted)) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The same, looking near `hint` first: consecutive questions mostly have neighbouring answers. */
static int64_t near(const int64_t *line, int64_t low, int64_t high, int64_t hint, int64_t wanted, int right) {
    int64_t step = 1;
    if (hint > low && !(line[hint - 1] < wanted || (right && line[hint - 1] == wanted))) {
        high = hint - 1;
        while (high - step >= low && !(line[high - step] < wanted || (right && line[high - step] == wanted))) {
            high -= step;
            step *= 2;
        }
        return bisect(line, max64(low, high - step), high, wanted, right);
    }
    low = hint;
    while (low + step <= high && (line[low + step - 1] < wanted || (right && line[low + step - 1] == wanted))) {
        low += step;
        step *= 2;
    }
    return bisect(line, low, min64(high, low + step), wanted, right);
}

/* numpy.searchsorted */
void stallscope_positions(
    const int64_t *line, int64_t length, const int64_t *wanted, int64_t count, int right, int64_t *found
) {
    int64_t hint = 0;
    for (int64_t i = 0; i < count; i++) found[i] = hint = near(line, 0, length, hint, wanted[i], right);
}

/* Union of intervals sorted by start; returns its size, or UNSORTED. */
int64_t stallscope_union(
    const int64_t *starts, const int64_t *ends, int64_t count, int64_t *union_starts, int64_t *union_ends
) {
    int64_t size = 0, before = INT64_MIN;
    for (int64_t i = 0; i < count; i++) {
        if (ends[i] <= starts[i]) continue;
        if (starts[i] < before) return UNSORTED;
        before = starts[i];
        if (size && starts[i] <= union_ends[size - 1]) {
            union_ends[size - 1] = max64(union_ends[size - 1], ends[i]);
        } else {
            union_starts[size] = starts[i];
            union_ends[size++] = ends[i];
        }
    }
    return size;
}

/* Measure of a set of `length` intervals in (-inf, t); `full[i]` is the measure of its first i intervals. */
static int64_t before(
    const int64_t *starts, const int64_t *ends, const int64_t *full, int64_t length, int64_t *hint, int64_t time
) {
    int64_t row = *hint = near(starts, 0, length, *hint, time, 1);
    return row ? full[row - 1] + min64(time, ends[row - 1]) - starts[row - 1] : 0;
}

/* Measure of the set inside every span. */
int stallscope_covered(
    const int64_t *set_starts, const int64_t *set_ends, int64_t length,
    const int64_t *starts, const int64_t *ends, int64_t count, int64_t *covered
) {
    int64_t *full = malloc(sizeof *full * (size_t)(length + 1)), low = 0, high = 0;
    if (!full) return NO_MEMORY;
    full[0] = 0;
    for (int64_t i = 0; i < length; i++) full[i + 1] = full[i] + set_ends[i] - set_starts[i];
    for (int64_t i = 0; i < count; i++) {
        covered[i] = before(set_starts, set_ends, full, length, &high, ends[i])
            - before(set_starts, set_ends, full, length, &low, starts[i]);
    }
    free(full);
    return 0;
}

typedef struct {
    const int64_t *starts, *ends;
    int sign; /* 1: the earlier end first where starts are equal, -1: the later */
} span_order;

static int is_after(const span_order *by, int64_t a, int64_t b) {
    if (by->starts[a] != by->starts[b]) return by->starts[a] > by->starts[b];
    return by->sign * by->ends[a] > by->sign * by->ends[b];
}

/* Where the run that begins at `from` ends: its rows are in order. */
static int64_t run_end(const span_order *by, const int32_t *rows, int64_t from, int64_t count) {
    int64_t at = from + 1;
    while (at < count && !is_after(by, rows[at - 1], rows[at])) at++;
    return at < count ? at : count;
}

/* Merges neighbouring runs into `into`; returns how many are left. */
static int64_t merge_runs(const span_order *by, const int32_t *rows, int64_t count, int32_t *into) {
    int64_t runs = 0;
    for (int64_t low = 0; low < count; runs++) {
        int64_t middle = run_end(by, rows, low, count), high = middle < count ? run_end(by, rows, middle, count) : count;
        int64_t left = low, right = middle;
        for (int64_t k = low; k < high; k++)
            into[k] = right == high || (left < middle && !is_after(by, rows[left], rows[right])) ? rows[left++] : rows[right++];
        low = high;
    }
    return runs;
}

/* A natural merge sort, which keeps equal rows as they were; `spare` has room for as many. */
static void sort_rows(const span_order *by, int32_t *rows, int64_t count, int32_t *spare) {
    if (run_end(by, rows, 0, count) >= count) return;
    for (int32_t *from = rows, *to = spare;; ) {
        int32_t *sorted = to;
        int64_t runs = merge_runs(by, from, count, to);
        to = from;
        from = sorted;
        if (runs > 1) continue;
        if (sorted != rows) memcpy(rows, sorted, sizeof *rows * (size_t)count);
        return;
    }
}

/* Rows by (group, start, end * sign): counted into their groups, which mostly puts them in order. */
int stallscope_order(
    const int32_t *group, const int64_t *starts, const int64_t *ends, int64_t count, int32_t groups, int sign,
    int32_t *order
) {
    int64_t *next = calloc((size_t)groups + 1, sizeof *next);
    int32_t *spare = malloc(sizeof *spare * (size_t)(count + 1));
    span_order by = {starts, ends, sign};
    if (next && spare) {
        for (int64_t i = 0; i < count; i++) next[group[i] + 1]++;
        for (int32_t g = 0; g < groups; g++) next[g + 1] += next[g];
        for (int64_t i = 0; i < count; i++) order[next[group[i]]++] = (int32_t)i;
        for (int32_t g = 0; g < groups; g++) { /* by now, next[g] is where group g ends */
            int64_t first = g ? next[g - 1] : 0;
            if (next[g] > first) sort_rows(&by, order + first, next[g] - first, spare);
        }
    }
    int state = next && spare ? 0 : NO_MEMORY;
    free(next);
    free(spare);
    return state;
}

/* Whether the rows are by (group, start, end * sign) already. */
int stallscope_in_order(
    const int32_t *group, const int64_t *starts, const int64_t *ends, int64_t count, int sign
) {
    span_order by = {starts, ends, sign};
    for (int64_t i = 1; i < count; i++)
        if (group[i] < group[i - 1] || (group[i] == group[i - 1] && is_after(&by, i - 1, i))) return 0;
    return 1;
}

/* Flags the spans that begin when all earlier ones of their group have ended; rows are by (group, start). */
void stallscope_outermost(
    const int32_t *group, const int64_t *starts, const int64_t *ends, int64_t count, uint8_t *outer
) {
    int64_t reach = 0;
    for (int64_t i = 0; i < count; i++) {
        int fresh = !i || group[i] != group[i - 1];
        outer[i] = fresh || starts[i] >= reach;
        reach = fresh ? ends[i] : max64(reach, ends[i]);
    }
}

/* Pairs of rows (by device and start) with nothing running between them: the last to end, the next to begin. */
int64_t stallscope_gaps(
    const int32_t *device, const int64_t *starts, const int64_t *ends, int64_t count, int32_t *before, int32_t *after
) {
    int64_t gaps = 0, last = 0;
    for (int64_t i = 1; i < count; i++) {
        int same = device[i] == device[i - 1];
        if (same && starts[i] > ends[last]) {
            before[gaps] = (int32_t)last;
            after[gaps++] = (int32_t)i;
        }
        if (!same || ends[i] >= ends[last]) last = i;
    }
    return gaps;
}

/* The correlation ids of one process among its calls: the first row of id `low + i` is `rows[i]`. */
typedef struct {
    int64_t low, high, count;
    int32_t *rows;
} id_table;

/* The first call of each operation's (process, id); ids up to 0 stand for none.
 *
 * Returns TOO_WIDE where the ids of a process spread over more than `sparsest` times their number.
 */
int stallscope_launches(
    const int32_t *process, const int64_t *id, int64_t calls, const int32_t *wanted_process, const int64_t *wanted_id,
    int64_t operations, int32_t processes, int64_t sparsest, int32_t *found
) {
    id_table *tables = calloc((size_t)processes + 1, sizeof *tables);
    if (!tables) return NO_MEMORY;
    for (int64_t i = 0; i < calls; i++) {
        if (process[i] < 0 || id[i] <= 0) continue;
        id_table *table = tables + process[i];
        table->low = table->count ? min64(table->low, id[i]) : id[i];
        table->high = max64(table->high, id[i]);
        table->count++;
    }
    int state = 0;
    for (int32_t p = 0; p < processes && !state; p++) {
        if (!tables[p].count) continue;
        int64_t size = tables[p].high - tables[p].low + 1;
        if (size / sparsest > tables[p].count + 1024) state = TOO_WIDE;
        else if (!(tables[p].rows = malloc(sizeof *tables[p].rows * (size_t)size))) state = NO_MEMORY;
        else memset(tables[p].rows, 0xff, sizeof *tables[p].rows * (size_t)size);
    }
    for (int64_t i = calls - 1; !state && i >= 0; i--) /* backwards: the first row stays */
        if (process[i] >= 0 && id[i] > 0) tables[process[i]].rows[id[i] - tables[process[i]].low] = (int32_t)i;
    for (int64_t i = 0; !state && i < operations; i++) {
        const id_table *table = wanted_process[i] < 0 ? NULL : tables + wanted_process[i];
        int known = table && table->rows && wanted_id[i] >= table->low && wanted_id[i] <= table->high;
        found[i] = known ? table->rows[wanted_id[i] - table->low] : NO_ROW;
    }
    for (int32_t p = 0; p < processes; p++) free(tables[p].rows);
    free(tables);
    return state;
}

/* The rows of each thread in a table sorted by thread, and where its last question was answered. */
typedef struct {
    int64_t first, after, hint;
} rows_of;

static rows_of *rows_by_thread(const int32_t *thread, int64_t count, int32_t threads) {
    rows_of *found = malloc(sizeof *found * ((size_t)threads + 1));
    int64_t row = 0;
    while (row < count && thread[row] < 0) row++;
    for (int32_t t = 0; found && t < threads; t++) {
        found[t].first = found[t].hint = row;
        while (row < count && thread[row] == t) row++;
        found[t].after = row;
    }
    return found;
}

/* Range [first, after) of the disjoint calls (by thread and start) that share a nanosecond with each query. */
int stallscope_overlaps(
    const int32_t *thread, const int64_t *starts, const int64_t *ends, int64_t count, int32_t threads,
    const int32_t *asked, const int64_t *from, const int64_t *to, int64_t queries, int64_t *first, int64_t *after
) {
    rows_of *rows = rows_by_thread(thread, count, threads);
    if (!rows) return NO_MEMORY;
    for (int64_t q = 0; q < queries; q++) {
        int32_t t = asked[q];
        first[q] = after[q] = 0;
        if (t < 0 || t >= threads) continue;
        first[q] = rows[t].hint = near(ends, rows[t].first, rows[t].after, rows[t].hint, from[q], 1);
        after[q] = near(starts, rows[t].first, rows[t].after, rows[t].hint, to[q], 0);
    }
    free(rows);
    return 0;
}

/* Longest part of each query [from, to) outside the disjoint calls of its thread. */
int stallscope_stretches(
    const int32_t *thread, const int64_t *starts, const int64_t *ends, int64_t count, int32_t threads,
    const int32_t *asked, const int64_t *from, const int64_t *to, int64_t queries, int64_t *longest
) {
    rows_of *rows = rows_by_thread(thread, count, threads);
    if (!rows) return NO_MEMORY;
    for (int64_t q = 0; q < queries; q++) {
        int32_t t = asked[q];
        longest[q] = 0;
        if (t < 0) continue;
        int64_t at = from[q], row = 0, after = 0;
        if (t < threads) {
            after = rows[t].after;
            row = rows[t].hint = near(ends, rows[t].first, after, rows[t].hint, from[q], 1);
        }
        for (; row < after && starts[row] < to[q]; row++) {
            longest[q] = max64(longest[q], max64(starts[row], from[q]) - at);
            at = min64(ends[row], to[q]);
        }
        longest[q] = max64(longest[q], to[q] - at);
    }
    free(rows);
    return 0;
}

typedef struct {
    int64_t *starts, *ends, size;
} intervals;

static void append(intervals *set, int64_t start, int64_t end) {
    if (start >= end) return;
    if (set->size && set->ends[set->size - 1] == start) {
        set->ends[set->size - 1] = end;
        return;
    }
    set->starts[set->size] = start;
    set->ends[set->size++] = end;
}

/* Gives claims (by start) what they cover of the free intervals, to the first of those that overlap.
 *
 * `owned` grows by what each claim got, `got` is all of it together, `left` what stays free; their sizes are returned in
 * `sizes` (got, left).
 */
void stallscope_claim(
    const int64_t *free_starts, const int64_t *free_ends, int64_t free_count,
    const int64_t *starts, const int64_t *ends, int64_t count, int64_t *owned,
    int64_t *got_starts, int64_t *got_ends, int64_t *left_starts, int64_t *left_ends, int64_t *sizes
) {
    intervals got = {got_starts, got_ends, 0}, left = {left_starts, left_ends, 0};
    int64_t f = 0, reach = INT64_MIN, from = free_count ? free_starts[0] : 0;
    for (int64_t i = 0; i < count && f < free_count; i++) {
        if (ends[i] <= reach) continue;
        int64_t start = max64(starts[i], reach), end = ends[i];
        reach = end;
        while (f < free_count && free_starts[f] < end) {
            int64_t low = max64(from, start), high = min64(free_ends[f], end);
            if (low < high) {
                append(&left, from, low);
                append(&got, low, high);
                owned[i] += high - low;
                from = high;
            }
            if (free_ends[f] > end) break;
            append(&left, from, free_ends[f]);
            if (++f < free_count) from = free_starts[f];
        }
    }
    for (; f < free_count; f++, from = f < free_count ? free_starts[f] : 0) append(&left, from, free_ends[f]);
    sizes[0] = got.size;
    sizes[1] = left.size;
}

/* Row of the range around each (by start, longest first), NO_ROW for none, and how many lead up from it. */
void stallscope_nesting(const int64_t *starts, const int64_t *ends, int64_t count, int32_t *parent, int32_t *depth) {
    int32_t open = NO_ROW;
    for (int32_t i = 0; i < count; i++) {
        while (open != NO_ROW && ends[open] <= starts[i]) open = parent[open];
        parent[i] = open;
        depth[i] = open == NO_ROW ? 0 : depth[open] + 1;
        open = i;
    }
}

/* Innermost range open on a thread at a time, or NO_ROW; ranges are by (thread, start), longest first. */
int stallscope_innermost(
    const int32_t *thread, const int64_t *starts, const int64_t *ends, const int32_t *parent, int64_t count,
    int32_t threads, const int32_t *asked, const int64_t *times, int64_t queries, int32_t *found
) {
    rows_of *rows = rows_by_thread(thread, count, threads);
    if (!rows) return NO_MEMORY;
    for (int64_t q = 0; q < queries; q++) {
        int32_t t = asked[q];
        found[q] = NO_ROW;
        if (t < 0 || t >= threads) continue;
        int64_t row = rows[t].hint = near(starts, rows[t].first, rows[t].after, rows[t].hint, times[q], 1);
        row = row > rows[t].first ? row - 1 : NO_ROW;
        while (row != NO_ROW && ends[row] <= times[q]) row = parent[row];
        found[q] = (int32_t)row;
    }
    free(rows);
    return 0;
}

/* Values (of 1, 4 or 8 bytes) of the given rows; OUTSIDE where a row is none of `length`. */
int stallscope_picked(
    const void *values, int32_t bytes, int64_t length, const int32_t *rows, int64_t count, void *found
) {
    for (int64_t i = 0; i < count; i++)
        if (rows[i] < 0 || rows[i] >= length) return OUTSIDE;
    if (bytes == 8)
        for (int64_t i = 0; i < count; i++) ((int64_t *)found)[i] = ((const int64_t *)values)[rows[i]];
    else if (bytes == 4)
        for (int64_t i = 0; i < count; i++) ((int32_t *)found)[i] = ((const int32_t *)values)[rows[i]];
    else
        for (int64_t i = 0; i < count; i++) ((int8_t *)found)[i] = ((const int8_t *)values)[rows[i]];
    return 0;
}

static int64_t cell(const void *column, int32_t bytes, int64_t row) {
    if (bytes == 8) return ((const int64_t *)column)[row];
    if (bytes == 4) return ((const int32_t *)column)[row];
    return ((const int8_t *)column)[row];
}

/* A column whose values, less the smallest, go into `bits` bits of a key. */
typedef struct {
    const void *values;
    int32_t bytes, bits;
    int64_t lowest;
} key_part;

static key_part measured(const void *values, int32_t bytes, int64_t count) {
    int64_t low = count ? cell(values, bytes, 0) : 0, high = low;
    for (int64_t i = 1; i < count; i++) {
        low = min64(low, cell(values, bytes, i));
        high = max64(high, cell(values, bytes, i));
    }
    int32_t bits = 0;
    while (bits < 64 && ((uint64_t)high - (uint64_t)low) >> bits) bits++;
    return (key_part){values, bytes, bits, low};
}

/* Spreads keys over the table; reversible, so that different keys stay different. */
static uint64_t spread(uint64_t key) {
    key = (key ^ key >> 32) * 0x9E3779B97F4A7C15u;
    return key ^ key >> 29;
}

typedef struct {
    uint64_t key;
    int64_t group;
} slot;

/* Where the key stands in the table or belongs into it. */
static slot *place_of(slot *table, uint64_t capacity, uint64_t key) {
    uint64_t at = key & (capacity - 1);
    while (table[at].group != NO_ROW && table[at].key != key) at = (at + 1) & (capacity - 1);
    return table + at;
}

static slot *empty_table(uint64_t capacity) {
    slot *table = malloc(sizeof *table * capacity);
    if (table) memset(table, 0xff, sizeof *table * capacity);
    return table;
}

/* Moves the keys into a table four times as large; NULL when there is no memory for it. */
static slot *grown(slot *table, uint64_t capacity) {
    slot *larger = empty_table(capacity * 4);
    for (uint64_t at = 0; larger && at < capacity; at++)
        if (table[at].group != NO_ROW) *place_of(larger, capacity * 4, table[at].key) = table[at];
    free(table);
    return larger;
}

static int64_t numbered(const key_part *parts, int32_t width, int64_t count, int64_t most, int32_t *group, int32_t *first) {
    uint64_t capacity = 1024;
    slot *table = empty_table(capacity);
    int64_t groups = 0;
    for (int64_t i = 0; table && i < count; i++) {
        uint64_t key = 0;
        for (int32_t c = 0; c < width; c++) {
            uint64_t digit = (uint64_t)cell(parts[c].values, parts[c].bytes, i) - (uint64_t)parts[c].lowest;
            key = parts[c].bits < 64 ? key << parts[c].bits | digit : digit;
        }
        key = spread(key);
        slot *found = place_of(table, capacity, key);
        if (found->group == NO_ROW) {
            if (groups == most) {
                free(table);
                return TOO_MANY;
            }
            *found = (slot){key, groups};
            first[groups] = (int32_t)i;
            group[i] = (int32_t)groups++;
            if ((uint64_t)groups * 2 > capacity) {
                table = grown(table, capacity);
                capacity *= 4;
            }
        } else {
            group[i] = (int32_t)found->group;
        }
    }
    int complete = table != NULL;
    free(table);
    return complete ? groups : NO_MEMORY;
}

/* Number of the distinct row (over all columns) of every row, and where each distinct one first stands.
 *
 * Returns how many there are, TOO_MANY for more than `most`, TOO_WIDE where a row does not fit into 64 bits.
 */
int64_t stallscope_groups(
    const void *const *columns, const int32_t *bytes, int32_t width, int64_t count, int64_t most, int32_t *group,
    int32_t *first
) {
    key_part *parts = malloc(sizeof *parts * (size_t)(width + 1));
    if (!parts) return NO_MEMORY;
    int64_t bits = 0;
    for (int32_t c = 0; c < width; c++) {
        parts[c] = measured(columns[c], bytes[c], count);
        bits += parts[c].bits;
    }
    int64_t groups = bits > 64 ? TOO_WIDE : numbered(parts, width, count, most, group, first);
    free(parts);
    return groups;
}
