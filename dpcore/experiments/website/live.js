// A form whose runs a worker of this page computes. LIVE says where Python is, and what it may run.
const OWN = "own";
const NUMBERS = ["epsilon", "delta", "sites", "components", "repetitions", "seed"];
const IS_DISK = location.protocol === "file:";

const state = { run: 0, shown: null };
const waiting = new Map();
let worker = null;

function say(text) {
  at("status").textContent = text;
}

function start() {
  // A worker made from a text is under this page's policy, which lets it ask no other host.
  const source = `import ${JSON.stringify(new URL("worker.js", location).href)};`;
  const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  worker = new Worker(address, { type: "module" });
  worker.addEventListener("message", ({ data: { id, answer, status, failure } }) => {
    if (status) return say(status);
    const { resolve, reject } = waiting.get(id);
    waiting.delete(id);
    if (failure) reject(new Error(failure));
    else resolve(answer);
  });
  worker.addEventListener("error", () => {
    for (const { reject } of waiting.values()) reject(new Error("Python could not be started."));
    waiting.clear();
  });
  worker.postMessage({ live: { ...LIVE, folder: new URL(".", location).href } });
}

// The answer to a question; an error of the core is one sentence.
async function ask(question) {
  if (worker === null) start();
  const id = crypto.randomUUID();
  const answer = await new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, question: JSON.stringify(question) });
  });
  const found = JSON.parse(answer);
  if (found.error) throw new Error(found.error);
  return found;
}

async function busy(work) {
  at("run").disabled = true;
  try {
    await work();
  } catch (error) {
    say(error.message);
  } finally {
    at("run").disabled = false;
  }
}

async function openTable() {
  const [file] = at("file").files;
  if (!file) return;
  at("limits").replaceChildren();
  const { rows, columns } = await ask({ ask: "table", text: await file.text() });
  at("found").textContent = `${rows.toLocaleString("en")} rows, ${columns.length} columns of numbers.`;
  say("");
  at("limits").replaceChildren(...columns.map(({ name, ends, missing }) => {
    const line = document.createElement("tr"), title = document.createElement("th");
    title.scope = "row";
    title.textContent = missing ? `${name} (${missing} missing)` : name;
    line.append(title, ...["lower", "upper"].map((end, number) => {
      const cell = document.createElement("td"), input = document.createElement("input");
      Object.assign(input, { type: "number", step: "any", ariaLabel: `${name}, ${end} limit` });
      Object.assign(input.dataset, { column: name, end: number, seen: ends[number] });
      cell.append(input);
      return cell;
    }));
    return line;
  }));
}

function takeFromRows() {
  for (const input of at("limits").querySelectorAll("input")) {
    input.value = input.dataset.seen;
    input.dataset.isFromRows = "yes";
  }
}

const areFromRows = () => at("limits").querySelector("[data-is-from-rows]") !== null;

function limitsGiven() {
  const found = {};
  for (const { value, dataset: { column, end } } of at("limits").querySelectorAll("input"))
    if (value !== "") (found[column] ??= [NaN, NaN])[end] = Number(value);
  for (const [name, ends] of Object.entries(found))
    if (ends.some(Number.isNaN)) throw new Error(`${name} needs both of its limits.`);
  return found;
}

async function run() {
  const question = { ask: "run", dataset: at("dataset").value, protocol: at("protocol").value };
  for (const name of NUMBERS) question[name] = Number(at(name).value);
  question.intermediate_dim = at("intermediate_dim").value === "" ? null : Number(at("intermediate_dim").value);
  question.limits = question.dataset === OWN ? limitsGiven() : {};
  say("Running …");
  const started = performance.now();
  const here = await ask(question);
  say(`Done in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
  show(here, question);
}

function show(here, { protocol, epsilon, dataset }) {
  const [point] = here.points[protocol];
  const isHeld = dataset !== OWN || !areFromRows();
  at("figure").hidden = false;
  at("number").textContent = point.said;
  at("meaning").textContent =
    `of the pattern survives. A random guess would get ${here.chance_said}, no privacy at all 100 %.`;
  at("odds").textContent = isHeld
    ? `An attacker who guesses whether one person was in the data is right at most ${point.right} times in 100; `
      + "a coin is right 50 times."
    : "The limits were taken from the rows, so this ε protects nobody in the table: a simulation alone.";
  at("source").textContent =
    `The mean of ${point.ratios.length} runs in this tab: ${point.ratios.join(", ")} of exact PCA, `
    + `${here.people_per_site.toLocaleString("en")} people at each site, ${point.kilobytes.toFixed(1)} kB a site. `
    + `Requested ε = ${epsilon}, delivered ε = ${point.exact.toPrecision(3)}`
    + (isHeld ? " under these assumptions:" : " only if the limits had been public, and:");
  at("assumptions").replaceChildren(...here.assumptions[point.assumes].map((text) =>
    Object.assign(document.createElement("li"), { textContent: text })));
  at("command").textContent = point.command;
  at("command").parentElement.hidden = point.command === "";
  state.shown = { here, people: point.people };
  draw();
  at("people").setAttribute("aria-label", `People rebuilt from the private components: ${here.names.join(", ")}`);
}

function draw() {
  if (!state.shown) return;
  const { here, people } = state.shown;
  paint(at("people"), shadesOf(people[state.run % people.length], here), here);
}

function chooseData() {
  const isOwn = at("dataset").value === OWN;
  at("own").hidden = !isOwn;
  at("components").value = isOwn ? 2 : LIVE.datasets[at("dataset").value].components;
}

function begin() {
  drawMark();
  const shipped = Object.entries(LIVE.datasets).map(([name, { title }]) => [name, title]);
  choices("dataset", [...shipped, [OWN, "A table of your own"]]);
  choices("protocol", Object.entries(LIVE.protocols));
  at("origin").textContent = LIVE.pyodide.startsWith("https:") ? new URL(LIVE.pyodide).host : "this site";
  chooseData();
  at("dataset").addEventListener("change", chooseData);
  at("file").addEventListener("change", () => busy(openTable));
  at("from-rows").addEventListener("click", takeFromRows);
  at("limits").addEventListener("input", ({ target }) => delete target.dataset.isFromRows);
  at("settings").addEventListener("submit", (event) => {
    event.preventDefault();
    busy(run);
  });
  if (IS_DISK) {
    at("run").disabled = at("file").disabled = true;
    say("A browser starts Python only from a web server: run “python -m http.server” in this folder "
      + "and open http://127.0.0.1:8000/live.html.");
  }
  addEventListener("resize", draw);
  DARK.addEventListener("change", draw);
  setInterval(() => {
    if (STILL.matches || document.hidden) return;
    state.run += 1;
    draw();
  }, 125);
}

begin();
