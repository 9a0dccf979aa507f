// Painting: lanes of bins or intervals, ruler, minimap, arrows. Knows colours and patterns, not the mouse.
(() => {
  "use strict";
  const FULL = 65535;
  const LETTER = 14;     // a wait this many pixels wide shows its letter
  const LABEL = 30;      // an interval this many pixels wide shows its name
  const PATTERNS = {
    work: "solid", memset: "solid", copy: "solid", comm: "dots", launch: "diagonal", sync: "solid", alloc: "cross",
    uvm: "backward", host: "vertical", dep: "horizontal", init: "dots", kernel: "cross", env: "horizontal",
    unknown: "diagonal", range: "solid",
  };
  const LETTERS = {
    work: "K", memset: "M", copy: "C", comm: "N", launch: "L", sync: "S", alloc: "A", uvm: "U", host: "H", dep: "D",
    init: "I", kernel: "P", env: "E", unknown: "?", range: "",
  };
  const FAMILY_NAMES = {
    work: "compute", comm: "communication", copy: "copies", memset: "memset, other calls", launch: "launch", sync: "host sync",
    alloc: "allocation", uvm: "unified memory", host: "host and input", dep: "dependency", init: "first use",
    kernel: "inside kernels", env: "environment", unknown: "unattributed", range: "NVTX range",
  };
  const ON_DARK_TEXT = new Set(["launch", "host", "copy", "alloc", "sync", "uvm", "kernel", "env", "init"]);
  const CELL = 8;        // patterns repeat every 8 × 8 pixels
  const INK = {
    solid: () => false,
    diagonal: (x, y) => (x + y) % CELL < 2,
    backward: (x, y) => (x - y + CELL) % CELL < 2,
    vertical: (x) => x % 5 < 1,
    horizontal: (x, y) => y % 4 < 1,
    cross: (x, y) => (x + y) % CELL < 1 || (x - y + CELL) % CELL < 1,
    dots: (x, y) => x % 4 < 1 && y % 4 < 1,
  };

  const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const mix = (from, to, part) => from.map((value, i) => Math.round(value + (to[i] - value) * part));
  const hex = (colour) => `#${colour.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
  const word = ([r, g, b], alpha = 255) => ((alpha << 24) | (b << 16) | (g << 8) | r) >>> 0;

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
      this.edge = this.light ? [255, 255, 255] : [0, 0, 0];
      this.stencils = {}; this.shades = {}; this.words = {};
    }
    pattern(context, family) {
      const kind = PATTERNS[family];
      if (kind === "solid") return null;
      return this.stencils[kind] ??= context.createPattern(this.stencil(kind), "repeat");
    }
    stencil(kind) {
      const size = kind === "vertical" ? 40 : CELL, canvas = document.createElement("canvas");
      canvas.width = canvas.height = size;
      const draw = canvas.getContext("2d");
      draw.fillStyle = this.light ? "rgba(255,255,255,.5)" : "rgba(0,0,0,.36)";
      for (let x = 0; x < size; x++) for (let y = 0; y < size; y++) if (INK[kind](x, y)) draw.fillRect(x, y, 1, 1);
      return canvas;
    }
    // Neighbours of one family differ a little by name, so that a repeating sequence can be seen.
    shade(family, name) {
      const step = Math.imul(name + 1, 2654435761) >>> 29;
      return this.shades[family + step] ??= hex(mix(rgb(this.family[family]), this.edge, step * 0.045));
    }
    // Pixels of a bitmap: plain, under the pattern's ink, dimmed, and the tint of a lane where anything ran.
    pixels(family) {
      return this.words[family] ??= (() => {
        const plain = rgb(this.family[family]), paper = rgb(this.paper);
        return {
          plain: word(plain), ink: word(mix(plain, this.edge, this.light ? 0.5 : 0.36)),
          dimmed: word(mix(paper, plain, 0.22)), tint: word(mix(paper, plain, 0.17)),
        };
      })();
    }
  }

  class Painter {
    constructor(model, tiles, palette, { plain = false } = {}) {
      Object.assign(this, { model, tiles, palette, plain, bitmaps: new WeakMap() });
    }

    lane(context, number, box) {
      const entry = this.tiles.lanes.get(number);
      if (!entry) return;
      if (entry.bins) this.bins(context, entry, number, box); else this.intervals(context, entry, number, box);
    }

    bins(context, entry, number, box) {
      const { model } = this;
      const bitmap = this.bitmap(entry, number, Math.round(box.height));
      const scale = box.width / model.width;
      let x = (entry.low - model.low) * scale, width = (entry.high - entry.low) * scale;
      let from = 0, columns = entry.pixels;
      const perPixel = entry.pixels / width;
      if (x < 0) { from = -x * perPixel; columns -= from; width += x; x = 0; }
      if (x + width > box.width) { columns -= (x + width - box.width) * perPixel; width = box.width - x; }
      if (columns <= 0 || width <= 0) return;
      context.imageSmoothingEnabled = Math.abs(perPixel - 1) > 0.02;
      if (!context.imageSmoothingEnabled) { from = Math.round(from); x = Math.round(x); }
      context.drawImage(bitmap, from, 0, columns, bitmap.height, box.x + x, box.y, width, box.height);
    }

    // One column a pixel: the classes' shares stacked from the bottom, over a tint where anything ran at all.
    bitmap(entry, number, height) {
      const key = `${height}${this.palette.light}${this.model.wait}`;
      const kept = this.bitmaps.get(entry);
      if (kept?.key === key) return kept.canvas;
      const waits = this.model.meta.lanes[number].kind === "waits", wide = entry.pixels;
      const image = new ImageData(wide, height), out = new Uint32Array(image.data.buffer);
      const base = new Float32Array(wide);
      for (const { kind, share } of entry.bins) {
        const { family, key: id } = this.model.meta.classes[kind];
        const colours = this.palette.pixels(family), ink = this.plain ? INK.solid : INK[PATTERNS[family]];
        const dimmed = waits && this.model.wait && id !== this.model.wait;
        for (let x = 0; x < wide; x++) {
          if (!share[x]) continue;
          if (!waits && !base[x]) for (let y = 0; y < height; y++) out[y * wide + x] = colours.tint;
          const bottom = base[x], top = bottom + Math.max(share[x] / FULL * height, 0.5);
          base[x] = top;
          for (let h = Math.round(bottom); h < Math.max(Math.round(top), bottom === 0 ? 1 : 0) && h < height; h++) {
            const y = height - 1 - h;
            out[y * wide + x] = dimmed ? colours.dimmed : ink(x, y) ? colours.ink : colours.plain;
          }
        }
      }
      const canvas = document.createElement("canvas");
      canvas.width = wide; canvas.height = height;
      canvas.getContext("2d").putImageData(image, 0, 0);
      this.bitmaps.set(entry, { key, canvas });
      return canvas;
    }

    intervals(context, entry, number, box) {
      const { model, palette } = this;
      const { start, length, name, kind } = entry.intervals;
      const scale = box.width / model.width, shift = (entry.low - model.low) * scale + box.x, right = box.x + box.width;
      const waits = model.meta.lanes[number].kind === "waits", labels = [];
      context.save();
      context.beginPath(); context.rect(box.x, box.y, box.width, box.height); context.clip();
      let style = "", alpha = 1;
      for (let i = 0; i < start.length; i++) {
        const x = start[i] * scale + shift, width = length[i] * scale;
        if (x > right) break;
        if (x + width < box.x) continue;
        const { family, key } = model.meta.classes[kind[i]];
        const lit = (!waits || !model.wait || key === model.wait) && (!model.name || model.name.id === name[i]) ? 1 : 0.25;
        const colour = waits ? palette.family[family] : palette.shade(family, name[i]);
        if (colour !== style) context.fillStyle = style = colour;
        if (lit !== alpha) context.globalAlpha = alpha = lit;
        const drawn = Math.max(width - (width > 4 ? 1 : 0), 0.75);
        context.fillRect(x, box.y, drawn, box.height);
        if (width < 6) continue;
        const pattern = this.plain ? null : palette.pattern(context, family);
        if (pattern) { context.fillStyle = pattern; style = ""; context.fillRect(x, box.y, drawn, box.height); }
        if (width >= (waits ? LETTER : LABEL)) labels.push([i, Math.max(x, box.x), Math.min(x + drawn, right), family, lit]);
      }
      if (!this.plain) for (const label of labels) this.label(context, entry, label, box, waits);
      context.restore();
    }

    label(context, entry, [i, x, right, family, lit], box, waits) {
      const room = right - x - 8;
      let text = waits && right - x < 74 ? LETTERS[family] : this.tiles.names.get(entry.intervals.name[i]) || "";
      const most = Math.floor(room / 6.1);
      if (text.length > most) text = most > 2 ? `${text.slice(0, most - 1)}…` : "";
      if (!text || room < 5) return;
      context.globalAlpha = lit;
      context.font = `500 11px ${this.palette.font}`; context.textBaseline = "middle";
      if (this.palette.pattern(context, family)) {   // text on a pattern gets a plate
        context.fillStyle = this.palette.family[family];
        context.fillRect(x + 2, box.y + 2, Math.min(text.length * 6.3 + 6, room + 4), box.height - 4);
      }
      context.fillStyle = this.palette.light || ON_DARK_TEXT.has(family) ? "#0b1016" : "#f2f6fa";
      context.fillText(text, x + 5, box.y + box.height / 2 + 0.5);
    }

    ruler(context, width, height, gutter) {
      const { model, palette } = this;
      context.clearRect(0, 0, width, height);
      const plot = width - gutter, rough = model.width / (plot / 110), power = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
      context.font = `11px ${palette.font}`; context.textBaseline = "middle"; context.fillStyle = palette.ink2;
      context.strokeStyle = palette.linestrong; context.lineWidth = 1; context.beginPath();
      for (const [x, time] of this.ticks(step, gutter, plot)) {
        context.moveTo(x, height - 7); context.lineTo(x, height);
        context.fillText(stallscope.timeline.clock(time, step), x + 4, height / 2);
      }
      context.stroke();
      return step;
    }
    grid(context, box, step) {
      context.strokeStyle = this.palette.line; context.lineWidth = 1; context.globalAlpha = 0.6; context.beginPath();
      for (const [x] of this.ticks(step, box.x, box.width)) { context.moveTo(x, box.y); context.lineTo(x, box.y + box.height); }
      context.stroke(); context.globalAlpha = 1;
    }
    *ticks(step, left, plot) {
      const { model } = this, zero = model.first;
      for (let k = Math.ceil((model.low - zero) / step); k * step + zero < model.high; k++) {
        yield [Math.round(left + (k * step + zero - model.low) / model.width * plot) + 0.5, k * step];
      }
    }

    // From the cause to what it explains; an end outside the view is a stub at its edge.
    arrow(context, from, to, box, text) {
      const { palette } = this;
      const clamp = (x) => Math.min(Math.max(x, box.x + 4), box.x + box.width - 4);
      const x0 = clamp(from.x), x1 = clamp(to.x), down = Math.sign(to.y - from.y) || 1, bend = Math.abs(to.y - from.y) / 2;
      context.strokeStyle = context.fillStyle = palette.accent;
      context.lineWidth = 1.6; context.beginPath(); context.moveTo(x0, from.y);
      context.bezierCurveTo(x0, from.y + down * bend, x1, to.y - down * bend, x1, to.y - down * 5); context.stroke();
      context.beginPath(); context.moveTo(x1, to.y); context.lineTo(x1 - 4, to.y - down * 8); context.lineTo(x1 + 4, to.y - down * 8); context.fill();
      context.beginPath(); context.arc(x0, from.y, 2.6, 0, 7); context.fill();
      context.font = `500 11px ${palette.font}`; context.textBaseline = "middle";
      const wide = context.measureText(text).width + 12, y = (from.y + to.y) / 2;
      const x = Math.min(Math.max((x0 + x1) / 2 - wide / 2, box.x + 4), box.x + box.width - wide - 4);
      context.fillStyle = palette.raised; context.strokeStyle = palette.accent; context.lineWidth = 1;
      context.beginPath(); context.roundRect(x, y - 9, wide, 18, 5); context.fill(); context.stroke();
      context.fillStyle = palette.ink; context.fillText(text, x + 6, y + 0.5);
    }
  }

  Object.assign(stallscope.timeline, { Painter, Palette, LETTERS, PATTERNS, FAMILY_NAMES });
})();
