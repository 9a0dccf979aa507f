// Mouse and keyboard of the timeline. Keys act only while the timeline has the focus.
(() => {
  "use strict";
  const T = stallscope.timeline;
  const { element } = T;
  const ZOOM = 1.5, PAN = 0.15, CLICK_PX = 4, SEARCH_DELAY_MS = 160;

  class Input {
    constructor(view) {
      Object.assign(this, { view, model: view.model, pointer: null });
      const { scroll, pinned, mini, miniWindow, searchBox } = view;
      scroll.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
      scroll.addEventListener("scroll", () => { this.model.top = scroll.scrollTop; view.request(); view.draw(); this.model.changed("scroll"); });
      for (const [target, isPin] of [[scroll, false], [pinned, true]]) {
        target.addEventListener("pointerdown", (event) => this.down(event, isPin));
        target.addEventListener("pointermove", (event) => this.move(event, isPin));
        target.addEventListener("pointerleave", () => { this.pointer = null; this.view.tip.hidden = true; });
        target.addEventListener("dblclick", (event) => { if (!event.target.closest("button")) view.focus(); });
      }
      view.watch(window, "pointermove", (event) => this.drag(event));
      view.watch(window, "pointerup", (event) => this.up(event));
      for (const target of [mini, miniWindow]) target.addEventListener("pointerdown", (event) => this.miniDown(event));
      scroll.addEventListener("keydown", (event) => this.key(event));
      searchBox.addEventListener("input", () => { clearTimeout(this.timer); this.timer = setTimeout(() => this.searchFor(searchBox.value), SEARCH_DELAY_MS); });
      searchBox.addEventListener("keydown", (event) => this.searchKey(event));
      searchBox.addEventListener("blur", () => setTimeout(() => { view.searchList.hidden = true; }, 150));
    }

    offset(event) {
      const box = this.view.scroll.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    }
    wheel(event) {
      const { x } = this.offset(event);
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        this.model.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 180), this.view.timeAt(Math.max(x, this.view.GUTTER)));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.model.pan((event.deltaX || event.deltaY) / this.view.plot);
      }
    }

    down(event, isPin) {
      if (event.button > 1 || event.target.closest("button")) return;
      const { x } = this.offset(event);
      if (x < this.view.GUTTER || x > this.view.GUTTER + this.view.plot) return;
      this.held = { x, time: this.view.timeAt(x), pan: event.shiftKey || event.button === 1, low: this.model.low, isPin, event };
      if (event.button === 1) event.preventDefault();
    }
    drag(event) {
      if (this.miniHeld) { this.miniMove(event); return; }
      if (!this.held) return;
      const { x } = this.offset(event), far = Math.abs(x - this.held.x) > CLICK_PX;
      if (!far && !this.held.moved) return;
      this.held.moved = true;
      this.view.tip.hidden = true;
      if (this.held.pan) {
        const low = this.held.low - (x - this.held.x) / this.view.plot * this.model.width;
        this.model.show(low, low + this.model.width);
      } else {
        const edge = Math.min(Math.max(x, this.view.GUTTER), this.view.GUTTER + this.view.plot);
        this.model.mark = [this.held.time, this.view.timeAt(edge)].sort((a, b) => a - b);
        this.model.selection = null; this.view.detail = null;
        this.view.draw();
      }
    }
    up(event) {
      this.miniHeld = null;
      const held = this.held;
      this.held = null;
      if (!held) return;
      if (!held.moved) this.click(event, held.isPin);
      else if (!held.pan) { this.view.account(); this.model.changed("mark"); }
    }
    async click(event, isPin) {
      const hit = this.hit(event, isPin);
      if (!hit) { this.view.scroll.focus({ preventScroll: true }); return; }
      if (hit.index !== undefined) { this.view.select(hit.row.number, hit.index); return; }
      const pixel = this.model.width / this.view.plot;   // a column of many intervals: the longest of them
      const detail = await T.ask("longest", {
        run: this.view.run, lane: hit.row.number, low: Math.floor(hit.time - pixel), high: Math.ceil(hit.time + pixel),
      }).catch(() => null);
      if (detail) { this.model.mark = null; this.view.use(detail); this.model.changed("selection"); }
    }
    // The interval under the mouse; in a lane drawn as bins only the column.
    hit(event, isPin) {
      const box = (isPin ? this.view.pinned : this.view.scroll).getBoundingClientRect();
      const row = this.view.rowAt(event.clientY - box.top, isPin), { x } = this.offset(event);
      const entry = row && this.view.tiles.lanes.get(row.number);
      if (!entry || x < this.view.GUTTER) return null;
      const time = this.view.timeAt(x), slack = 2 * this.model.width / this.view.plot;
      if (entry.bins) return { row, entry, time };
      const { start, length, index } = entry.intervals, at = time - entry.low;
      let low = 0, high = start.length;
      while (low < high) { const middle = (low + high) >> 1; if (start[middle] <= at) low = middle + 1; else high = middle; }
      let best = -1, near = slack;
      for (const i of [low - 1, low]) {
        if (i < 0 || i >= start.length) continue;
        const away = Math.max(start[i] - at, at - start[i] - length[i], 0);
        if (away < near) { near = away; best = i; }
      }
      return best < 0 ? null : { row, entry, time, at: best, index: index + best };
    }
    move(event, isPin) {
      this.pointer = this.offset(event);
      if (this.held || event.target.closest(".tl-gutter button")) { this.view.tip.hidden = true; return; }
      const hit = this.hit(event, isPin);
      if (!hit) { this.view.tip.hidden = true; return; }
      this.view.tip.replaceChildren(...this.tipLines(hit));
      const root = this.view.root.getBoundingClientRect(), tip = this.view.tip;
      tip.hidden = false;
      const x = event.clientX - root.left + 14, y = event.clientY - root.top + 18;
      Object.assign(tip.style, {
        left: `${Math.min(x, root.width - tip.offsetWidth - 8)}px`,
        top: `${y + tip.offsetHeight > root.height ? y - tip.offsetHeight - 30 : y}px`,
      });
    }
    tipLines({ entry, at, time }) {
      const { meta } = this.view;
      if (at !== undefined) {
        const { length, name, kind, start } = entry.intervals, found = meta.classes[kind[at]];
        const text = this.view.tiles.names.get(name[at]) || found.label;
        return [element("div", "tl-tip-head", T.swatch(found.family), element("strong", "", text)),
          element("div", "dim", `${T.duration(length[at])} · ${found.label === text ? "" : `${found.label} · `}at ${T.clock(start[at] + entry.low - this.model.first, 1e3)}`)];
      }
      const column = Math.floor((time - entry.low) / (entry.high - entry.low) * entry.pixels);
      const shares = entry.bins.map(({ kind, share }) => [meta.classes[kind], (share[column] || 0) / 65535]).filter(([, part]) => part > 0);
      const pixel = T.duration((entry.high - entry.low) / entry.pixels);
      return [element("div", "dim", `${entry.count.toLocaleString("en")} intervals in view; this column is ${pixel}`),
        ...shares.map(([found, part]) => element("div", "tl-tip-head", T.swatch(found.family), element("span", "", found.label), element("b", "number", part < 0.001 ? "< 0.1 %" : `${(100 * part).toFixed(1)} %`)))];
    }

    miniDown(event) {
      event.preventDefault();
      const box = this.view.mini.getBoundingClientRect(), [first, last] = this.model.home;
      const time = first + (event.clientX - box.left) / box.width * (last - first);
      if (time < this.model.low || time > this.model.high) this.centre(time);
      this.miniHeld = { by: time - (this.model.low + this.model.high) / 2 };
      if (Math.abs(this.miniHeld.by) > this.model.width) this.miniHeld.by = 0;
    }
    miniMove(event) {
      const box = this.view.mini.getBoundingClientRect(), [first, last] = this.model.home;
      this.centre(first + (event.clientX - box.left) / box.width * (last - first) - this.miniHeld.by);
    }
    centre(time) { const half = this.model.width / 2; this.model.show(time - half, time + half); }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.view.scroll || stallscope.keysOff?.()) return;
      const at = this.pointer && this.pointer.x > this.view.GUTTER ? this.view.timeAt(this.pointer.x) : undefined;
      const { model, view } = this;
      const actions = {
        w: () => model.zoom(1 / ZOOM, at), "+": () => model.zoom(1 / ZOOM, at), "=": () => model.zoom(1 / ZOOM, at),
        s: () => model.zoom(ZOOM, at), "-": () => model.zoom(ZOOM, at),
        a: () => model.pan(-PAN), d: () => model.pan(PAN), ArrowLeft: () => model.pan(-PAN), ArrowRight: () => model.pan(PAN),
        ArrowUp: () => this.lane(-1), ArrowDown: () => this.lane(1),
        ",": () => this.step(-1), ".": () => this.step(1), Enter: () => this.step(0),
        0: () => view.fitAll(), f: () => view.focus(), n: () => view.next(true), N: () => view.next(false),
        m: () => this.markSelection(), p: () => view.cursor && view.togglePin(view.cursor),
        "[": () => this.along(true), "]": () => this.along(false),
        c: () => view.copyLink(), "/": () => view.searchBox.focus(), Escape: () => view.clear(),
      };
      const action = actions[event.key] || actions[event.key.toLowerCase()];
      if (!action) return;
      event.preventDefault();
      action();
    }
    lane(by) {
      const rows = this.view.rows.filter((row) => row.lane);
      const now = rows.findIndex((row) => row.lane.key === this.view.cursor);
      const row = rows[Math.min(Math.max(now + by, 0), rows.length - 1)];
      this.view.cursor = row.lane.key;
      this.view.scrollTo(row.number);
      const group = this.view.meta.groups.find((g) => g.key === row.lane.group);
      stallscope.say(`${group.label}, ${row.lane.label}${row.lane.depth ? `, level ${row.lane.depth + 1}` : ""}`);
      this.view.draw();
    }
    // The previous or next interval of the lane under the cursor; Enter takes the one in the middle of the view.
    async step(by) {
      const number = this.model.byKey.get(this.view.cursor ?? this.view.meta.lanes[0].key);
      const chosen = this.model.selection;
      if (by && chosen?.lane === number) { this.view.select(number, chosen.index + by, { reveal: true }); return; }
      const middle = (this.model.low + this.model.high) / 2, reach = this.model.width / 2;
      const detail = await T.ask("longest", { run: this.view.run, lane: number, low: Math.floor(middle - reach), high: Math.ceil(middle + reach) }).catch(() => null);
      this.view.show(detail);
    }
    markSelection() {
      const { selection } = this.model;
      if (selection?.low === undefined) return;
      this.model.mark = [selection.low, selection.high];
      this.view.account(); this.model.changed("mark");
    }
    along(cause) {
      const link = this.view.detail?.links.find((l) => l.cause === cause);
      if (link) this.view.follow(link); else stallscope.say(cause ? "No cause is known." : "Nothing follows from it.");
    }

    async searchFor(text, silent = false) {
      const { view } = this;
      if (!text) { view.searchList.hidden = true; return; }
      const found = await T.ask("search", { run: view.run, q: text }).catch(() => []);
      if (silent) {
        const exact = found.find((match) => match.text === text) || found[0];
        if (exact) { this.model.name = { id: exact.name, text: exact.text }; view.showLit(); view.draw(); }
        return;
      }
      this.matches = found; this.chosen = 0;
      view.searchList.hidden = false;
      view.searchList.replaceChildren(...(found.length ? found.map((match, i) => this.match(match, i)) : [element("li", "dim", "No name contains this.")]));
    }
    match(match, i) {
      const node = element("li", "", element("code", "", match.text), element("span", "dim number", `${match.count.toLocaleString("en")} × · ${T.duration(match.total_ns)}`));
      node.dataset.chosen = String(i === this.chosen);
      node.addEventListener("pointerdown", (event) => { event.preventDefault(); this.take(match); });
      return node;
    }
    take(match) {
      this.model.name = { id: match.name, text: match.text };
      this.view.searchList.hidden = true; this.view.searchBox.value = "";
      this.view.showLit(); this.view.scroll.focus({ preventScroll: true });
      this.model.selection = null; this.view.next(true);
    }
    searchKey(event) {
      const count = this.matches?.length || 0;
      if (event.key === "Escape") { this.view.searchList.hidden = true; this.view.scroll.focus(); }
      if (!count || this.view.searchList.hidden) return;
      if (event.key === "Enter") this.take(this.matches[this.chosen]);
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.chosen = (this.chosen + by + count) % count;
      [...this.view.searchList.children].forEach((node, i) => { node.dataset.chosen = String(i === this.chosen); if (i === this.chosen) node.scrollIntoView({ block: "nearest" }); });
    }
  }
  T.Input = Input;

  // Dash draws #timeline when the page is opened and removes it when it is left.
  let view = null;
  async function mount(root) {
    root.append(element("p", "panel-hint", "Loading the lanes…"));
    try {
      const meta = await T.ask("lanes", { run: root.dataset.run });
      if (root.isConnected) view = new T.View(root, meta);
    } catch (error) {
      root.replaceChildren(element("p", "state state-failed", `The timeline could not be loaded: ${error.message}`));
    }
  }
  new MutationObserver(() => {
    const root = document.getElementById("timeline");
    if (view && view.root !== root) { view.destroy(); view = null; }
    if (root && !root.dataset.mounted) { root.dataset.mounted = "yes"; mount(root); }
  }).observe(document.documentElement, { childList: true, subtree: true });
})();
