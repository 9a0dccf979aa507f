"use strict";
// What people do with the timeline: zoom, pan, pick an interval, follow its cause, read the window as text.

(async () => {
  const find = (id) => document.getElementById(id);
  const canvas = find("tl");
  const timeline = await decodeTiles(find("tiles").textContent);
  find("tiles").remove();
  const painter = new Painter(timeline, canvas, find("tl-map"));
  const whole = { low: timeline.low, high: timeline.high };
  const work = deviceWindow();
  const view = { ...work };
  let picked = null;
  let mark = null;
  let pending = 0;
  let reading = 0;

  // What people come for is the time in which a device worked; set-up before it stays one step away.
  function deviceWindow() {
    const devices = new Set(timeline.groups.filter((group) => group.kind === "device").map((group) => group.key));
    let [low, high] = [Infinity, -Infinity];
    for (const lane of timeline.lanes) {
      if (!devices.has(lane.group)) continue;
      if (lane.bins.length) return { ...whole };
      for (const segment of lane.segments) {
        if (segment.after === segment.first) continue;
        low = Math.min(low, timeline.start[segment.first]);
        high = Math.max(high, timeline.end[segment.after - 1]);
      }
    }
    if (low >= high) return { ...whole };
    const margin = (high - low) * 0.01;
    return { low: Math.max(whole.low, low - margin), high: Math.min(whole.high, high + margin) };
  }

  const fit = () => {
    const fitted = view.low === work.low && view.high === work.high;
    mark = null;
    show(...Object.values(fitted ? whole : work));
  };

  const paint = () => {
    pending ||= requestAnimationFrame(() => {
      pending = 0;
      painter.draw(view, picked, mark);
      find("tl-range").textContent = `${span(view.high - view.low)} of ${span(whole.high - whole.low)}, from ${clock(view.low, 1e3)}`;
      clearTimeout(reading);
      reading = setTimeout(read, 250);
    });
  };

  const show = (low, high) => {
    const size = Math.min(Math.max(high - low, 20), whole.high - whole.low);
    const first = Math.min(Math.max((low + high - size) / 2, whole.low), whole.high - size);
    view.low = first;
    view.high = first + size;
    paint();
  };
  const zoom = (factor, at = (view.low + view.high) / 2) => show(at - (at - view.low) * factor, at + (view.high - at) * factor);
  const pan = (part) => {
    const step = (view.high - view.low) * part;
    const allowed = Math.min(Math.max(step, whole.low - view.low), whole.high - view.high);
    show(view.low + allowed, view.high + allowed);
  };

  // The window as text: what each wait id takes of it. This is what a screen reader gets instead of the picture.
  function read() {
    const sums = new Map();
    let lanes = 0;
    for (const lane of timeline.lanes) {
      if (lane.kind !== "waits") continue;
      lanes++;
      for (const [kind, ns] of charged(lane)) sums.set(kind, (sums.get(kind) || 0) + ns);
    }
    const total = (view.high - view.low) * lanes;
    const items = [...sums].sort((a, b) => b[1] - a[1]).slice(0, 8).map(([kind, ns]) => {
      const item = document.createElement("span");
      const box = document.createElement("i");
      box.className = `f-${timeline.classes[kind].family.key}`;
      item.append(box, `${timeline.classes[kind].label} ${span(ns)} (${((100 * ns) / total).toFixed(1)} %)`);
      return item;
    });
    const lead = document.createElement("span");
    const exact = timeline.exact || (view.low === whole.low && view.high === whole.high);
    lead.textContent = items.length ? `In these ${span(view.high - view.low)}${exact ? "" : ", about"}:` : "Nothing is charged in this window.";
    find("tl-view").replaceChildren(lead, ...items);
  }

  function charged(lane) {
    const sums = new Map();
    const add = (kind, ns) => { if (ns > 0) sums.set(kind, (sums.get(kind) || 0) + ns); };
    const exact = lane.segments.find((s) => s.low <= view.low && s.high >= view.high);
    if (exact) {
      const { start, end, kind } = timeline;
      for (let i = upper(end, exact.first, exact.after, view.low); i < exact.after && start[i] < view.high; i++) {
        add(kind[i], Math.min(end[i], view.high) - Math.max(start[i], view.low));
      }
    } else {
      for (const { kind, ns } of lane.sums) add(kind, summed(ns));
    }
    return sums;
  }

  // Exact for whole bins; the two that the window cuts count by the part inside.
  function summed(bins) {
    const width = (whole.high - whole.low) / bins.length;
    const from = (view.low - whole.low) / width;
    const to = (view.high - whole.low) / width;
    let sum = 0;
    for (let b = Math.floor(from); b < Math.min(bins.length, Math.ceil(to)); b++) sum += bins[b] * (Math.min(to, b + 1) - Math.max(from, b));
    return sum;
  }

  const laneOf = (i) => timeline.lanes.find((lane) => lane.segments.some((s) => s.first <= i && i < s.after));

  function pick(next, reveal = false) {
    picked = next;
    const box = find("tl-pick");
    box.hidden = !picked;
    if (picked) {
      describe(box);
      const { start, end } = timeline;
      const [low, high] = [start[picked.i], end[picked.i]];
      if (reveal || high < view.low || low > view.high) {
        const width = Math.max((high - low) * 6, Math.min(view.high - view.low, (high - low) * 400));
        show((low + high - width) / 2, (low + high + width) / 2);
      }
      const row = painter.rows.find((r) => r.lane === picked.lane);
      const stage = find("tl-stage");
      if (row.y < stage.scrollTop + RULER || row.y + row.height > stage.scrollTop + stage.clientHeight) stage.scrollTop = row.y - stage.clientHeight / 2;
    }
    paint();
  }

  function describe(box) {
    const { start, end, kind, name, names, classes, groups, link } = timeline;
    const i = picked.i;
    const swatch = document.createElement("i");
    swatch.className = `f-${classes[kind[i]].family.key}`;
    const title = document.createElement("b");
    title.textContent = names[name[i]];
    const group = groups.find((g) => g.key === picked.lane.group);
    const rest = document.createElement("span");
    const label = classes[kind[i]].label === names[name[i]] ? "" : `${classes[kind[i]].label}, `;
    rest.textContent = ` ${label}${span(end[i] - start[i])} from ${clock(start[i], 1)}, ${group ? group.label : ""} ${picked.lane.label} `;
    box.replaceChildren(swatch, title, rest);
    const known = picked.lane.kind === "waits" && document.querySelector(`.finding[data-wait="${CSS.escape(classes[kind[i]].key)}"]`);
    if (known) {
      const open = document.createElement("button");
      open.type = "button";
      open.textContent = "finding";
      open.addEventListener("click", () => { known.open = true; known.scrollIntoView(); known.querySelector("summary").focus(); });
      box.append(open);
    }
    if (link[i]) {
      const target = link[i] - 1;
      const go = document.createElement("button");
      go.type = "button";
      const delay = start[i] - start[target];
      go.textContent = `${picked.lane.kind === "waits" ? "ended by" : delay >= 0 ? "launched by" : "launches"} ${names[name[target]]}${delay > 0 ? `, ${span(delay)} before` : delay < 0 ? `, ${span(-delay)} after` : ""}`;
      go.addEventListener("click", follow);
      box.append(go);
    }
  }

  function follow() {
    const target = picked && timeline.link[picked.i] - 1;
    if (target >= 0) pick({ lane: laneOf(target), i: target });
  }

  function nextWait(direction = 1) {
    const from = picked ? timeline.start[picked.i] : direction > 0 ? view.low - 1 : view.high + 1;
    const wanted = picked && picked.lane.kind === "waits" ? timeline.kind[picked.i] : -1;
    let best = null;
    for (const lane of timeline.lanes) {
      if (lane.kind !== "waits") continue;
      for (const segment of lane.segments) {
        for (let i = segment.first; i < segment.after; i++) {
          const entry = timeline.classes[timeline.kind[i]];
          const fits = wanted < 0 ? !entry.key.startsWith("ok.") : timeline.kind[i] === wanted;
          const ahead = (timeline.start[i] - from) * direction;
          if (fits && ahead > 0 && (!best || ahead < best.ahead)) best = { lane, i, ahead };
        }
      }
    }
    if (best) pick({ lane: best.lane, i: best.i }, true);
  }

  const keys = {
    w: () => zoom(0.6), s: () => zoom(1 / 0.6), "+": () => zoom(0.6), "-": () => zoom(1 / 0.6),
    a: () => pan(-0.2), d: () => pan(0.2), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
    0: fit, n: () => nextWait(1), N: () => nextWait(-1), "]": follow,
    f: () => picked && show(timeline.start[picked.i] - 1, timeline.end[picked.i] + 1),
    Escape: () => { mark = null; pick(null); },
  };
  canvas.addEventListener("keydown", (event) => {
    const act = !event.ctrlKey && !event.metaKey && !event.altKey && (keys[event.key] || keys[event.key.toLowerCase()]);
    if (act) { event.preventDefault(); act(); }
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(Math.exp(event.deltaY * 0.003), painter.time(event.offsetX, view));
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoom(0.4, painter.time(event.offsetX, view)));

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    drag = { x: event.offsetX, low: view.low, high: view.high, moved: false, select: event.shiftKey };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag) return;
    const moved = event.offsetX - drag.x;
    drag.moved ||= Math.abs(moved) > 3;
    if (!drag.moved) return;
    if (drag.select) {
      const edges = [painter.time(drag.x, view), painter.time(event.offsetX, view)];
      mark = { low: Math.min(...edges), high: Math.max(...edges) };
      paint();
    } else {
      canvas.classList.add("drag");
      const shift = (moved / painter.columns) * (drag.high - drag.low);
      show(drag.low - shift, drag.high - shift);
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    canvas.classList.remove("drag");
    if (drag && drag.select && drag.moved && mark) show(mark.low, mark.high);
    else if (drag && !drag.moved) pick(painter.hit(event.offsetX, event.offsetY, view));
    drag = null;
  });

  const map = find("tl-map");
  const jump = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const part = (event.offsetX - GUTTER) / (map.clientWidth - GUTTER);
    const middle = whole.low + part * (whole.high - whole.low);
    show(middle - (view.high - view.low) / 2, middle + (view.high - view.low) / 2);
  };
  map.addEventListener("pointerdown", jump);
  map.addEventListener("pointermove", jump);

  for (const button of document.querySelectorAll(".jump")) {
    button.addEventListener("click", () => {
      mark = { low: Number(button.dataset.low), high: Number(button.dataset.high) };
      const margin = (mark.high - mark.low) * 1.5;
      show(mark.low - margin, mark.high + margin);
      find("timeline").scrollIntoView();
      canvas.focus({ preventScroll: true });
    });
  }
  const actions = { "tl-in": () => zoom(0.5), "tl-out": () => zoom(2), "tl-fit": fit, "tl-next": () => nextWait(1) };
  for (const [id, act] of Object.entries(actions)) {
    find(id).addEventListener("click", act);
    find(id).disabled = false;
  }
  document.addEventListener("themechange", () => { painter.theme(); paint(); });
  new ResizeObserver(() => { painter.resize(); paint(); }).observe(canvas);
  addEventListener("beforeprint", () => { painter.resize(); painter.draw(view, picked, mark); });
  document.documentElement.dataset.timeline = "ready";
  paint();
})();
