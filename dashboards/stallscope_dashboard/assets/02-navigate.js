// Internal links change the page without a reload; copy buttons copy; menus close.
(() => {
  "use strict";
  stallscope.go = (href) => {
    const target = new URL(href, location.href);
    if (target.origin !== location.origin) return;
    const samePage = target.pathname === location.pathname && target.search === location.search;
    history.pushState({}, "", target);
    window.dispatchEvent(new CustomEvent("_dashprivate_pushstate"));
    if (samePage) window.dispatchEvent(new HashChangeEvent("hashchange"));
    else { scrollTo(0, 0); document.getElementById("content")?.focus({ preventScroll: true }); }
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-spa]");
    for (const menu of document.querySelectorAll("details.run-menu[open]")) {
      if (!menu.contains(event.target) || link) menu.open = false;
    }
    if (!link || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    stallscope.go(link.href);
  });

  stallscope.copy = async (text, button) => {
    try { await navigator.clipboard.writeText(text); }
    catch {
      const area = document.createElement("textarea");
      area.value = text; document.body.append(area); area.select(); document.execCommand("copy"); area.remove();
    }
    if (button) { button.dataset.done = "yes"; setTimeout(() => delete button.dataset.done, 1500); }
    stallscope.say?.("Copied");
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy]");
    if (button) stallscope.copy(button.dataset.copy, button);
    const tool = event.target.closest("button[data-tool]");
    if (tool?.dataset.tool === "theme") stallscope.toggleTheme();
    if (tool?.dataset.tool === "palette") stallscope.openPalette?.();
    if (tool?.dataset.tool === "keys") stallscope.openKeys?.();
  });

  // One live region for short messages.
  stallscope.say = (text) => {
    let region = document.getElementById("live");
    if (!region) {
      region = document.createElement("div");
      region.id = "live"; region.className = "visually-hidden"; region.setAttribute("role", "status");
      document.body.append(region);
    }
    region.textContent = text;
  };
})();
