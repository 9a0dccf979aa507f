// Timeline state: what is shown, and its image in the URL's fragment.
(() => {
  "use strict";
  const NARROWEST_NS = 100;

  class Model extends EventTarget {
    constructor(meta) {
      super();
      this.meta = meta;
      this.byKey = new Map(meta.lanes.map((lane, i) => [lane.key, i]));
      [this.first, this.last] = meta.span;
      const margin = Math.max(Math.round((this.last - this.first) * 0.01), 1);
      this.home = [this.first - margin, this.last + margin];
      this.reset();
    }
    reset() {
      [this.low, this.high] = this.home;
      this.selection = null;   // {lane, index, low, high}
      this.wait = "";          // wait id that is lit
      this.name = null;        // {id, text}: occurrences that are lit
      this.mark = null;        // [low, high]
      this.pins = new Set();
      this.closed = new Set();
      this.top = 0;
    }
    get width() { return this.high - this.low; }
    changed(what = "view") { this.dispatchEvent(new CustomEvent("change", { detail: what })); }

    show(low, high) {
      const widest = this.home[1] - this.home[0];
      let width = Math.min(Math.max(high - low, NARROWEST_NS), widest);
      let start = (low + high) / 2 - width / 2;
      start = Math.min(Math.max(start, this.home[0]), this.home[1] - width);
      this.low = start; this.high = start + width;
      this.changed();
    }
    zoom(factor, at = (this.low + this.high) / 2) {
      const width = this.width * factor;
      if (width < NARROWEST_NS && factor < 1) factor = NARROWEST_NS / this.width;
      this.show(at - (at - this.low) * factor, at + (this.high - at) * factor);
    }
    pan(part) { const by = this.width * part; this.show(this.low + by, this.high + by); }
    fit(low, high, margin = 0.4) { const by = Math.max((high - low) * margin, 25); this.show(low - by, high + by); }
    reveal(low, high) {
      if (high - low > this.width || high - low < this.width / 400) { this.fit(low, high, 2); return; }
      if (low >= this.low && high <= this.high) { this.changed(); return; }
      const middle = (low + high) / 2;
      this.show(middle - this.width / 2, middle + this.width / 2);
    }

    // #t=low-high&sel=lane:index&w=wait&q=name&m=low-high&pin=a,b&closed=a&y=0; times in ns of the trace clock.
    toFragment() {
      const parts = [`t=${Math.round(this.low)}-${Math.round(this.high)}`];
      const lanes = (set) => [...set].map(encodeURIComponent).join(",");
      if (this.selection) {
        parts.push(`sel=${encodeURIComponent(this.meta.lanes[this.selection.lane].key)}:${this.selection.index}`);
      }
      if (this.wait) parts.push(`w=${encodeURIComponent(this.wait)}`);
      if (this.name) parts.push(`q=${encodeURIComponent(this.name.text)}`);
      if (this.mark) parts.push(`m=${Math.round(this.mark[0])}-${Math.round(this.mark[1])}`);
      if (this.pins.size) parts.push(`pin=${lanes(this.pins)}`);
      if (this.closed.size) parts.push(`closed=${lanes(this.closed)}`);
      if (this.top > 0) parts.push(`y=${Math.round(this.top)}`);
      return `#${parts.join("&")}`;
    }
    fromFragment(text) {
      const span = (value) => {
        const found = /^(-?\d+)-(-?\d+)$/.exec(value || "");
        return found && Number(found[2]) > Number(found[1]) ? [Number(found[1]), Number(found[2])] : null;
      };
      const given = new Map(text.replace(/^#/, "").split("&").map((part) => {
        const at = part.indexOf("=");
        return [part.slice(0, at), part.slice(at + 1)];
      }));
      const decoded = (key) => { try { return decodeURIComponent(given.get(key) || ""); } catch { return ""; } };
      const set = (key) => new Set(decoded(key).split(",").filter(Boolean));
      this.reset();
      this.wait = decoded("w");
      this.query = decoded("q");
      this.mark = span(given.get("m"));
      this.pins = new Set([...set("pin")].filter((key) => this.byKey.has(key)));
      this.closed = set("closed");
      this.top = Number(given.get("y")) || 0;
      const chosen = /^(.*):(\d+)$/.exec(decoded("sel"));
      const lane = chosen && this.byKey.get(chosen[1]);
      if (lane !== undefined && lane !== null) this.selection = { lane, index: Number(chosen[2]) };
      const view = span(given.get("t"));
      if (view) this.show(...view); else this.changed();
    }
  }

  const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  function duration(ns) {
    const [scale, unit] = UNITS.find(([s]) => Math.abs(ns) >= s) || UNITS[3];
    const value = ns / scale;
    const digits = unit === "ns" ? 0 : Math.abs(value) < 10 ? 2 : Math.abs(value) < 100 ? 1 : 0;
    return `${value.toFixed(digits)} ${unit}`;
  }
  // Times relative to the first event, with as many digits as the step between two of them needs.
  function clock(ns, step) {
    const [scale, unit] = UNITS.find(([s]) => Math.abs(ns) >= s) || UNITS[3];
    const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(scale / step))));
    return ns === 0 ? "0" : `${(ns / scale).toFixed(unit === "ns" ? 0 : digits)} ${unit}`;
  }

  stallscope.timeline = { Model, duration, clock };
})();
