// The explorer of a folder without a server. Every number and picture is in RUNS, of runs made
// beforehand; nothing is interpolated and nothing is asked of anybody.
const BOIL_MS = 125;
const PLAY_MS = 500;
const SHADES = 15;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const DARK = matchMedia("(prefers-color-scheme: dark)");
const SVG = "http://www.w3.org/2000/svg";
const at = (id) => document.getElementById(id);
const COLOURS = ["#D55E00", "#009E73", "#E69F00", "#0072B2", "#CC79A7", "#56B4E9"];

const state = { dataset: "", protocol: "", sites: 0, index: 0, run: 0 };

const setting = () =>
  RUNS.settings.find((each) => each.dataset === state.dataset && each.sites === state.sites);
const points = () => setting().points[state.protocol];
const point = () => points()[state.index];

function choices(id, entries, name, read = String) {
  const select = at(id);
  select.replaceChildren(...entries.map(([value, title]) => new Option(title, value)));
  select.addEventListener("change", () => move({ [name]: read(select.value) }));
}

function move(changes) {
  Object.assign(state, changes);
  show();
}

function show() {
  for (const name of ["dataset", "protocol", "sites"]) at(name).value = state[name];
  const here = setting(), now = point(), epsilon = RUNS.epsilons[state.index];
  at("epsilon").value = state.index;
  at("epsilon").setAttribute("aria-valuetext", `ε = ${epsilon}`);
  at("value").textContent = `ε = ${epsilon}`;
  at("number").textContent = now.said;
  at("meaning").textContent =
    `of the pattern survives. A random guess would get ${here.chance_said}, no privacy at all 100 %.`;
  at("odds").textContent =
    `An attacker who guesses whether you were in the data is right at most ${now.right} times in 100; `
    + `a coin is right 50 times.`;
  at("source").textContent =
    `The mean of ${now.ratios.length} runs made beforehand: ${now.ratios.join(", ")} of exact PCA, with `
    + `${here.components} components, ${here.people_per_site.toLocaleString("en")} people at each site, `
    + `${now.kilobytes.toFixed(1)} kB a site. Requested ε = ${epsilon}, delivered ε = ${now.exact.toPrecision(3)}. `
    + "This repeats it:";
  at("command").textContent = now.command;
  drawCurve();
  drawPeople();
  fillTable();
}

// Ink on paper, white on black in the dark: shade 0 is the page.
function drawPeople() {
  const here = setting(), canvas = at("people");
  const [height, width] = here.shape ?? [1, 1];
  const packed = point().people[state.run % point().people.length];
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const shade = (n) => (n % 2 ? bytes[n >> 1] & 15 : bytes[n >> 1] >> 4) / SHADES;
  const count = here.names.length, across = innerWidth > 896 ? count : Math.ceil(count / 2);
  const down = Math.ceil(count / across), gap = 1;
  canvas.width = across * (width + gap);
  canvas.height = down * (height + gap);
  canvas.style.aspectRatio = `${canvas.width} / ${canvas.height}`;
  const pen = canvas.getContext("2d"), image = pen.createImageData(canvas.width, canvas.height);
  const ink = DARK.matches ? [242, 242, 242] : [26, 26, 26];
  for (let person = 0; person < count; person++)
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const column = (person % across) * (width + gap) + x;
        const row = Math.floor(person / across) * (height + gap) + y;
        const place = 4 * (row * canvas.width + column);
        image.data.set(ink, place);
        image.data[place + 3] = 255 * shade((person * height + y) * width + x);
      }
  pen.putImageData(image, 0, 0);
  canvas.setAttribute("aria-label",
    `${count} people rebuilt from the private components at ε = ${RUNS.epsilons[state.index]}: `
    + here.names.join(", "));
}

function drawn(name, attributes, parent = at("curve")) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return parent.appendChild(element);
}

const LEFT = 60, RIGHT = 880, TOP = 20, BOTTOM = 260;
const across = (index) => LEFT + ((RIGHT - LEFT) * index) / (RUNS.epsilons.length - 1);
const up = (share) => BOTTOM - (BOTTOM - TOP) * Math.max(0, share);

function drawCurve() {
  const here = setting();
  at("curve").replaceChildren();
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    drawn("path", { d: `M${LEFT},${up(share)}H${RIGHT}`, stroke: "currentColor", "stroke-opacity": 0.12 });
    drawn("text", { x: LEFT - 8, y: up(share) + 5, "text-anchor": "end" }).textContent = `${100 * share} %`;
  }
  const every = innerWidth > 896 ? 2 : 4;
  RUNS.epsilons.forEach((epsilon, index) => {
    if (index % every === 0)
      drawn("text", { x: across(index), y: BOTTOM + 20, "text-anchor": "middle" }).textContent = epsilon;
  });
  drawn("path", { d: `M${LEFT},${up(1)}H${RIGHT}`, stroke: "currentColor", "stroke-dasharray": "8 5" });
  drawn("path", { d: `M${LEFT},${up(here.chance)}H${RIGHT}`, stroke: "#8a8a8a", "stroke-width": 2.5, "stroke-dasharray": "2 5" });
  Object.keys(RUNS.protocols).forEach((name, number) => {
    const own = here.points[name], isChosen = name === state.protocol;
    drawn("polyline", {
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
  drawn("path", { d: `M${x},${TOP - 10}V${BOTTOM}`, stroke: "currentColor", "stroke-width": 2 });
  const number = Object.keys(RUNS.protocols).indexOf(state.protocol);
  drawn("circle", { cx: x, cy: up(point().mean), r: 8, fill: COLOURS[number % COLOURS.length] });
  at("curve").setAttribute("aria-label",
    `What survives along ε for ${RUNS.protocols[state.protocol]}: ${point().said} at ε = ${RUNS.epsilons[state.index]}.`);
}

function fillTable() {
  const row = (cells, kind = "td") => {
    const line = document.createElement("tr");
    line.append(...cells.map((text) => Object.assign(document.createElement(kind), { textContent: text })));
    return line;
  };
  const head = document.createElement("thead"), body = document.createElement("tbody");
  head.append(row(["ε", "survives", "least", "most", "delivered ε"], "th"));
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
  const box = at("curve").getBoundingClientRect();
  const place = ((event.clientX - box.left) / box.width) * 900;
  const share = Math.min(1, Math.max(0, (place - LEFT) / (RIGHT - LEFT)));
  move({ index: Math.round(share * (RUNS.epsilons.length - 1)) });
}

function tell(section) {
  for (const each of document.querySelectorAll("article section"))
    each.classList.toggle("told", each === section);
  stop();
  move(stateOf(section));
}

function stateOf({ dataset: { protocol, epsilon, sites } }) {
  return { protocol, sites: Number(sites), index: RUNS.epsilons.indexOf(Number(epsilon)) };
}

// Numbers of the article are the grid's, of the first data set.
function fillArticle() {
  for (const section of document.querySelectorAll("article section")) {
    const { protocol, sites, index } = stateOf(section);
    const found = RUNS.settings.find((each) => each.dataset === state.dataset && each.sites === sites);
    if (!found?.points[protocol] || index < 0) { section.remove(); continue; }
    const { said, right } = found.points[protocol][index];
    for (const place of section.querySelectorAll("[data-said]")) place.textContent = said;
    for (const place of section.querySelectorAll("[data-right]")) place.textContent = right;
    section.addEventListener("click", () => tell(section));
  }
}

function begin() {
  const [dataset] = Object.keys(RUNS.datasets), [protocol] = Object.keys(RUNS.protocols);
  const sites = RUNS.sites.includes(5) ? 5 : RUNS.sites[0];
  Object.assign(state, { dataset, protocol, sites, index: Math.max(0, RUNS.epsilons.indexOf(1)) });
  choices("dataset", Object.entries(RUNS.datasets), "dataset");
  choices("protocol", Object.entries(RUNS.protocols), "protocol");
  choices("sites", RUNS.sites.map((count) => [count, count]), "sites", Number);
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
    + "Rebuilding known people is a simulation: components alone show nobody. Pictures: MNIST, LeCun & "
    + "Cortes, CC BY-SA 3.0; digits of scikit-learn.";
  for (let n = 0; n < 24; n++) {
    const column = n % 6, row = Math.floor(n / 6), fade = column / 5;
    drawn("rect", {
      x: column * 7.6 + Math.sin(7 * n) * 2 * fade, y: row * 7.4 + Math.cos(5 * n) * 3 * fade,
      width: 6 - 3.4 * fade, height: 6 - 3.4 * fade, rx: 1, opacity: 1 - 0.7 * fade,
      fill: n % 5 === 4 ? "#D55E00" : "currentColor",
    }, at("mark"));
  }
  fillArticle();
  show();
  addEventListener("resize", show);
  DARK.addEventListener("change", drawPeople);
  const told = new IntersectionObserver((entries) => {
    const [seen] = entries.filter((entry) => entry.isIntersecting);
    if (seen && scrollY > 40) tell(seen.target);
  }, { rootMargin: "-45% 0px -45% 0px" });
  document.querySelectorAll("article section").forEach((section) => told.observe(section));
  setInterval(() => {
    if (STILL.matches || document.hidden) return;
    state.run += 1;
    drawPeople();
  }, BOIL_MS);
}

begin();
