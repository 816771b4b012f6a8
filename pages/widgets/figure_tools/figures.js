// Under every chart of the page: its numbers as a table, one click away, and its pictures.
// Made here, in the browser, from what the chart has been drawn from: the server has no part in it.
const MOST_ROWS = 500;

const plain = (html) => new DOMParser().parseFromString(html ?? "", "text/html").body.textContent;
const written = (value) =>
  typeof value === "number" ? String(Number(value.toPrecision(4))) : plain(String(value ?? ""));

// A trace's values along an axis, by the names that are written there if those are not numbers.
function along(plot, trace, letter) {
  const axis = plot._fullLayout[(trace[`${letter}axis`] ?? letter).replace(letter, `${letter}axis`)];
  const labels = (axis?.ticktext ?? []).map(plain);
  const isNumbers = labels.every((label) => /^[^a-z]*$/i.test(label));
  const names = new Map(isNumbers ? [] : labels.map((label, k) => [axis.tickvals[k], label]));
  return Array.from(trace[letter] ?? [], (value) => names.get(value) ?? value);
}

// What a trace has along its axes, the one it is a function of first.
function points(plot, trace) {
  const [first, second] = trace.orientation === "h" ? "yx" : "xy";
  const places = along(plot, trace, first);
  return along(plot, trace, second).map((value, index) => [places[index] ?? index, value]);
}

// Head and lines of a chart's table.
function tableOf(plot) {
  const shown = plot._fullData.filter((trace) => trace.visible === true);
  const matrix = shown.find((trace) => trace.z);
  if (matrix) {
    const head = ["", ...Array.from(matrix.x ?? matrix.z[0], (x, k) => (matrix.x ? x : k + 1))];
    return [head, Array.from(matrix.z, (line, k) => [matrix.y?.[k] ?? k + 1, ...line])];
  }
  // Bands and labels repeat what the lines and dots say.
  const said = shown.filter((trace) => trace.hoverinfo !== "skip");
  const traces = (said.length ? said : shown).map((trace) => [trace, points(plot, trace)]);
  const names = traces.map(([{ name, index }]) => (name === `trace ${index}` ? "" : plain(name)));
  const swapped = traces[0]?.[0].orientation === "h";
  const axes = ["xaxis", "yaxis"].map((axis) => plain(plot.layout[axis]?.title?.text));
  if (swapped) axes.reverse();
  const once = traces.every(([, found]) => new Set(found.map(([at]) => at)).size === found.length);
  if (once && traces.length > 1 && names.every(Boolean)) {
    const values = traces.map(([, found]) => new Map(found));
    const places = [...new Set(traces.flatMap(([, found]) => found.map(([at]) => at)))];
    if (places.every((at) => typeof at === "number")) places.sort((a, b) => a - b);
    const lines = places.map((at) => [at, ...values.map((found) => found.get(at) ?? "")]);
    return [[axes[0] || "x", ...names], lines];
  }
  const lines = traces.flatMap(([, found], k) => found.map((pair) => [names[k], ...pair]));
  const isNamed = names.some(Boolean);
  const head = ["series", axes[0] || "x", axes[1] || "y"];
  return isNamed ? [head, lines] : [head.slice(1), lines.map((line) => line.slice(1))];
}

function rowOf(cells, name) {
  const row = document.createElement("tr");
  row.append(...cells.map((cell, k) => {
    const element = document.createElement(name === "th" || k === 0 ? "th" : "td");
    element.scope = name === "th" ? "col" : "row";
    element.textContent = written(cell);
    return element;
  }));
  return row;
}

function drawTable(place, plot, told) {
  const [head, lines] = tableOf(plot);
  const table = document.createElement("table");
  table.createCaption().textContent = told;
  table.append(rowOf(head, "th"), ...lines.slice(0, MOST_ROWS).map((line) => rowOf(line, "td")));
  place.replaceChildren(table);
  if (lines.length > MOST_ROWS) {
    place.append(`The first ${MOST_ROWS} of ${lines.length.toLocaleString("en")} rows.`);
  }
}

function toolsOf(container) {
  const tools = document.createElement("div");
  tools.className = "figure-tools";
  const plot = () => container.querySelector(".js-plotly-plot");
  const told = () => container.querySelector(".stPlotlyChart").ariaLabel ?? "";
  const key = [...container.classList].find((name) => name.startsWith("st-key-")) ?? "figure";
  const details = document.createElement("details");
  const summary = document.createElement("summary");
  summary.textContent = "As a table";
  const place = document.createElement("div");
  Object.assign(place, { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Table" });
  details.append(summary, place);
  const refresh = () => { if (details.open && plot()) drawTable(place, plot(), told()); };
  details.addEventListener("toggle", () => {
    refresh();
    // What is open follows the chart.
    if (details.open) plot()?.on("plotly_afterplot", refresh);
    else plot()?.removeListener("plotly_afterplot", refresh);
  });
  const layers = () => [...container.querySelectorAll(".main-svg")];
  const name = () => `dp-pca-lab-${key.replace("st-key-", "").replaceAll("_", "-")}`;
  tools.append(details, ...saveButtons(name, layers, told));
  tools.container = container;
  return tools;
}

function tend() {
  mend();
  for (const tools of document.querySelectorAll(".figure-tools:not(.own)")) {
    const holds = tools.container?.querySelector(".stPlotlyChart");
    if (!holds || tools.previousElementSibling !== tools.container) tools.remove();
  }
  for (const chart of document.querySelectorAll(".stPlotlyChart")) {
    const container = chart.closest(".stElementContainer");
    if (!container.nextElementSibling?.matches(".figure-tools")) container.after(toolsOf(container));
  }
}

let asked = false;
const watcher = new MutationObserver(() => {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => { asked = false; tend(); });
});

// What Streamlit calls, again with each change of `data`.
export default function ({ data }) {
  globalThis.figureWords = data;
  watcher.observe(document.querySelector(".stApp"), { childList: true, subtree: true });
  tend();
}
