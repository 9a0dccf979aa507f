// The view: builds the elements, lays out rows, draws what is visible, keeps the URL.
(() => {
  "use strict";
  const T = stallscope.timeline;
  const { element } = T;
  const GUTTER = 216, HEADER = 26, RULER = 26, MINI_ROW = 14;
  const HEIGHT = { waits: 28, stream: 24, memory: 20, api: 19, nvtx: 19, os: 17, gil: 17, "off-cpu": 17 };
  const URL_DELAY_MS = 200;

  class View {
    constructor(root, meta) {
      Object.assign(this, { root, meta, run: root.dataset.run, GUTTER });
      this.model = new T.Model(meta);
      this.palette = new T.Palette();
      this.tiles = new T.Tiles(this.run, meta.version, (wish) => this.arrived(wish), (error) => this.panel.failed(error));
      this.painter = new T.Painter(this.model, this.tiles, this.palette);
      this.build();
      this.panel = new T.Panel(this.panelRoot, this.model, this.run, {
        go: (link) => this.follow(link), focus: () => this.focus(), clear: () => this.clear(),
        next: (forward) => this.next(forward), copyLink: (button) => this.copyLink(button),
      });
      this.model.addEventListener("change", (event) => this.onChange(event.detail));
      this.cleanup = [];
      this.watch(document, "stallscope:theme", () => { this.palette.read(); this.draw(); });
      this.watch(window, "hashchange", () => this.fromUrl());
      this.watch(window, "popstate", () => this.fromUrl());
      this.sizes = new ResizeObserver(() => this.resized());
      this.sizes.observe(this.scroll);
      this.input = new T.Input(this);
      this.drawLegend();
      this.minimap();
      root.dataset.intervals = meta.lanes.reduce((sum, lane) => sum + lane.count, 0);
      this.fromUrl();
    }
    watch(target, type, handler) {
      target.addEventListener(type, handler);
      this.cleanup.push(() => target.removeEventListener(type, handler));
    }
    destroy() {
      for (const undo of this.cleanup) undo();
      this.sizes.disconnect(); this.tiles.stop(); clearTimeout(this.urlTimer);
    }

    build() {
      this.searchBox = element("input", "tl-search");
      Object.assign(this.searchBox, { type: "search", placeholder: "Search kernels, ranges, calls  ( / )" });
      this.searchBox.setAttribute("aria-label", "Search names on the timeline");
      this.searchList = element("ul", "tl-matches"); this.searchList.hidden = true;
      this.spanText = element("span", "tl-span number");
      this.lit = element("span", "tl-lit");
      const zoomer = (text, label, action) => {
        const node = T.button(text, () => { action(); this.scroll.focus(); }); node.setAttribute("aria-label", label); node.title = label; return node;
      };
      const bar = element("div", "tl-bar", element("div", "tl-find", this.searchBox, this.searchList), this.lit, this.spanText,
        zoomer("−", "Zoom out (S)", () => this.model.zoom(2)), zoomer("+", "Zoom in (W)", () => this.model.zoom(0.5)),
        zoomer("Fit", "Show everything (0)", () => this.fitAll()));
      this.mini = element("canvas", "tl-mini"); this.mini.setAttribute("aria-hidden", "true");
      this.miniWindow = element("div", "tl-mini-window");
      this.ruler = element("canvas", "tl-ruler"); this.ruler.setAttribute("aria-hidden", "true");
      this.pinned = element("div", "tl-pinned"); this.pinCanvas = element("canvas"); this.pinGutter = element("div", "tl-gutter");
      this.pinned.append(this.pinCanvas, this.pinGutter);
      this.scroll = element("div", "tl-scroll"); this.scroll.tabIndex = 0;
      this.scroll.setAttribute("role", "application");
      this.scroll.setAttribute("aria-label", "Timeline. Arrow keys and W, A, S, D move; the Waits page lists the same waits as a table.");
      this.canvas = element("canvas", "tl-canvas");
      this.space = element("div", "tl-space"); this.gutter = element("div", "tl-gutter");
      this.space.append(this.gutter);
      this.scroll.append(this.canvas, this.space);
      this.tip = element("div", "tl-tip"); this.tip.hidden = true;
      this.legend = element("div", "tl-legend"); this.legend.setAttribute("aria-label", "Colours");
      this.panelRoot = element("section", "tl-panel"); this.panelRoot.setAttribute("aria-label", "Selection");
      this.root.replaceChildren(bar, element("div", "tl-minibox", this.mini, this.miniWindow), this.ruler, this.pinned, this.scroll, this.legend, this.panelRoot, this.tip);
    }

    // Every family that this trace has, in the order of the style sheet.
    drawLegend() {
      const has = new Set(this.meta.classes.filter((found) => found.used).map((found) => found.family));
      const names = T.FAMILY_NAMES, shown = Object.keys(names).filter((family) => has.has(family));
      this.legend.replaceChildren(...shown.map((family) => element("span", "tl-key", T.swatch(family), names[family])));
    }

    // Rows: a header a group, then its lanes unless it is closed.
    layout() {
      const { meta, model } = this;
      this.rows = [];
      let y = 0;
      for (const group of meta.groups) {
        this.rows.push({ group, y, height: HEADER }); y += HEADER;
        if (model.closed.has(group.key)) continue;
        meta.lanes.forEach((lane, number) => {
          if (lane.group !== group.key) return;
          const height = HEIGHT[lane.kind] ?? 22;
          this.rows.push({ lane, number, y: y + 2, height: height - 3 }); y += height;
        });
        y += 5;
      }
      this.total = y + 8;
      this.pinRows = [];
      let top = 2;
      for (const key of model.pins) {
        const number = model.byKey.get(key), lane = meta.lanes[number], height = HEIGHT[lane.kind] ?? 22;
        this.pinRows.push({ lane, number, y: top, height: height - 3 }); top += height;
      }
      this.pinHeight = this.pinRows.length ? top + 2 : 0;
      this.labels();
    }
    labels() {
      this.gutter.replaceChildren(...this.rows.map((row) => row.group ? this.groupLabel(row) : this.laneLabel(row, false)));
      this.pinGutter.replaceChildren(...this.pinRows.map((row) => this.laneLabel(row, true)));
      this.pinned.style.height = `${this.pinHeight}px`;
      this.pinned.hidden = !this.pinHeight;
    }
    groupLabel({ group, y, height }) {
      const open = !this.model.closed.has(group.key);
      const node = T.button("", () => { this.toggleGroup(group.key); }, "tl-group");
      node.append(element("span", "tl-caret", open ? "▾" : "▸"), element("strong", "", group.label), element("span", "dim", group.note));
      node.setAttribute("aria-expanded", String(open));
      Object.assign(node.style, { top: `${y}px`, height: `${height}px` });
      return node;
    }
    laneLabel({ lane, y, height }, pinned) {
      const node = element("div", `tl-label tl-${lane.kind}`);
      Object.assign(node.style, { top: `${y}px`, height: `${height}px` });
      const group = this.meta.groups.find((g) => g.key === lane.group);
      const text = lane.depth ? "" : pinned ? `${group.label} · ${lane.label}` : lane.label;
      node.append(element("span", "", text));
      if (lane.depth && !pinned) return node;
      const pin = T.button(pinned ? "unpin" : "pin", () => this.togglePin(lane.key), "tl-pin");
      pin.setAttribute("aria-label", `${pinned ? "Unpin" : "Pin"} ${group.label} ${lane.label}`);
      node.append(pin);
      return node;
    }

    get plot() { return Math.max(this.scroll.clientWidth - GUTTER, 50); }
    timeAt(x) { return this.model.low + (x - GUTTER) / this.plot * this.model.width; }
    xAt(time) { return GUTTER + (time - this.model.low) / this.model.width * this.plot; }
    visible() {
      const top = this.scroll.scrollTop, bottom = top + this.scroll.clientHeight;
      return this.rows.filter((row) => row.lane && row.y + row.height > top && row.y < bottom);
    }
    rowAt(y, pinned = false) {
      const at = pinned ? y : y + this.scroll.scrollTop;
      return (pinned ? this.pinRows : this.rows).find((row) => row.lane && at >= row.y - 1 && at < row.y + row.height + 2);
    }

    resized() {
      const ratio = devicePixelRatio || 1, width = this.scroll.clientWidth;
      const size = (canvas, w, h) => {
        canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
        canvas.style.width = `${w}px`; canvas.style.height = `${h}px`;
        canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
      };
      size(this.canvas, width, this.scroll.clientHeight);
      size(this.ruler, width, RULER);
      size(this.pinCanvas, width, Math.max(this.pinHeight, 1));
      this.space.style.height = `${Math.max(this.total - this.scroll.clientHeight, 0)}px`;
      this.gutter.style.top = `-${this.scroll.clientHeight}px`;
      this.drawMini();
      this.request(); this.draw();
    }
    relayout() { this.layout(); this.resized(); }

    onChange(what) {
      if (what === "layout") this.relayout(); else { this.request(); this.draw(); }
      clearTimeout(this.urlTimer);
      this.urlTimer = setTimeout(() => history.replaceState(history.state, "", this.model.toFragment()), URL_DELAY_MS);
    }
    fromUrl() {
      if (!this.root.isConnected || location.pathname !== "/timeline") return;
      this.model.fromFragment(location.hash);
      this.layout(); this.resized();
      this.scroll.scrollTop = this.model.top;
      this.showLit();
      if (this.model.selection) this.load(this.model.selection.lane, this.model.selection.index);
      else if (this.model.mark) this.account(); else this.panel.idle();
      if (this.model.query) this.input.searchFor(this.model.query, true);
    }

    request() {
      if (!this.rows) return;
      const lanes = new Set([...this.pinRows, ...this.visible()].map((row) => row.number));
      this.tiles.want(this.model.low, this.model.high, Math.round(this.plot), [...lanes]);
    }
    arrived(wish) { this.exact = wish.exact; this.draw(); }
    draw() { this.frame ??= requestAnimationFrame(() => { this.frame = null; this.paint(); }); }

    paint() {
      if (!this.rows || !this.root.isConnected) return;
      const { model, painter } = this, width = this.scroll.clientWidth, height = this.scroll.clientHeight;
      const step = painter.ruler(this.ruler.getContext("2d"), width, RULER, GUTTER);
      const context = this.canvas.getContext("2d");
      context.clearRect(0, 0, width, height);
      painter.grid(context, { x: GUTTER, y: 0, width: this.plot, height }, step);
      this.paintRows(context, this.visible(), -this.scroll.scrollTop);
      if (this.pinHeight) {
        const pins = this.pinCanvas.getContext("2d");
        pins.clearRect(0, 0, width, this.pinHeight);
        this.paintRows(pins, this.pinRows, 0);
      }
      this.overlay(context, height);
      this.moveMiniWindow();
      this.spanText.textContent = `${T.duration(model.width)} shown`;
      // For tests and the benchmark: what is on the screen, and whether it is painted with its own tiles.
      this.root.dataset.visible = this.visible().length + this.pinRows.length;
      if (this.exact && this.exact[0] === model.low && this.exact[1] === model.high) {
        this.root.dataset.painted = `${Math.round(model.low)}-${Math.round(model.high)}`;
        this.root.dispatchEvent(new CustomEvent("painted"));
      }
    }
    paintRows(context, rows, shift) {
      for (const row of rows) {
        const box = { x: GUTTER, y: row.y + shift, width: this.plot, height: row.height };
        if (row.lane.key === this.cursor) {
          context.fillStyle = this.palette.raised; context.fillRect(0, box.y - 2, GUTTER + this.plot, row.height + 4);
        }
        this.painter.lane(context, row.number, box);
      }
    }
    overlay(context, height) {
      const { model, palette } = this;
      if (model.mark) {
        const [a, b] = model.mark.map((time) => this.xAt(time));
        context.save(); context.beginPath(); context.rect(GUTTER, 0, this.plot, height); context.clip();
        context.fillStyle = palette.accent; context.globalAlpha = 0.13; context.fillRect(a, 0, b - a, height);
        context.globalAlpha = 1; context.fillRect(a, 0, 1, height); context.fillRect(b, 0, 1, height);
        context.restore();
        this.markLabel(a, b);
      }
      if (model.selection?.low !== undefined) this.outline(context);
    }
    markLabel(a, b) {
      const draw = this.ruler.getContext("2d"), { palette, model } = this;
      const text = `Δ ${T.duration(model.mark[1] - model.mark[0])}`;
      draw.font = `600 11px ${palette.font}`;
      const wide = draw.measureText(text).width + 12, x = Math.min(Math.max((a + b) / 2 - wide / 2, GUTTER), GUTTER + this.plot - wide);
      draw.fillStyle = palette.accent; draw.fillRect(Math.max(a, GUTTER), RULER - 3, Math.max(Math.min(b, GUTTER + this.plot) - Math.max(a, GUTTER), 1), 3);
      draw.beginPath(); draw.roundRect(x, 3, wide, 17, 4); draw.fill();
      draw.fillStyle = palette.light ? "#fff" : "#06121f"; draw.fillText(text, x + 6, 12);
    }
    // Where an interval lies on the canvas; lanes out of sight give the edge they lie beyond.
    place(number, low, high) {
      const row = this.rows.find((r) => r.number === number);
      if (!row) return null;
      const y = row.y - this.scroll.scrollTop, height = this.scroll.clientHeight;
      return { x: this.xAt(low), right: this.xAt(high), y, height: row.height, middle: Math.min(Math.max(y + row.height / 2, 4), height - 4) };
    }
    outline(context) {
      const { selection } = this.model, at = this.place(selection.lane, selection.low, selection.high);
      if (!at) return;
      context.save(); context.beginPath(); context.rect(GUTTER, 0, this.plot, this.scroll.clientHeight); context.clip();
      context.strokeStyle = this.palette.light ? "#0b1016" : "#ffffff"; context.lineWidth = 2;
      context.strokeRect(at.x - 1, at.y - 1, Math.max(at.right - at.x, 2) + 1, at.height + 2);
      const link = this.detail?.links.find((l) => l.role.startsWith("ended") || l.role.startsWith("launched"));
      if (link) {
        const other = this.place(link.lane, link.low_ns, link.high_ns);
        const box = { x: GUTTER, width: this.plot };
        if (other && link.cause) {
          const end = this.detail.wait ? at.right : at.x;
          this.painter.arrow(context, { x: other.x, y: other.middle }, { x: end, y: at.middle }, box, this.detail.wait ? "the launch that ended it" : "launched by");
        } else if (other) this.painter.arrow(context, { x: at.x, y: at.middle }, { x: other.x, y: other.middle }, box, "launched");
      }
      context.restore();
    }

    async select(lane, index, { reveal = false } = {}) {
      this.model.mark = null;
      await this.load(lane, index);
      if (this.detail && reveal) { this.model.reveal(this.detail.low_ns, this.detail.high_ns); this.scrollTo(lane); }
      this.model.changed("selection");
    }
    async load(lane, index) {
      const detail = await T.ask("interval", { run: this.run, lane, index }).catch((error) => { this.panel.failed(error); return null; });
      this.use(detail);
    }
    use(detail) {
      if (!detail) return;
      this.detail = detail;
      this.cursor = this.meta.lanes[detail.lane].key;
      this.model.selection = { lane: detail.lane, index: detail.index, low: detail.low_ns, high: detail.high_ns };
      this.panel.interval(detail);
      stallscope.say(`${detail.title}, ${T.duration(detail.high_ns - detail.low_ns)}, ${detail.place}. ${detail.sentence}`);
      this.draw();
    }
    show(detail) {   // an interval that a search or "next" found
      if (!detail) { stallscope.say("No further one."); return; }
      this.model.mark = null; this.use(detail);
      this.model.reveal(detail.low_ns, detail.high_ns); this.scrollTo(detail.lane);
    }
    follow(link) {   // the entry to come back to is the view as it is now, not as it was when the URL was last written
      clearTimeout(this.urlTimer);
      history.replaceState(history.state, "", this.model.toFragment());
      history.pushState(history.state, "", this.model.toFragment());
      this.select(link.lane, link.index, { reveal: true });
      this.scroll.focus({ preventScroll: true });
    }
    scrollTo(number) {
      const lane = this.meta.lanes[number];
      if (this.model.closed.delete(lane.group)) this.relayout();
      const row = this.rows.find((r) => r.number === number), top = this.scroll.scrollTop, height = this.scroll.clientHeight;
      if (row && (row.y < top || row.y + row.height > top + height)) this.scroll.scrollTop = row.y - height / 3;
    }
    async account() {
      const [low, high] = this.model.mark.map(Math.round);
      const accounts = await T.ask("range", { run: this.run, low, high: Math.max(high, low + 1) }).catch((error) => { this.panel.failed(error); return null; });
      if (accounts && this.model.mark) this.panel.range(low, high, accounts);
    }
    async next(forward) {
      const { model } = this;
      const from = model.selection?.low ?? (forward ? model.low - 1 : model.high);
      const wanted = model.name ? { name: model.name.id } : { wait: this.detail?.wait || model.wait };
      if (!model.name && !wanted.wait) { stallscope.say("Choose a wait first: select one or follow a finding."); return; }
      this.show(await T.ask("next", { run: this.run, time: Math.round(from), direction: forward ? "on" : "back", ...wanted }).catch(() => null));
    }
    focus() {
      const { mark, selection } = this.model;
      if (mark) this.model.fit(...mark, 0.05); else if (selection?.low !== undefined) this.model.fit(selection.low, selection.high);
    }
    fitAll() { this.model.show(...this.model.home); }
    clear() {
      Object.assign(this.model, { selection: null, mark: null, wait: "", name: null });
      this.detail = null; this.panel.idle(); this.showLit(); this.model.changed();
    }
    showLit() {
      const text = this.model.name?.text || this.model.wait;
      this.lit.replaceChildren(...(text ? [element("span", "dim", "showing"), element("code", "", text), T.button("✕", () => this.clear(), "tl-unlit")] : []));
    }
    toggleGroup(key) { if (!this.model.closed.delete(key)) this.model.closed.add(key); this.model.changed("layout"); }
    togglePin(key) { if (!this.model.pins.delete(key)) this.model.pins.add(key); this.model.changed("layout"); }
    copyLink(button) { history.replaceState(history.state, "", this.model.toFragment()); stallscope.copy(location.href, button); }

    async minimap() {
      const lanes = this.meta.lanes.map((lane, i) => [lane, i]).filter(([lane]) => lane.kind === "waits").slice(0, 8).map(([, i]) => i);
      if (!lanes.length) this.meta.lanes.slice(0, 3).forEach((_, i) => lanes.push(i));
      this.miniLanes = lanes;
      this.mini.style.height = `${Math.max(lanes.length * MINI_ROW, 28)}px`;
      this.miniTiles = new T.Tiles(this.run, this.meta.version, () => this.drawMini(), () => {});
      this.miniTiles.want(...this.model.home, 1600, lanes);
    }
    drawMini() {
      if (!this.miniTiles) return;
      const width = this.scroll.clientWidth - GUTTER, height = this.mini.clientHeight, ratio = devicePixelRatio || 1;
      this.mini.width = Math.round(width * ratio); this.mini.height = Math.round(height * ratio); this.mini.style.width = `${width}px`;
      const context = this.mini.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      const whole = Object.create(this.model, { low: { value: this.model.home[0] }, high: { value: this.model.home[1] }, wait: { value: "" }, name: { value: null } });
      const painter = new T.Painter(whole, this.miniTiles, this.palette, { plain: true }), each = height / this.miniLanes.length;
      this.miniLanes.forEach((number, i) => painter.lane(context, number, { x: 0, y: i * each + 1, width, height: each - 2 }));
      this.moveMiniWindow();
    }
    moveMiniWindow() {
      const [first, last] = this.model.home, width = this.plot;
      const x = (this.model.low - first) / (last - first) * width, w = this.model.width / (last - first) * width;
      Object.assign(this.miniWindow.style, { left: `${GUTTER + x}px`, width: `${Math.max(w, 3)}px` });
    }
  }
  T.View = View;
})();
