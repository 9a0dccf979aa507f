// Theme: the user's choice, else the system's. Runs before the page is drawn.
window.stallscope = window.stallscope || {};
(() => {
  "use strict";
  const KEY = "stallscope-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: light)");
  const stored = () => { try { return localStorage.getItem(KEY); } catch { return null; } };
  const apply = () => {
    root.dataset.theme = stored() || (system.matches ? "light" : "dark");
    document.dispatchEvent(new CustomEvent("stallscope:theme"));
  };
  stallscope.toggleTheme = () => {
    try { localStorage.setItem(KEY, root.dataset.theme === "light" ? "dark" : "light"); } catch { /* private mode */ }
    apply();
  };
  system.addEventListener("change", apply);
  apply();
})();
