// The explorer of a folder without a server. Every number and picture is in RUNS, of runs made
// beforehand; nothing is interpolated, and no server is asked.
const BOIL_MS = 125;
const PLAY_MS = 500;
const COLOURS = ["#D55E00", "#009E73", "#E69F00", "#0072B2", "#CC79A7", "#56B4E9"];

const state = { dataset: "", protocol: "", sites: 0, components: 0, index: 0, run: 0, plain: false };

const PICKED = ["dataset", "sites", "components"];
const settingOf = (picked) =>
  RUNS.settings.find((each) => PICKED.every((name) => each[name] === picked[name]));
const setting = () => settingOf(state);
const points = () => setting().points[state.protocol];
const point = () => points()[state.index];

function pick(id, entries, read = String) {
  choices(id, entries);
  at(id).addEventListener("change", () => move({ [id]: read(at(id).value) }));
}

function move(changes) {
  Object.assign(state, changes);
  if (!setting()) state.components = RUNS.usual_components[state.dataset];
  show();
}

function show() {
  for (const name of ["protocol", ...PICKED]) at(name).value = state[name];
  at("plain").checked = state.plain;
  const here = setting(), now = point(), epsilon = RUNS.epsilons[state.index];
  at("epsilon").value = state.index;
  at("epsilon").setAttribute("aria-valuetext", `ε = ${epsilon}`);
  at("value").textContent = `ε = ${epsilon}`;
  at("number").textContent = now.said;
  at("meaning").textContent =
    `captured energy. Without data: ${here.floor_text}. Exact PCA: 100 %.`;
  at("odds").textContent =
    `An attacker who guesses whether you were in the data is right at most ${now.right} times in 100; `
    + `a coin is right 50 times.`;
  at("source").textContent =
    `The mean of ${now.ratios.length} runs made beforehand: ${now.ratios.join(", ")} of exact PCA, with `
    + `${here.components} components, ${here.people_per_site.toLocaleString("en")} people at each site, `
    + `${now.kilobytes.toFixed(1)} kB a site. Requested ε = ${epsilon}, delivered ε = ${now.exact.toPrecision(3)} `
    + "under the assumptions below, and the command repeats it.";
  at("assumptions").replaceChildren(...here.assumptions[now.assumes].map((text) =>
    Object.assign(document.createElement("li"), { textContent: text })));
  at("command").textContent = now.command;
  drawCurve();
  dissolve();
  fillTable();
}

// Shades of all people, 0 to 1, as they stand on the page: they dissolve into those of another run.
let seen = new Float32Array(0), frame = 0;
const DISSOLVE = 0.3;

function shadesNow() {
  const runs = point().people;
  return shadesOf(state.plain ? setting().true : runs[state.run % runs.length], setting());
}

function dissolve() {
  cancelAnimationFrame(frame);
  const wanted = shadesNow();
  if (STILL.matches || seen.length !== wanted.length) seen = wanted;
  const step = () => {
    let far = 0;
    for (let n = 0; n < wanted.length; n++) {
      const left = wanted[n] - seen[n];
      far = Math.max(far, Math.abs(left));
      seen[n] += DISSOLVE * left;
    }
    drawPeople();
    if (far > 0.02) frame = requestAnimationFrame(step);
  };
  step();
}

function drawPeople() {
  const here = setting(), canvas = at("people");
  const how = state.plain ? "as they are" : `rebuilt from the private components at ε = ${RUNS.epsilons[state.index]}`;
  paint(canvas, seen, here);
  canvas.setAttribute("aria-label", `${here.names.length} people ${how}: ${here.names.join(", ")}`);
}

// In the pixels of a wide figure and of a phone's.
const WIDE = { width: 900, height: 300, left: 60, right: 880, top: 20, bottom: 260, every: 2 };
const NARROW = { width: 360, height: 150, left: 52, right: 350, top: 12, bottom: 122, every: 4 };
const room = () => (isNarrow() ? NARROW : WIDE);
function across(index) {
  const { left, right } = room();
  return left + ((right - left) * index) / (RUNS.epsilons.length - 1);
}
function up(share) {
  const { top, bottom } = room();
  return bottom - (bottom - top) * Math.max(0, share);
}

const inCurve = (name, attributes) => drawn(name, attributes, at("curve"));
function drawCurve() {
  const here = setting(), { width, height, left, right, top, bottom, every } = room();
  at("curve").setAttribute("viewBox", `0 0 ${width} ${height}`);
  at("curve").replaceChildren();
  for (const share of isNarrow() ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]) {
    inCurve("path", { d: `M${left},${up(share)}H${right}`, stroke: "currentColor", "stroke-opacity": 0.12 });
    inCurve("text", { x: left - 8, y: up(share) + 5, "text-anchor": "end" }).textContent = `${100 * share} %`;
  }
  RUNS.epsilons.forEach((epsilon, index) => {
    if (index % every === 0)
      inCurve("text", { x: across(index), y: bottom + 20, "text-anchor": "middle" }).textContent = epsilon;
  });
  inCurve("path", { d: `M${left},${up(1)}H${right}`, stroke: "currentColor", "stroke-dasharray": "8 5" });
  inCurve("path", { d: `M${left},${up(here.floor)}H${right}`, stroke: "#8a8a8a", "stroke-width": 2.5, "stroke-dasharray": "2 5" });
  Object.keys(RUNS.protocols).forEach((name, number) => {
    const own = here.points[name], isChosen = name === state.protocol;
    inCurve("polyline", {
      points: own.map(({ mean }, index) => `${across(index)},${up(mean)}`).join(" "), fill: "none",
      stroke: COLOURS[number % COLOURS.length], "stroke-width": isChosen ? 4 : 1.8, "stroke-opacity": isChosen ? 1 : 0.55,
    });
  });
  at("legend").replaceChildren(...Object.entries(RUNS.protocols).map(([name, title], number) => {
    const item = document.createElement("li"), line = document.createElement("i");
    line.style.borderColor = COLOURS[number % COLOURS.length];
    item.className = name === state.protocol ? "chosen" : "";
    item.append(line, title);
    return item;
  }));
  const x = across(state.index);
  inCurve("path", { d: `M${x},${top - 10}V${bottom}`, stroke: "currentColor", "stroke-width": 2 });
  const number = Object.keys(RUNS.protocols).indexOf(state.protocol);
  inCurve("circle", { cx: x, cy: up(point().mean), r: 8, fill: COLOURS[number % COLOURS.length] });
  at("curve").setAttribute("aria-label",
    `Captured energy along ε for ${RUNS.protocols[state.protocol]}: ${point().said} at ε = ${RUNS.epsilons[state.index]}.`);
}

function fillTable() {
  const row = (cells, kind = "td") => {
    const line = document.createElement("tr");
    line.append(...cells.map((text) => Object.assign(document.createElement(kind), { textContent: text })));
    return line;
  };
  const head = document.createElement("thead"), body = document.createElement("tbody");
  head.append(row(["ε", "captured energy", "least", "most", "exact ε"], "th"));
  body.append(...points().map(({ said, ratios, exact }, index) => row([
    RUNS.epsilons[index], said, `${(100 * Math.min(...ratios)).toFixed(1)} %`,
    `${(100 * Math.max(...ratios)).toFixed(1)} %`, exact.toPrecision(3),
  ])));
  at("table").replaceChildren(head, body);
}

let timer = null;
function play() {
  if (timer) return stop();
  at("play").textContent = "Stop";
  state.index = RUNS.epsilons.length - 1;
  timer = setInterval(() => {
    if (state.index === 0) return stop();
    move({ index: state.index - 1 });
  }, PLAY_MS);
  show();
}
function stop() {
  clearInterval(timer);
  timer = null;
  at("play").textContent = "Play";
}

function follow(event) {
  const box = at("curve").getBoundingClientRect(), { width, height, left, right } = room();
  // The drawing keeps its shape in the middle of its box.
  const scale = Math.min(box.width / width, box.height / height);
  const place = (event.clientX - box.left - (box.width - width * scale) / 2) / scale;
  const share = Math.min(1, Math.max(0, (place - left) / (right - left)));
  move({ index: Math.round(share * (RUNS.epsilons.length - 1)) });
}

function tell(section) {
  for (const each of document.querySelectorAll("article section"))
    each.classList.toggle("told", each === section);
  stop();
  move(stateOf(section));
}

// What a step of a story shows: the first data set at five sites, but for what it names.
function stateOf({ dataset: { protocol, epsilon, dataset, sites, components } }) {
  const [first] = Object.keys(RUNS.datasets), picked = dataset ?? first;
  return {
    protocol, dataset: picked, sites: Number(sites ?? 5), plain: false,
    components: Number(components ?? RUNS.usual_components[picked]),
    index: RUNS.epsilons.indexOf(Number(epsilon)),
  };
}

// Numbers of the article are the grid's; a step whose setting was not run is not told.
function fillArticle() {
  for (const section of document.querySelectorAll("article section")) {
    const told = stateOf(section), found = settingOf(told)?.points[told.protocol];
    if (!found || told.index < 0) { section.remove(); continue; }
    const { said, right } = found[told.index], { people, people_per_site: each } = settingOf(told);
    const fill = (selector, text) =>
      section.querySelectorAll(selector).forEach((place) => (place.textContent = text));
    fill("[data-people]", each.toLocaleString("en"));
    fill("[data-everybody]", people.toLocaleString("en"));
    fill("[data-said]", said);
    fill("[data-right]", right);
    section.addEventListener("click", () => tell(section));
  }
}

function begin() {
  const [dataset] = Object.keys(RUNS.datasets), [protocol] = Object.keys(RUNS.protocols);
  const sites = RUNS.sites.includes(5) ? 5 : RUNS.sites[0], components = RUNS.usual_components[dataset];
  Object.assign(state, { dataset, protocol, sites, components, index: Math.max(0, RUNS.epsilons.indexOf(1)) });
  pick("dataset", Object.entries(RUNS.datasets));
  pick("protocol", Object.entries(RUNS.protocols));
  pick("sites", RUNS.sites.map((count) => [count, count]), Number);
  pick("components", RUNS.components.map((count) => [count, count]), Number);
  at("plain").addEventListener("change", () => move({ plain: at("plain").checked }));
  at("epsilon").max = RUNS.epsilons.length - 1;
  at("epsilon").addEventListener("input", (event) => { stop(); move({ index: Number(event.target.value) }); });
  at("play").addEventListener("click", play);
  at("curve").addEventListener("pointerdown", (event) => {
    stop();
    at("curve").setPointerCapture(event.pointerId);
    follow(event);
  });
  at("curve").addEventListener("pointermove", (event) => event.buttons && follow(event));
  at("about").textContent =
    `Every number was computed beforehand by ${RUNS.versions}: ${RUNS.repetitions} runs of each setting. `
    + "These rows are known. The private result by itself shows none of them. Pictures: MNIST, LeCun & "
    + "Cortes, CC BY-SA 3.0; digits of scikit-learn.";
  drawMark();
  fillArticle();
  show();
  addEventListener("resize", show);
  DARK.addEventListener("change", drawPeople);
  const told = new IntersectionObserver((entries) => {
    const [seen] = entries.filter((entry) => entry.isIntersecting);
    if (seen && scrollY > 40) tell(seen.target);
  }, { rootMargin: isNarrow() ? "-62% 0px -28% 0px" : "-45% 0px -45% 0px" });
  document.querySelectorAll("article section").forEach((section) => told.observe(section));
  setInterval(() => {
    if (STILL.matches || document.hidden) return;
    state.run += 1;
    if (!state.plain) dissolve();
  }, BOIL_MS);
}

begin();
