const content = () => document.querySelector(".stMainBlockContainer");

// What Streamlit's own markup lacks for a keyboard and for whoever listens to the page.
function mend() {
  // What scrolls sideways is reached by keyboard.
  for (const part of document.querySelectorAll(".stMain :is(pre, .katex-display)")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
  // Its list of pages has a division between each list and its items, and is no list to anybody.
  const list = "[data-testid=stSidebarNavItems]";
  for (const part of document.querySelectorAll(`${list}, ${list} li`)) part.role = "presentation";
  if (!location.hash) content().style.paddingBottom = "";
  // React may have put another element in the content's place; that one is watched from now on.
  held?.observe(content());
  gather();
}

// The links on top are one stop of the keyboard, and arrow keys go from one to the next, as in any
// toolbar: what a page is about is then a few stops from its beginning.
const LINKS = "[data-testid=stTopNavLink], [data-testid=stTopNavSection]";
function gather() {
  const links = [...document.querySelectorAll(LINKS)].filter((link) => link.checkVisibility());
  if (links.length < 2) return;
  const bar = links[0].closest("[data-testid=stTopNav]");
  bar.onkeydown = step;
  const here = links.find((link) => link.ariaCurrent === "page") ?? links[0];
  const stop = links.includes(document.activeElement) ? document.activeElement : here;
  for (const link of links) link.tabIndex = link === stop ? 0 : -1;
}

function step(event) {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const links = [...event.currentTarget.querySelectorAll(LINKS)];
  const at = links.indexOf(event.target.closest(LINKS));
  if (!by || at < 0) return;
  event.preventDefault();
  links[(at + by + links.length) % links.length].focus();
  gather();
}

// A chart is as wide as its window; paper is narrower. Drawings shrink to it, and come back.
const drawings = () => [
  ...document.querySelectorAll(".main-svg"),
  ...[...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")].flatMap(
    ({ shadowRoot }) => [...(shadowRoot?.querySelectorAll(".curve > svg") ?? [])],
  ),
];
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll(".explained details")) folded.open = true;
  for (const drawing of drawings()) {
    const { width, height } = drawing.getBoundingClientRect();
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.setAttribute("preserveAspectRatio", "xMidYMin");
  }
});
addEventListener("afterprint", () => {
  for (const drawing of drawings()) drawing.removeAttribute("viewBox");
});

// A heading that a link leads to, opened where it is folded, and kept in its place until somebody
// moves: whoever scrolls there once is carried away by what is still being drawn above.
const HELD_MS = 15_000;
const MOVES = ["pointerdown", "wheel", "touchstart", "keydown"];
let held = null;
function hold() {
  const find = () => document.getElementById(decodeURIComponent(location.hash.slice(1)));
  let ends = null;
  const watcher = new ResizeObserver(() => {
    const heading = find();
    if (!heading) return;
    // A busy server may take longer than that until the heading is there at all.
    ends ??= setTimeout(release, HELD_MS);
    const folded = heading.closest("details");
    if (folded) folded.open = true;
    // Near the end of a page there is too little below it to bring it to the top.
    const end = content().lastElementChild.getBoundingClientRect().bottom;
    const below = Math.round(end - heading.getBoundingClientRect().top);
    content().style.paddingBottom = `max(4rem, 100vh - ${below}px)`;
    heading.scrollIntoView();
  });
  const release = () => {
    watcher.disconnect();
    if (held === watcher) held = null;
    clearTimeout(ends);
    MOVES.forEach((move) => removeEventListener(move, release, true));
  };
  if (!location.hash) return;
  for (const move of MOVES) addEventListener(move, release, { capture: true, passive: true });
  held = watcher;
  watcher.observe(content());
}
hold();
addEventListener("hashchange", hold);
