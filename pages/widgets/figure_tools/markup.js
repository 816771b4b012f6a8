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
function hold() {
  const find = () => document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const watcher = new ResizeObserver(() => {
    const heading = find();
    if (!heading) return;
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
    MOVES.forEach((move) => removeEventListener(move, release, true));
  };
  if (!location.hash) return;
  for (const move of MOVES) addEventListener(move, release, { capture: true, passive: true });
  watcher.observe(content());
  setTimeout(release, HELD_MS);
}
hold();
addEventListener("hashchange", hold);
