// Keys of whoever presents: ← and → move ε, Page Up and Page Down the deck, Esc ends it. Clickers
// send the last three. What one writes into or moves oneself keeps its keys.
const OWN_KEYS = "input, textarea, select, [contenteditable], [role=slider], [role=combobox]";
const KEPT = "dp-pca-lab-deck", KEPT_BY = "dp-pca-lab-deck-session";
const DEEP = "[data-testid=stBidiComponentIsolated]";

// The slider of ε that a page has in the browser; other pages' is moved by the server.
function slider() {
  const roots = [...document.querySelectorAll(DEEP)].map(({ shadowRoot }) => shadowRoot);
  return roots.map((root) => root?.querySelector(".control input")).find(Boolean);
}

function stepped(range, by) {
  range.value = Number(range.value) + by;
  for (const kind of ["keydown", "input", "change"]) {
    range.dispatchEvent(kind === "keydown" ? new KeyboardEvent(kind) : new Event(kind));
  }
}

// As the browser's Back does, which loads nothing again.
function goTo(address, page) {
  const base = location.pathname.replace(new RegExp(`${page}/?$`), "");
  history.pushState({}, "", base + address);
  dispatchEvent(new PopStateEvent("popstate"));
}

const views = new WeakMap();

function follow(parentElement) {
  const view = {};
  const find = (selector) => parentElement.querySelector(selector);
  const go = (by) => {
    const { addresses, at, page } = view.data;
    const address = addresses[at - 1 + by];
    if (at && address !== undefined) goTo(address, page);
  };
  const step = (by) => {
    const range = slider();
    if (range) stepped(range, by);
    else if (view.data.steps) view.trigger("step", by);
  };
  const keys = {
    ArrowLeft: () => step(-1), ArrowRight: () => step(1), Escape: () => view.trigger("ended", true),
    PageUp: () => go(-1), PageDown: () => go(1),
  };
  view.listen = (event) => {
    const [target] = event.composedPath();
    const isOwn = target.matches?.(OWN_KEYS) && event.key.startsWith("Arrow");
    const isDialog = event.key === "Escape" && document.querySelector("[role=dialog]");
    if (!view.data.presents || !keys[event.key] || isOwn || isDialog || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  };
  find(".previous").onclick = () => go(-1);
  find(".next").onclick = () => go(1);
  find(".end").onclick = keys.Escape;
  view.show = (data, trigger) => {
    Object.assign(view, { data, trigger });
    const { caption, at, addresses } = data;
    find(".bar").hidden = !data.presents;
    // A reload begins another session on the server: this tab hands it the deck of the last one,
    // before anything that this one has pinned takes its place.
    const before = sessionStorage.getItem(KEPT);
    const isOthers = before && sessionStorage.getItem(KEPT_BY) !== data.session;
    if (isOthers && view.handed !== before) trigger("kept", (view.handed = before));
    else if (data.kept) {
      sessionStorage.setItem(KEPT, data.kept);
      sessionStorage.setItem(KEPT_BY, data.session);
    }
    find(".caption").textContent = caption;
    find(".deck").hidden = !at;
    find("output").textContent = `${at} of ${addresses.length}`;
    find(".previous").disabled = at <= 1;
    find(".next").disabled = at >= addresses.length;
  };
  return view;
}

export default function ({ data, parentElement, setTriggerValue }) {
  if (!views.has(parentElement)) views.set(parentElement, follow(parentElement));
  const view = views.get(parentElement);
  view.show(data, setTriggerValue);
  if (data.goes_to && data.goes_to !== view.went) goTo(data.goes_to, data.page);
  view.went = data.goes_to;
  addEventListener("keydown", view.listen);
  return () => removeEventListener("keydown", view.listen);
}
