// Painting: lanes of bins or intervals, ruler, minimap, arrows. Knows colours and patterns, not the mouse.
(() => {
  "use strict";
  const FULL = 65535;
  const LABEL = 26;      // an interval narrower than this many pixels has no text
  const PATTERNS = {
    work: "solid", memset: "solid", copy: "solid", comm: "dots", launch: "diagonal", sync: "solid", alloc: "cross",
    uvm: "backward", host: "vertical", dep: "horizontal", init: "dots", kernel: "cross", env: "horizontal",
    unknown: "diagonal", range: "solid",
  };
  const LETTERS = {
    work: "K", memset: "M", copy: "C", comm: "N", launch: "L", sync: "S", alloc: "A", uvm: "U", host: "H", dep: "D",
    init: "I", kernel: "P", env: "E", unknown: "?", range: "",
  };

  class Palette {
    constructor() { this.read(); }
    read() {
      const style = getComputedStyle(document.documentElement);
      const value = (name) => style.getPropertyValue(name).trim();
      this.family = Object.fromEntries(Object.keys(PATTERNS).map((key) => [key, value(`--f-${key}`)]));
      for (const name of ["ink", "ink-2", "ink-3", "paper", "panel", "raised", "sunken", "line", "line-strong", "accent"]) {
        this[name.replace("-", "")] = value(`--${name}`);
      }
      this.font = value("--font"); this.light = document.documentElement.dataset.theme === "light";
      this.patterns = {}; this.shades = {};
    }
    pattern(context, family) {
      const kind = PATTERNS[family];
      if (kind === "solid") return null;
      return this.patterns[kind] ??= context.createPattern(this.stencil(kind), "repeat");
    }
    stencil(kind) {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = 8;
      const draw = canvas.getContext("2d");
      draw.strokeStyle = draw.fillStyle = this.light ? "rgba(255,255,255,.5)" : "rgba(0,0,0,.36)";
      draw.lineWidth = 1.4;
      draw.beginPath();
      const line = (a, b, c, d) => { draw.moveTo(a, b); draw.lineTo(c, d); };
      if (kind === "diagonal" || kind === "cross") { line(-2, 2, 2, -2); line(0, 8, 8, 0); line(6, 10, 10, 6); }
      if (kind === "backward" || kind === "cross") { line(-2, 6, 2, 10); line(0, 0, 8, 8); line(6, -2, 10, 2); }
      if (kind === "vertical") line(4, 0, 4, 8);
      if (kind === "horizontal") line(0, 4, 8, 4);
      draw.stroke();
      if (kind === "dots") { draw.beginPath(); draw.arc(4, 4, 1.2, 0, 7); draw.fill(); }
      return canvas;
    }
    // Neighbours of one family differ a little by name, so that a repeating sequence can be seen.
    shade(family, name) {
      const step = Math.imul(name + 1, 2654435761) >>> 29;
      return this.shades[`${family}${step}`] ??=
        `color-mix(in oklab, ${this.family[family]} ${100 - step * 5}%, ${this.light ? "white" : "black"})`;
    }
  }

  class Painter {
    constructor(model, tiles, palette) { Object.assign(this, { model, tiles, palette, bitmaps: new WeakMap() }); }

    lane(context, number, box) {
      const entry = this.tiles.lanes.get(number);
      if (!entry) return;
      if (entry.bins) this.bins(context, entry, number, box); else this.intervals(context, entry, number, box);
    }

    bins(context, entry, number, box) {
      const { model } = this;
      const bitmap = this.bitmap(entry, number, box.height);
      if (!bitmap) return;
      const scale = box.width / model.width;
      const x = box.x + (entry.low - model.low) * scale, width = (entry.high - entry.low) * scale;
      context.save();
      context.beginPath(); context.rect(box.x, box.y, box.width, box.height); context.clip();
      context.imageSmoothingEnabled = Math.abs(width - entry.pixels) > 2;
      context.drawImage(bitmap, x, box.y, width, box.height);
      context.restore();
    }

    // One column a pixel: the classes' shares stacked from the bottom, over a tint where anything ran at all.
    bitmap(entry, number, height) {
      const key = `${height}${this.palette.light}${this.model.wait}`;
      const kept = this.bitmaps.get(entry);
      if (kept?.key === key) return kept.canvas;
      const canvas = document.createElement("canvas");
      canvas.width = entry.pixels; canvas.height = Math.round(height * 2);
      const draw = canvas.getContext("2d");
      const base = new Float32Array(entry.pixels), tall = canvas.height;
      const tint = this.model.meta.lanes[number].kind !== "waits";
      for (const { kind, share } of entry.bins) {
        const { family, key: id } = this.model.meta.classes[kind];
        const dimmed = this.model.wait && !tint && id !== this.model.wait;
        draw.fillStyle = this.palette.family[family];
        if (tint) {
          draw.globalAlpha = 0.17;
          draw.beginPath();
          this.columns(share, (from, to) => draw.rect(from, 0, to - from, tall));
          draw.fill();
        }
        draw.globalAlpha = dimmed ? 0.22 : 1;
        const shape = new Path2D();
        for (let i = 0; i < share.length; i++) {
          if (!share[i]) continue;
          const part = Math.max(share[i] / FULL * tall, 1);
          shape.rect(i, tall - base[i] - part, 1, part);
          base[i] += part;
        }
        draw.fill(shape);
        const pattern = this.palette.pattern(draw, family);
        if (pattern && !dimmed) { draw.fillStyle = pattern; draw.fill(shape); }
      }
      this.bitmaps.set(entry, { key, canvas });
      return canvas;
    }
    columns(share, each) {
      let from = -1;
      for (let i = 0; i <= share.length; i++) {
        const on = i < share.length && share[i] > 0;
        if (on && from < 0) from = i;
        if (!on && from >= 0) { each(from, i); from = -1; }
      }
    }

    intervals(context, entry, number, box) {
      const { model, palette } = this;
      const { start, length, name, kind } = entry.intervals;
      const scale = box.width / model.width, shift = (entry.low - model.low) * scale + box.x, right = box.x + box.width;
      const lane = model.meta.lanes[number], waits = lane.kind === "waits";
      context.save();
      context.beginPath(); context.rect(box.x, box.y, box.width, box.height); context.clip();
      context.font = `500 11px ${palette.font}`; context.textBaseline = "middle";
      for (let i = 0; i < start.length; i++) {
        const x = start[i] * scale + shift, width = length[i] * scale;
        if (x > right || x + width < box.x) continue;
        const { family, key } = model.meta.classes[kind[i]];
        const lit = (!waits || !model.wait || key === model.wait) && (!model.name || model.name.id === name[i]);
        const drawn = Math.max(width - (width > 4 ? 1 : 0), 0.75);
        context.globalAlpha = lit ? 1 : 0.25;
        context.fillStyle = waits ? palette.family[family] : palette.shade(family, name[i]);
        context.fillRect(x, box.y, drawn, box.height);
        const pattern = width > 5 && family !== "range" ? palette.pattern(context, family) : null;
        if (pattern) { context.fillStyle = pattern; context.fillRect(x, box.y, drawn, box.height); }
        if (width >= 12) this.label(context, entry, i, { x: Math.max(x, box.x), right: Math.min(x + drawn, right), box, family, waits });
      }
      context.restore();
    }

    label(context, entry, i, { x, right, box, family, waits }) {
      const room = right - x - 8;
      if (room < 6) return;
      let text = waits && right - x < 74 ? LETTERS[family] : room < LABEL - 8 ? "" : this.tiles.names.get(entry.intervals.name[i]) || "";
      if (!text) return;
      const most = Math.floor(room / 6.1);
      if (text.length > most && text.length > 1) text = most > 2 ? `${text.slice(0, most - 1)}…` : "";
      if (!text) return;
      const y = box.y + box.height / 2 + 0.5;
      const dark = this.palette.light || ["launch", "host", "copy", "alloc", "sync", "uvm", "kernel", "env", "init"].includes(family);
      if (this.palette.pattern(context, family)) {   // text on a pattern gets a plate
        context.fillStyle = this.palette.family[family];
        context.fillRect(x + 2, box.y + 2, Math.min(text.length * 6.3 + 6, room + 4), box.height - 4);
      }
      context.fillStyle = dark ? "#0b1016" : "#f2f6fa";
      context.fillText(text, x + 5, y);
    }

    ruler(context, width, height, gutter) {
      const { model, palette } = this;
      context.clearRect(0, 0, width, height);
      const plot = width - gutter, target = plot / 110;
      const rough = model.width / target, power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
      context.font = `11px ${palette.font}`; context.textBaseline = "middle"; context.fillStyle = palette.ink2;
      context.strokeStyle = palette.linestrong; context.beginPath();
      const zero = model.first;
      for (let k = Math.ceil((model.low - zero) / step); k * step + zero < model.high; k++) {
        const x = Math.round(gutter + (k * step + zero - model.low) / model.width * plot) + 0.5;
        context.moveTo(x, height - 7); context.lineTo(x, height);
        context.fillText(stallscope.timeline.clock(k * step, step), x + 4, height / 2);
      }
      context.stroke();
      return step;
    }
    grid(context, box, step) {
      const { model, palette } = this;
      context.strokeStyle = palette.line; context.globalAlpha = 0.6; context.beginPath();
      for (let k = Math.ceil((model.low - model.first) / step); k * step + model.first < model.high; k++) {
        const x = Math.round(box.x + (k * step + model.first - model.low) / model.width * box.width) + 0.5;
        context.moveTo(x, box.y); context.lineTo(x, box.y + box.height);
      }
      context.stroke(); context.globalAlpha = 1;
    }

    // From the cause to what it explains; an end outside the view is a stub at its edge.
    arrow(context, from, to, box, text) {
      const clamp = (x) => Math.min(Math.max(x, box.x + 4), box.x + box.width - 4);
      const x0 = clamp(from.x), x1 = clamp(to.x), bend = Math.max(Math.abs(x1 - x0) / 2, 28);
      context.strokeStyle = context.fillStyle = this.palette.accent;
      context.lineWidth = 1.6; context.beginPath(); context.moveTo(x0, from.y);
      context.bezierCurveTo(x0 + bend, from.y, x1 - bend, to.y, x1, to.y); context.stroke();
      context.beginPath(); context.moveTo(x1, to.y); context.lineTo(x1 - 7, to.y - 4); context.lineTo(x1 - 7, to.y + 4); context.fill();
      context.beginPath(); context.arc(x0, from.y, 2.6, 0, 7); context.fill();
      if (!text) return;
      context.font = `500 11px ${this.palette.font}`; context.textBaseline = "middle";
      const wide = context.measureText(text).width + 12, x = Math.min(Math.max((x0 + x1) / 2 - wide / 2, box.x + 4), box.x + box.width - wide - 4);
      const y = (from.y + to.y) / 2;
      context.fillStyle = this.palette.raised; context.strokeStyle = this.palette.accent; context.lineWidth = 1;
      context.beginPath(); context.roundRect(x, y - 9, wide, 18, 5); context.fill(); context.stroke();
      context.fillStyle = this.palette.ink; context.fillText(text, x + 6, y + 0.5);
    }
  }

  Object.assign(stallscope.timeline, { Painter, Palette, LETTERS, PATTERNS });
})();
