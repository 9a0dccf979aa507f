// Tiles: asks the server for what is visible, one request under way and the newest wish next.
(() => {
  "use strict";
  const MARGIN = 0.15;

  function decode(buffer) {
    const length = new DataView(buffer).getUint32(0, true);
    const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    const base = 4 + length;
    for (const entry of header.lanes) {
      if (entry.bins) {
        for (const bin of entry.bins) bin.share = new Uint16Array(buffer, base + bin.at, header.pixels);
      } else {
        const at = entry.intervals, n = entry.count;
        entry.intervals = {
          index: at.index,
          start: new Float64Array(buffer, base + at.start, n),
          length: new Float64Array(buffer, base + at.length, n),
          name: new Uint32Array(buffer, base + at.name, n),
          kind: new Uint8Array(buffer, base + at.kind, n),
        };
      }
      entry.low = header.low; entry.high = header.high; entry.pixels = header.pixels;
    }
    return header;
  }

  class Tiles {
    constructor(run, version, onArrival, onError) {
      Object.assign(this, { run, version, onArrival, onError, lanes: new Map(), names: new Map(), underway: null, wish: null });
    }
    want(low, high, width, lanes) {
      const margin = Math.round(width * MARGIN), perPixel = (high - low) / width;
      this.wish = {
        low: Math.floor(low - margin * perPixel), high: Math.ceil(high + margin * perPixel),
        pixels: width + 2 * margin, lanes, exact: [low, high],
      };
      if (!this.underway) this.next();
    }
    async next() {
      const wish = this.wish;
      this.wish = null;
      if (!wish || !wish.lanes.length) return;
      this.underway = new AbortController();
      const query = new URLSearchParams({
        run: this.run, low: wish.low, high: wish.high, pixels: wish.pixels, lanes: wish.lanes.join(","), v: this.version,
      });
      try {
        const answer = await fetch(`/api/tile?${query}`, { signal: this.underway.signal });
        if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
        const tile = decode(await answer.arrayBuffer());
        for (const [name, text] of Object.entries(tile.names)) this.names.set(Number(name), text);
        for (const entry of tile.lanes) this.lanes.set(entry.lane, entry);
        this.onArrival(wish);
      } catch (error) {
        if (error.name !== "AbortError") this.onError(error);
      } finally {
        this.underway = null;
        if (this.wish) this.next();
      }
    }
    stop() { this.wish = null; this.underway?.abort(); }
  }

  async function ask(path, parameters) {
    const answer = await fetch(`/api/${path}?${new URLSearchParams(parameters)}`);
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  Object.assign(stallscope.timeline, { Tiles, decode, ask });
})();
