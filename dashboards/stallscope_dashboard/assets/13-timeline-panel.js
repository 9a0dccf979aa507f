// The panel below the lanes: the selected interval, or the account of a marked range. Text only ever by textContent.
(() => {
  "use strict";
  const { duration } = stallscope.timeline;

  function element(tag, className, ...children) {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }
  function button(text, action, className = "button") {
    const node = element("button", className, text);
    node.type = "button"; node.addEventListener("click", action);
    return node;
  }
  function anchor(text, href) {
    const node = element("a", "button", text);
    node.href = href; node.dataset.spa = "true";
    return node;
  }
  function swatch(family) {
    const node = element("span", `swatch fam-${family} pat-${stallscope.timeline.PATTERNS[family] || "solid"}`, stallscope.timeline.LETTERS[family] || "");
    node.setAttribute("aria-hidden", "true");
    return node;
  }
  const query = (run, parameters) => {
    const all = new URLSearchParams({ ...(run ? { run } : {}), ...parameters });
    return all.size ? `?${all}` : "";
  };

  class Panel {
    constructor(root, model, run, actions) { Object.assign(this, { root, model, run, actions }); this.idle(); }

    idle() {
      this.root.replaceChildren(element("p", "panel-hint",
        "Click an interval to see what it is and what caused it. Drag to measure a range. ",
        element("kbd", "", "W"), element("kbd", "", "A"), element("kbd", "", "S"), element("kbd", "", "D"),
        " zoom and move, ", element("kbd", "", "N"), " next wait of the chosen kind, ", element("kbd", "", "?"), " all keys."));
    }

    interval(detail) {
      const head = element("header", "sel-head", swatch(detail.family),
        element("strong", "sel-title", detail.title), element("span", "sel-time number", duration(detail.high_ns - detail.low_ns)),
        element("span", "dim", detail.kind === detail.title ? detail.place : `${detail.kind} · ${detail.place}`),
        element("span", "dim number", `at ${stallscope.timeline.clock(detail.low_ns - this.model.first, 1e3)}`));
      const facts = element("dl", "facts");
      for (const { label, value } of detail.facts) facts.append(element("dt", "", label), element("dd", "", value));
      const links = element("ul", "sel-links");
      for (const link of detail.links) {
        const gap = link.cause ? detail.low_ns - link.low_ns : link.low_ns - detail.low_ns;
        const go = button(link.title, () => this.actions.go(link), "sel-link");
        go.title = link.title;
        links.append(element("li", "", element("span", "sel-role", `${link.cause ? "◂" : "▸"} ${link.role}`), go,
          element("span", "dim number", `${duration(link.high_ns - link.low_ns)}, ${duration(Math.abs(gap))} ${(gap >= 0) === link.cause ? "earlier" : "later"}`)));
      }
      const tools = element("div", "sel-tools",
        button("Zoom to it (F)", () => this.actions.focus()),
        button("Copy link (C)", (event) => this.actions.copyLink(event.currentTarget)));
      if (detail.wait) {
        tools.append(
          anchor("All like this", `/waits${query(this.run, { wait: detail.wait })}`),
          button("Next (N)", () => this.actions.next(true)),
          button("Copy command", (event) => stallscope.copy(`stallscope explain ${detail.wait}`, event.currentTarget)));
      }
      const left = element("div", "sel-main", head, detail.sentence ? element("p", "sel-sentence", detail.sentence) : null, links, tools);
      this.root.replaceChildren(element("div", "sel", left, facts));
    }

    range(low, high, accounts) {
      const head = element("header", "sel-head", element("strong", "sel-title", "Marked range"),
        element("span", "sel-time number", duration(high - low)),
        element("span", "dim number", `${stallscope.timeline.clock(low - this.model.first, 1e3)} to ${stallscope.timeline.clock(high - this.model.first, 1e3)}`),
        button("Zoom to it (F)", () => this.actions.focus()), button("Clear (Esc)", () => this.actions.clear()),
        button("Copy link (C)", (event) => this.actions.copyLink(event.currentTarget)),
        anchor("Waits in it", `/waits${query(this.run, { from: Math.round(low), to: Math.round(high) })}`));
      const tables = accounts.map((account) => this.account(account, high - low));
      this.root.replaceChildren(head, element("div", "range-accounts", ...tables));
    }
    account({ group, times }, width) {
      const inside = times.reduce((sum, { time_ns }) => sum + time_ns, 0);
      const body = element("tbody", "");
      for (const { kind, family, time_ns } of times) {
        const name = element("th", "", element("span", "wait-name", swatch(family), element("code", "", kind)));
        name.scope = "row";
        const bar = element("span", `share-bar fam-${family}`);
        bar.style.width = `${100 * time_ns / width}%`;
        body.append(element("tr", "", name, element("td", "number", duration(time_ns)),
          element("td", "number", `${(100 * time_ns / width).toFixed(1)} %`), element("td", "share-cell", bar)));
      }
      const caption = element("caption", "", element("strong", "", group),
        ` ${inside ? `${duration(inside)} of its window` : "outside its window"}`);
      return element("table", "table range-account", caption, body);
    }
    failed(error) { this.root.replaceChildren(element("p", "panel-hint state-failed", `The server did not answer: ${error.message}`)); }
  }

  Object.assign(stallscope.timeline, { Panel, element, button, swatch });
})();
