"use strict";
// Decodes the payload of stallscope/views/timeline_tiles.py into columns.

async function decodeTiles(text) {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const body = new Uint8Array(buffer, 4 + length);
  return buildTimeline(header, body);
}

function unplane(body, offset, count) {
  const words = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    words[i] = body[offset + i] | (body[offset + count + i] << 8) | (body[offset + 2 * count + i] << 16) |
      (body[offset + 3 * count + i] << 24);
  }
  return words;
}

function buildTimeline(header, body) {
  const count = header.count;
  const columns = header.columns;
  const gap = Float64Array.from(unplane(body, columns.gap, count));
  const size = Float64Array.from(unplane(body, columns.length, count));
  for (const [at, value] of header.exceptions.gap) gap[at] = value;
  for (const [at, value] of header.exceptions.length) size[at] = value;
  const link = new Int32Array(unplane(body, columns.link, count).buffer);
  for (let i = 1; i < count; i++) link[i] += link[i - 1];
  const timeline = {
    low: header.low, high: header.high, names: header.names, exact: header.bins.length === 0,
    start: new Float64Array(count), end: new Float64Array(count), link,
    kind: body.subarray(columns.kind, columns.kind + count), name: unplane(body, columns.name, count),
    families: new Map(header.families.map(([key, letter, pattern, light, dark]) => [key, { key, letter, pattern, light, dark }])),
    groups: header.groups.map(([key, label, kind, note]) => ({ key, label, kind, note })),
    lanes: header.lanes.map(([key, label, group, kind, depth, total]) => ({ key, label, group, kind, depth, total, segments: [], bins: [], sums: [] })),
  };
  timeline.classes = header.classes.map(([key, label, family]) => ({ key, label, family: timeline.families.get(family) || timeline.families.get("unknown") }));
  let first = 0;
  for (const [lane, rows, low, high] of header.segments) {
    let time = header.low;
    for (let i = first; i < first + rows; i++) {
      timeline.start[i] = time + gap[i];
      time = timeline.end[i] = timeline.start[i] + size[i];
    }
    timeline.lanes[lane].segments.push({ first, after: first + rows, low, high });
    first += rows;
  }
  for (const [lane, level, kind, offset] of header.bins) {
    const levels = timeline.lanes[lane].bins;
    (levels[level] ||= []).push({ kind, share: body.subarray(offset, offset + header.levels[level]) });
  }
  for (const [lane, kind, unit, offset] of header.sums) {
    const ns = Float64Array.from(unplane(body, offset, header.levels[0]), (value) => value * unit);
    timeline.lanes[lane].sums.push({ kind, ns });
  }
  return timeline;
}

// First row of [first, after) for which values[row] > limit.
function upper(values, first, after, limit) {
  while (first < after) {
    const middle = (first + after) >> 1;
    if (values[middle] > limit) after = middle; else first = middle + 1;
  }
  return first;
}
