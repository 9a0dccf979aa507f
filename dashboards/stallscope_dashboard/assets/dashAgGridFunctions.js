// What the waits grid needs in the browser: its look, its numbers, its first column, and the URL that holds its state.
(() => {
  "use strict";
  const functions = (window.dashAgGridFunctions = window.dashAgGridFunctions || {});
  const components = (window.dashAgGridComponentFunctions = window.dashAgGridComponentFunctions || {});

  functions.stallscopeNumber = (value) => value === undefined || value === null ? "" :
    Number(value).toLocaleString("en", { minimumFractionDigits: 3, maximumFractionDigits: 3 });

  components.WaitName = (props) => {
    if (!props.value) return "…";
    const family = stallscope.familyOf(props.value);
    return React.createElement("span", { className: "wait-name" },
      React.createElement("span", { className: `swatch fam-${family} pat-${stallscope.timeline.PATTERNS[family]}`, "aria-hidden": "true" }, stallscope.timeline.LETTERS[family]),
      React.createElement("code", { className: "wait-id" }, props.value));
  };

  const FAMILY = {
    launch: "launch", sync: "sync", alloc: "alloc", copy: "copy", offload: "copy", comm: "comm", fence: "comm", link: "comm",
    uvm: "uvm", host: "host", input: "host", dep: "dep", init: "init", kernel: "kernel", pipe: "kernel", env: "env", ok: "work",
  };
  stallscope.familyOf = (wait) => FAMILY[wait.split(".")[0]] || "unknown";

  // Filters and order of the grid live in the URL, which a link, the CSV export and a reload then carry.
  function keep(values) {
    if (location.pathname !== "/waits") return;   // a late answer of a page that was left
    const query = new URLSearchParams(location.search);
    for (const [key, value] of Object.entries(values)) { if (value) query.set(key, value); else query.delete(key); }
    history.replaceState(history.state, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
  }
  window.dash_clientside = window.dash_clientside || {};
  window.dash_clientside.stallscope = {
    gridAsked(request) {
      const sort = request?.sortModel?.[0], filters = request?.filterModel || {};
      keep({ sort: sort && `${sort.colId}:${sort.sort}`, filter: Object.keys(filters).length ? JSON.stringify(filters) : "" });
    },
    textChanged(text) {
      keep({ q: text });
      window.dash_ag_grid?.getApi("waits-grid")?.purgeInfiniteCache();
    },
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-export]");
    if (link) link.href = `/api/waits.csv${location.search}`;
  }, true);
})();
