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
}

// A chart is as wide as its window; paper is narrower. Drawings shrink to it, and come back.
const drawings = () => [
  ...document.querySelectorAll(".main-svg"),
  ...[...document.querySelectorAll("[data-testid=stBidiComponentIsolated]")].flatMap(
    ({ shadowRoot }) => [...(shadowRoot?.querySelectorAll(".curve > svg") ?? [])],
  ),
];
addEventListener("beforeprint", () => {
  for (const drawing of drawings()) {
    const { width, height } = drawing.getBoundingClientRect();
    drawing.setAttribute("viewBox", `0 0 ${width} ${height}`);
    drawing.setAttribute("preserveAspectRatio", "xMidYMin");
  }
});
addEventListener("afterprint", () => {
  for (const drawing of drawings()) drawing.removeAttribute("viewBox");
});
