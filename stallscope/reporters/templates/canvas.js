"use strict";
// Draws a window of the timeline: single intervals where they fit, covered shares where they do not.

const GUTTER = 150;
const RULER = 26;
const GROUP = 24;
const LANE = 19;
const WAITS = 24;

class Painter {
  constructor(timeline, canvas, map) {
    this.timeline = timeline;
    this.canvas = canvas;
    this.map = map;
    this.rows = [];
    let y = RULER;
    let group = null;
    for (const lane of timeline.lanes) {
      if (lane.group !== group) {
        group = lane.group;
        this.rows.push({ group: timeline.groups.find((g) => g.key === group), y, height: GROUP });
        y += GROUP;
      }
      const height = lane.kind === "waits" ? WAITS : lane.depth ? LANE - 2 : LANE;
      this.rows.push({ lane, y, height });
      y += height;
    }
    this.height = y + 6;
    this.theme();
    this.resize();
  }

  theme() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    this.colours = { text: value("--text"), soft: value("--soft"), line: value("--line"), panel: value("--panel"), accent: value("--accent"), shade: value("--shade") };
    this.dark = style.colorScheme.includes("dark");
    this.patterns = new Map();
  }

  fill(family) { return this.dark ? family.dark : family.light; }

  ink(colour) {
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    return (light + 0.05) / 0.056 > 1.05 / (light + 0.05) ? "#101418" : "#ffffff";
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.columns = Math.max(50, Math.floor(this.width - GUTTER));
    for (const [canvas, height] of [[this.canvas, this.height], [this.map, 34]]) {
      canvas.width = Math.round(canvas.clientWidth * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
  }

  x(time, view) { return GUTTER + ((time - view.low) / (view.high - view.low)) * this.columns; }

  time(x, view) { return view.low + ((x - GUTTER) / this.columns) * (view.high - view.low); }

  draw(view, picked, mark) {
    const ctx = this.canvas.getContext("2d");
    ctx.clearRect(0, 0, this.width, this.height);
    ctx.textBaseline = "middle";
    this.ruler(ctx, view);
    for (const row of this.rows) {
      if (row.group) this.group(ctx, row); else this.lane(ctx, row, view);
    }
    if (mark) this.mark(ctx, mark, view);
    if (picked) this.outline(ctx, picked, view);
    this.minimap(view);
  }

  group(ctx, row) {
    ctx.fillStyle = this.colours.shade;
    ctx.fillRect(0, row.y, this.width, row.height);
    ctx.fillStyle = this.colours.text;
    ctx.font = "600 12px system-ui, sans-serif";
    ctx.fillText(row.group.label, 10, row.y + row.height / 2 + 1);
    const width = ctx.measureText(row.group.label).width;
    ctx.fillStyle = this.colours.soft;
    ctx.font = "12px system-ui, sans-serif";
    ctx.fillText(row.group.note || "", 20 + width, row.y + row.height / 2 + 1);
  }

  lane(ctx, row, view) {
    ctx.fillStyle = this.colours.soft;
    ctx.font = "12px system-ui, sans-serif";
    if (!row.lane.depth) this.clipped(ctx, row.lane.label, 10, row.y + row.height / 2 + 1, GUTTER - 18);
    ctx.save();
    ctx.beginPath();
    ctx.rect(GUTTER, row.y, this.columns, row.height);
    ctx.clip();
    const whole = row.lane.segments.some((s) => s.low <= view.low && s.high >= view.high) || !row.lane.bins.length;
    if (!whole) this.binned(ctx, row, view);
    for (const segment of row.lane.segments) this.segment(ctx, row, segment, view, whole);
    ctx.restore();
  }

  segment(ctx, row, segment, view, whole) {
    const { start, end } = this.timeline;
    const first = upper(end, segment.first, segment.after, view.low);
    const after = upper(start, segment.first, segment.after, view.high);
    if (!whole) {
      const left = Math.max(GUTTER, this.x(segment.low, view));
      const right = Math.min(GUTTER + this.columns, this.x(segment.high, view));
      if (right - left < 24) return;
      ctx.fillStyle = this.colours.panel;
      ctx.fillRect(left, row.y, right - left, row.height);
    }
    if (after - first > this.columns * 2) this.covered(ctx, row, first, after, view);
    else for (let i = first; i < after; i++) this.interval(ctx, row, i, view);
  }

  interval(ctx, row, i, view) {
    const { start, end, kind, name, classes, names } = this.timeline;
    const left = Math.max(GUTTER - 1, this.x(start[i], view));
    const right = Math.min(GUTTER + this.columns + 1, this.x(end[i], view));
    const width = Math.max(right - left, 1);
    const family = classes[kind[i]].family;
    const colour = this.fill(family);
    const box = [row.y + 2, row.height - 4];
    ctx.fillStyle = colour;
    ctx.fillRect(left, box[0], width > 3 ? width - 0.7 : width, box[1]);
    if (row.lane.kind === "waits" && width > 6 && family.pattern !== "solid") {
      ctx.fillStyle = this.pattern(ctx, family);
      ctx.fillRect(left, box[0], width - 0.7, box[1]);
    }
    if (width < 16) return;
    ctx.fillStyle = this.ink(colour);
    ctx.font = "11px system-ui, sans-serif";
    const wide = width >= 44;
    if (wide) this.clipped(ctx, names[name[i]], left + 5, row.y + row.height / 2 + 1, width - 9);
    else if (row.lane.kind === "waits") ctx.fillText(family.letter, left + width / 2 - 4, row.y + row.height / 2 + 1);
  }

  covered(ctx, row, first, after, view) {
    const { start, end, kind } = this.timeline;
    const shares = new Map();
    const scale = this.columns / (view.high - view.low);
    for (let i = first; i < after; i++) {
      const left = Math.max(0, (start[i] - view.low) * scale);
      const right = Math.min(this.columns, (end[i] - view.low) * scale);
      let column = shares.get(kind[i]);
      if (!column) shares.set(kind[i], (column = new Float64Array(this.columns + 1)));
      const from = Math.floor(left);
      const to = Math.min(this.columns, Math.floor(right));
      if (from === to) { column[from] += right - left; continue; }
      column[from] += from + 1 - left;
      for (let c = from + 1; c < to; c++) column[c] += 1;
      column[to] += right - to;
    }
    this.stack(ctx, row, shares);
  }

  binned(ctx, row, view) {
    const { low, high } = this.timeline;
    const perColumn = (view.high - view.low) / this.columns / (high - low);
    let level = 0;
    while (level < 2 && row.lane.bins[level + 1] && perColumn * row.lane.bins[level][0].share.length < 1) level++;
    const shares = new Map();
    for (const { kind, share } of row.lane.bins[level] || []) {
      const column = new Float64Array(this.columns + 1);
      for (let c = 0; c < this.columns; c++) {
        const from = ((view.low - low) / (high - low) + c * perColumn) * share.length;
        const to = Math.max(from + perColumn * share.length, from + 1e-9);
        let sum = 0;
        let bins = 0;
        for (let b = Math.max(0, Math.floor(from)); b < Math.min(share.length, Math.ceil(to)); b++) { sum += share[b]; bins++; }
        column[c] = bins ? sum / bins / 255 : 0;
      }
      shares.set(kind, column);
    }
    this.stack(ctx, row, shares);
  }

  stack(ctx, row, shares) {
    const height = row.height - 4;
    const base = new Float64Array(this.columns + 1);
    const order = [...shares.keys()].sort((a, b) => a - b);
    for (const kind of order) {
      const column = shares.get(kind);
      ctx.fillStyle = this.fill(this.timeline.classes[kind].family);
      for (let c = 0; c <= this.columns; c++) {
        if (!column[c]) continue;
        const size = Math.min(Math.max(column[c] * height, 1), height - base[c]);
        if (size <= 0) continue;
        ctx.fillRect(GUTTER + c, row.y + 2 + height - base[c] - size, 1, size);
        base[c] += size;
      }
    }
  }

  pattern(ctx, family) {
    const known = this.patterns.get(family.key);
    if (known) return known;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.strokeStyle = this.ink(this.fill(family));
    pen.globalAlpha = 0.4;
    pen.beginPath();
    const lines = {
      diagonal: [[0, 6, 6, 0]], backward: [[0, 0, 6, 6]], cross: [[0, 0, 6, 6], [0, 6, 6, 0]],
      vertical: [[3, 0, 3, 6]], horizontal: [[0, 3, 6, 3]], dots: [[2, 3, 4, 3]],
    }[family.pattern] || [];
    for (const [x0, y0, x1, y1] of lines) { pen.moveTo(x0, y0); pen.lineTo(x1, y1); }
    pen.stroke();
    const made = ctx.createPattern(tile, "repeat");
    this.patterns.set(family.key, made);
    return made;
  }

  clipped(ctx, text, x, y, width) {
    if (ctx.measureText(text).width > width) {
      let size = Math.max(1, Math.floor((text.length * width) / ctx.measureText(text).width) - 1);
      while (size > 1 && ctx.measureText(text.slice(0, size) + "…").width > width) size--;
      text = size > 1 ? text.slice(0, size) + "…" : "";
    }
    ctx.fillText(text, x, y);
  }

  ruler(ctx, view) {
    ctx.font = "11px system-ui, sans-serif";
    const step = niceStep((view.high - view.low) / Math.max(2, this.columns / 120));
    for (let tick = Math.ceil(view.low / step) * step; tick <= view.high; tick += step) {
      const x = this.x(tick, view);
      ctx.fillStyle = this.colours.line;
      ctx.fillRect(x, RULER - 6, 1, this.height);
      ctx.fillStyle = this.colours.soft;
      ctx.fillText(clock(tick, step), x + 4, RULER / 2);
    }
  }

  mark(ctx, mark, view) {
    const left = Math.max(GUTTER, this.x(mark.low, view));
    const right = Math.min(GUTTER + this.columns, this.x(mark.high, view));
    if (right < GUTTER || left > GUTTER + this.columns) return;
    ctx.save();
    ctx.globalAlpha = 0.13;
    ctx.fillStyle = this.colours.accent;
    ctx.fillRect(left, RULER, Math.max(right - left, 1), this.height);
    ctx.restore();
    ctx.fillStyle = this.colours.accent;
    for (const x of [left, right]) ctx.fillRect(x, RULER - 6, 1, this.height);
  }

  outline(ctx, picked, view) {
    const row = this.rows.find((r) => r.lane === picked.lane);
    const left = Math.max(GUTTER, this.x(this.timeline.start[picked.i], view));
    const right = Math.min(GUTTER + this.columns, this.x(this.timeline.end[picked.i], view));
    if (!row || right < left) return;
    ctx.strokeStyle = this.colours.text;
    ctx.lineWidth = 2;
    ctx.strokeRect(left - 1, row.y + 1, Math.max(right - left, 2) + 2, row.height - 2);
    ctx.lineWidth = 1;
  }

  minimap(view) {
    const ctx = this.map.getContext("2d");
    const width = this.map.clientWidth;
    const { low, high } = this.timeline;
    ctx.clearRect(0, 0, width, 36);
    const waits = this.rows.filter((row) => row.lane && row.lane.kind === "waits");
    const shown = (waits.length ? waits : this.rows.filter((row) => row.lane)).slice(0, 8);
    const saved = [this.columns, this.x];
    this.columns = width - GUTTER;
    shown.forEach((row, n) => {
      const height = 30 / shown.length;
      const flat = { lane: row.lane, y: 1 + n * height, height: height + 3 };
      const segment = row.lane.segments.find((s) => s.low <= low && s.high >= high);
      if (segment) this.covered(ctx, flat, segment.first, segment.after, { low, high });
      else this.binned(ctx, flat, { low, high });
    });
    this.columns = saved[0];
    const left = GUTTER + ((view.low - low) / (high - low)) * (width - GUTTER);
    const right = GUTTER + ((view.high - low) / (high - low)) * (width - GUTTER);
    ctx.fillStyle = this.colours.accent;
    ctx.globalAlpha = 0.16;
    ctx.fillRect(left, 0, Math.max(right - left, 2), 36);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = this.colours.accent;
    ctx.strokeRect(left + 0.5, 0.5, Math.max(right - left - 1, 2), 33);
    ctx.fillStyle = this.colours.soft;
    ctx.font = "12px system-ui, sans-serif";
    ctx.textBaseline = "middle";
    ctx.fillText("whole trace", 10, 18);
  }

  hit(x, y, view) {
    const row = this.rows.find((r) => r.lane && y >= r.y && y < r.y + r.height);
    if (!row || x < GUTTER) return null;
    const { start, end } = this.timeline;
    const slack = ((view.high - view.low) / this.columns) * 2;
    const time = this.time(x, view);
    for (const segment of row.lane.segments) {
      const at = upper(end, segment.first, segment.after, time);
      for (const i of [at, at - 1]) {
        if (i < segment.first || i >= segment.after) continue;
        if (start[i] - slack <= time && time < end[i] + slack) return { lane: row.lane, i };
      }
    }
    return null;
  }
}

function niceStep(raw) {
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((f) => f * power).find((step) => step >= raw);
}

function clock(ns, step) {
  const [unit, label] = step >= 1e9 ? [1e9, " s"] : step >= 1e6 ? [1e6, " ms"] : step >= 1e3 ? [1e3, " µs"] : [1, " ns"];
  return (ns / unit).toLocaleString("en", { maximumFractionDigits: 0 }) + label;
}

function span(ns) {
  const [unit, label] = ns >= 1e9 ? [1e9, " s"] : ns >= 1e6 ? [1e6, " ms"] : ns >= 1e3 ? [1e3, " µs"] : [1, " ns"];
  const value = ns / unit;
  return (label === " ns" ? Math.round(value) : value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : value.toFixed(0)) + label;
}
