// Command palette (Ctrl-K or ⌘K) and the list of keys (?): native dialogs, so that Esc and focus work by themselves.
(() => {
  "use strict";
  const make = (tag, className, ...children) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    node.append(...children);
    return node;
  };
  const KEYS_OFF = "stallscope-keys-off";
  stallscope.keysOff = () => { try { return localStorage.getItem(KEYS_OFF) === "yes"; } catch { return false; } };
  const run = () => new URLSearchParams(location.search).get("run") || "";

  const KEYS = [
    ["Everywhere", [["⌘K", "go to a page or finding"], ["?", "this list"]]],
    ["Timeline", [
      ["W S", "zoom in and out"], ["A D", "move left and right"], ["↑ ↓", "lane up and down"], ["0", "show everything"],
      [", .", "previous and next interval of the lane"], ["Enter", "longest interval of the lane in view"],
      ["N ⇧N", "next and previous wait of the chosen kind"], ["[ ]", "to the cause, to the effect"],
      ["F", "zoom to the selection"], ["M", "mark the selection as a range"], ["P", "pin the lane"], ["/", "search"],
      ["C", "copy a link to this view"], ["Esc", "clear"], ["Ctrl wheel", "zoom at the pointer"], ["⇧ wheel", "move"],
      ["drag", "mark a range and add it up"], ["⇧ drag", "move"],
    ]],
  ];
  function dialog(className, label) {
    const node = make("dialog", className);
    node.setAttribute("aria-label", label);
    node.addEventListener("click", (event) => { if (event.target === node) node.close(); });
    node.addEventListener("close", () => node.remove());
    document.body.append(node);
    return node;
  }
  stallscope.openKeys = () => {
    const node = dialog("keys-dialog", "Keys"), list = make("dl", "keys");
    for (const [title, rows] of KEYS) {
      list.append(make("h3", "", title));
      for (const [keys, text] of rows) {
        list.append(make("dt", "", ...keys.split(" ").flatMap((key) => [make("kbd", "", key), " "])), make("dd", "", text));
      }
    }
    const box = make("input"), label = make("label", "keys-off", box, "Single-key shortcuts off");
    box.type = "checkbox"; box.checked = stallscope.keysOff();
    box.addEventListener("change", () => { try { localStorage.setItem(KEYS_OFF, box.checked ? "yes" : "no"); } catch { /* private mode */ } });
    const close = make("button", "button", "Close");
    close.type = "button"; close.addEventListener("click", () => node.close());
    node.append(make("h2", "", "Keys"), list, label, make("p", "keys-close", close));
    node.showModal();
  };

  stallscope.openPalette = async () => {
    if (document.querySelector("dialog.palette")) return;
    const node = dialog("palette", "Go to"), input = make("input"), list = make("ul");
    Object.assign(input, { type: "text", placeholder: "Page, finding, wait, run…", autocomplete: "off" });
    input.setAttribute("role", "combobox"); input.setAttribute("aria-expanded", "true");
    input.setAttribute("aria-controls", "palette-list"); input.setAttribute("aria-label", "Go to");
    list.id = "palette-list"; list.setAttribute("role", "listbox"); list.setAttribute("aria-label", "Places");
    node.append(input, list);
    node.showModal();
    const answer = await fetch(`/api/places?${new URLSearchParams({ run: run() })}`).catch(() => null);
    const places = answer?.ok ? await answer.json() : [];
    places.push({ title: "Switch between light and dark", note: "theme", href: "#theme" }, { title: "Keys", note: "help", href: "#keys" });
    let shown = [], chosen = 0;
    const take = (place) => {
      node.close();
      if (place.href === "#theme") stallscope.toggleTheme();
      else if (place.href === "#keys") stallscope.openKeys();
      else stallscope.go(place.href);
    };
    const draw = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = places.filter((place) => words.every((word) => `${place.title} ${place.note}`.toLowerCase().includes(word))).slice(0, 60);
      chosen = Math.min(chosen, Math.max(shown.length - 1, 0));
      list.replaceChildren(...shown.map((place, i) => {
        const item = make("li", "", make("span", "", place.title), make("span", "", place.note));
        item.id = `palette-${i}`; item.setAttribute("role", "option"); item.setAttribute("aria-selected", String(i === chosen));
        item.addEventListener("click", () => take(place));
        return item;
      }));
      if (shown.length) input.setAttribute("aria-activedescendant", `palette-${chosen}`); else input.removeAttribute("aria-activedescendant");
      list.children[chosen]?.scrollIntoView({ block: "nearest" });
    };
    input.addEventListener("input", () => { chosen = 0; draw(); });
    input.addEventListener("keydown", (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (by && shown.length) { event.preventDefault(); chosen = (chosen + by + shown.length) % shown.length; draw(); }
      if (event.key === "Enter" && shown[chosen]) { event.preventDefault(); take(shown[chosen]); }
    });
    draw();
  };

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") { event.preventDefault(); stallscope.openPalette(); return; }
    const typing = event.target.closest?.("input, textarea, select, [contenteditable], dialog");
    if (event.key === "?" && !typing && !stallscope.keysOff()) { event.preventDefault(); stallscope.openKeys(); }
  });
})();
