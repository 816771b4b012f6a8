// What follows the slider while it is dragged: ten people rebuilt, the number, the curve's marker
// and every run. All of it was computed elsewhere: a frame is what one ε gave, and moving the slider
// changes which frame is shown. This file knows nothing of who computed them.
//
//   const explorer = new Explorer(element);              // element holds explorer.html
//   explorer.fill({ setting, epsilons, frames, ... });   // frames that are there, as they arrive
//   explorer.meet({ setting, run, levels, ... });        // people of one run, at every ε there is
//   explorer.follow(control);                            // the slider, of control.js
//
// What is in a frame stands in component.py. Sentences arrive written; nothing is worded here.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = { dash: "9 5", dot: "2 4", dashdot: "9 4 2 4", longdash: "14 5" };
const TOP = 1.06; // of the vertical axis: 100 % and a little air
const BOIL_MS = 125; // a run after the other, eight a second
const THUMB = 44; // pixels: a line with room for a finger on both sides (control.css)
// So many lines are named where they are, on a drawing as wide as this; others have a legend.
const MOST_NAMED = 4, NAMED_FROM = 620;

const percent = (share) => `${Math.round(100 * share)} %`;
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

// So that no line ends between a number and what it belongs to.
const unbroken = (text) => text.replaceAll(" %", "\u00a0%").replaceAll("ε = ", "ε\u00a0=\u00a0");

function make(name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

function html(name, text = "", className = "") {
  const element = document.createElement(name);
  element.textContent = text;
  element.className = className;
  return element;
}

const bytes = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

// Corners of a marker around (0, 0), as an SVG path: the register names markers as Plotly does.
function marker(symbol, r) {
  const turn = (n, radius, start) =>
    "M" +
    Array.from({ length: n }, (_, k) => {
      const angle = start + (2 * Math.PI * k) / n;
      const reach = radius(k);
      return `${(reach * Math.cos(angle)).toFixed(2)},${(reach * Math.sin(angle)).toFixed(2)}`;
    }).join("L") +
    "Z";
  const even = () => 1.2 * r;
  const spikes = (k) => (k % 2 ? 0.6 * r : 1.4 * r);
  const up = -Math.PI / 2;
  switch (symbol.replace("-open", "")) {
    case "square": return turn(4, even, Math.PI / 4);
    case "diamond": return turn(4, even, 0);
    case "triangle-up": return turn(3, even, up);
    case "triangle-down": return turn(3, even, -up);
    case "pentagon": return turn(5, even, up);
    case "hexagon2": return turn(6, even, 0);
    case "star": return turn(10, spikes, up);
    case "hexagram": return turn(12, spikes, up);
    case "star-square": return turn(8, spikes, up);
    case "bowtie": return `M${-r},${-r}L${r},${r}V${-r}L${-r},${r}Z`;
    case "hourglass": return `M${-r},${-r}L${r},${r}H${-r}L${r},${-r}Z`;
    default: return turn(24, () => r, 0);
  }
}

function drawn(look, r) {
  const open = look.symbol.endsWith("-open");
  return { d: marker(look.symbol, r), fill: open ? "none" : look.colour, stroke: look.colour };
}

// Ten people on a canvas: the runs of one ε in turn, so that they stand still where all runs agree
// and boil where noise decides. Pictures of ink are drawn in the page's ink on its paper.
class People {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.sheet = document.createElement("canvas"); // one person, a pixel a pixel
    this.runs = new Map(); // run -> ε -> bytes of all people
    this.turn = 0;
    this.peek = -1; // whom a pointer rests on: shown as measured
    this.still = matchMedia("(prefers-reduced-motion: reduce)");
    this.held = false;
    const find = (event) => this.peekAt(event);
    for (const name of ["pointermove", "pointerdown"]) canvas.addEventListener(name, find);
    canvas.addEventListener("pointerleave", () => { this.peek = -1; this.draw(); });
    this.still.addEventListener?.("change", () => this.draw());
    const visible = new IntersectionObserver(([entry]) => {
      clearInterval(this.timer);
      if (entry.isIntersecting) this.timer = setInterval(() => this.tick(), BOIL_MS);
    });
    visible.observe(canvas);
  }

  meet({ setting, people, run, epsilons, levels }) {
    if (setting !== this.setting) [this.runs, this.setting] = [new Map(), setting];
    if (people) {
      this.about = people;
      this.truth = bytes(people.truth);
    }
    const all = bytes(levels);
    const size = all.length / epsilons.length;
    const known = this.runs.get(run) ?? new Map();
    epsilons.forEach((value, k) => known.set(value, all.subarray(k * size, (k + 1) * size)));
    this.runs.set(run, known);
    this.draw();
  }

  has({ setting, run, epsilons }) {
    const known = this.runs.get(run);
    return setting === this.setting && epsilons.every((epsilon) => known?.has(epsilon));
  }

  step(epsilon) {
    this.epsilon = epsilon;
    this.draw();
  }

  get isStill() {
    return this.still.matches || this.held;
  }

  tick() {
    if (this.isStill || !this.about || document.hidden) return;
    this.turn += 1;
    this.draw();
  }

  // What runs gave at the present ε; of none, what was drawn last.
  drawn() {
    const found = [...this.runs.entries()].sort(([a], [b]) => a - b)
      .map(([, levels]) => levels.get(this.epsilon)).filter(Boolean);
    if (found.length) this.last = found;
    return this.last ?? [];
  }

  peekAt(event) {
    const { left, top, width } = this.canvas.getBoundingClientRect();
    const cell = width / this.columns;
    const [x, y] = [event.clientX - left, event.clientY - top];
    const peek = Math.floor(x / cell) + this.columns * Math.floor(y / this.high);
    if (peek === this.peek) return;
    this.peek = peek;
    this.draw();
  }

  draw() {
    const runs = this.drawn();
    const { about, canvas, pen } = this;
    const { clientWidth, clientHeight } = canvas;
    if (!about || !runs.length || !clientWidth) return;
    const dense = window.devicePixelRatio || 1;
    const [width, height] = [clientWidth, clientHeight].map((side) => Math.round(side * dense));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    this.columns = clientWidth < 640 ? 5 : 10;
    const rows = Math.ceil(about.names.length / this.columns);
    this.high = clientHeight / rows;
    pen.clearRect(0, 0, width, height);
    this.ink = this.colour();
    const cell = { wide: width / this.columns, high: height / rows };
    const several = this.still.matches ? runs.slice(0, 4) : [];
    about.names.forEach((_, person) => {
      const left = (person % this.columns) * cell.wide;
      const top = Math.floor(person / this.columns) * cell.high;
      const place = { left, top, ...cell };
      if (person === this.peek) this.person(this.truth, person, place, true);
      else if (several.length > 1) this.multiples(several, person, place);
      else this.person(runs[this.turn % runs.length], person, place);
    });
  }

  // Nothing moves: four runs side by side in the place of one.
  multiples(runs, person, { left, top, wide, high }) {
    runs.forEach((levels, k) => {
      const place = {
        left: left + (k % 2) * (wide / 2), top: top + Math.floor(k / 2) * (high / 2),
        wide: wide / 2, high: high / 2,
      };
      this.person(levels, person, place);
    });
  }

  person(levels, person, place, isTrue = false) {
    const { about } = this;
    const size = about.height * about.width;
    const own = levels.subarray(person * size, (person + 1) * size);
    if (about.kind === "bars") this.bars(own, person, place, isTrue);
    else this.picture(own, place);
  }

  picture(own, { left, top, wide, high }) {
    const { about, sheet, pen } = this;
    const { width, height } = about;
    Object.assign(sheet, { width, height });
    const image = new ImageData(width, height);
    const [red, green, blue] = this.ink;
    own.forEach((level, k) => {
      const colour = about.kind === "ink" ? [red, green, blue, level] : [level, level, level, 255];
      image.data.set(colour, 4 * k);
    });
    sheet.getContext("2d").putImageData(image, 0, 0);
    // Smooth, as ink and photographs are: a numeral of 14 squares across is read with effort.
    pen.imageSmoothingQuality = "high";
    const factor = Math.min(0.96 * wide / width, 0.98 * high / height);
    const [x, y] = [left + (wide - factor * width) / 2, top + (high - factor * height) / 2];
    pen.drawImage(sheet, x, y, factor * width, factor * height);
  }

  // A table's person: a bar a column, and a mark where the value really is.
  bars(own, person, { left, top, wide, high }, isTrue) {
    const { pen } = this;
    const truth = this.truth.subarray(person * own.length, (person + 1) * own.length);
    const step = (high * 0.94) / own.length;
    const reach = wide * 0.86;
    own.forEach((level, k) => {
      const y = top + k * step;
      pen.fillStyle = `rgba(${this.ink}, .1)`;
      pen.fillRect(left, y, reach, step * 0.72);
      pen.fillStyle = `rgba(${this.ink}, ${isTrue ? 0.45 : 0.85})`;
      pen.fillRect(left, y, (reach * level) / 255, step * 0.72);
      pen.fillRect(left + (reach * truth[k]) / 255 - 1, y - step * 0.1, 2, step * 0.92);
    });
  }

  colour() {
    return getComputedStyle(this.canvas).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  }
}

class Explorer {
  constructor(root) {
    const find = (selector) => root.querySelector(selector);
    this.section = find(".explorer");
    this.svg = find(".curve > svg");
    this.find = find;
    this.people = new People(find("canvas"));
    this.frames = new Map(); // by ε
    this.epsilons = []; // all of them, with how each is written
    this.index = 0; // of the one that is shown
    this.data = null; // the latest of what `fill` got
    this.listen();
  }

  // The slider that moves this.
  follow(control) {
    if (this.control === control) return;
    this.control = control;
    control.follow(this);
  }

  listen() {
    const keys = () => [...this.section.querySelectorAll(".legend li")].map((item) => (
      { swatch: item.firstElementChild, label: item.textContent }
    ));
    const told = () => this.svg.getAttribute("aria-label");
    this.find(".pictures").append(
      ...saveButtons(() => "dp-pca-lab-energy", () => [this.svg], told, keys), // of picture.js
    );
    const still = this.find(".still");
    still.addEventListener("click", () => {
      this.people.held = !this.people.held;
      still.setAttribute("aria-pressed", this.people.held);
      still.textContent = this.people.held ? "▶" : "❚❚";
    });
    new ResizeObserver(() => { this.drawCurve(); this.paint(); }).observe(this.svg);
    new ResizeObserver(() => this.people.draw()).observe(this.find("canvas"));
  }

  has(index) {
    return this.frames.has(this.epsilons[index]?.value);
  }

  // Show what this step gave; the number, if there is one.
  step(index) {
    this.index = index;
    // A hand is faster than the screen: steps that no frame would have shown are not drawn.
    this.waiting ??= requestAnimationFrame(() => { this.waiting = undefined; this.paint(); });
    return this.frames.get(this.epsilons[index]?.value)?.number;
  }

  // --- what arrives ----------------------------------------------------------------------------

  fill(data) {
    if (data.setting !== this.data?.setting) this.frames = new Map();
    this.data = data;
    this.epsilons = data.epsilons;
    for (const frame of data.frames) this.frames.set(frame.epsilon, frame);
    // One frame alone does not know how many there are.
    if (data.count !== null) this.find(".count").textContent = data.count;
    for (const round of data.rounds ?? []) this.people.meet(round);
    this.drawLegend();
    this.drawTable();
    this.drawCurve();
    if (this.control) this.control.step(this.control.index);
    else this.paint();
  }

  meet(round) {
    this.people.meet(round);
    this.describe();
  }

  // --- what is drawn once ----------------------------------------------------------------------

  drawLegend() {
    const items = this.data.looks.map((look) => {
      const item = html("li");
      const swatch = make("svg", { width: 34, height: 14 });
      swatch.append(
        make("path", { d: "M0,7H34", ...this.stroke(look) }),
        make("path", { ...drawn(look, 4.5), transform: "translate(17,7)" }),
      );
      item.append(swatch, look.label);
      return item;
    });
    this.find(".legend").replaceChildren(...items);
  }

  stroke(look) {
    const dash = DASHES[look.dash] ?? "none";
    const isLead = look === this.data.looks[0];
    const wide = isLead ? 3.5 : 2;
    return { fill: "none", stroke: look.colour, "stroke-width": wide, "stroke-dasharray": dash };
  }

  drawTable() {
    const head = html("tr");
    head.append(html("th", "ε"), ...this.data.looks.map(({ label }) => html("th", label)));
    const lines = this.sorted().map((frame) => {
      const line = html("tr");
      const label = this.epsilons.find(({ value }) => value === frame.epsilon)?.label;
      const cells = this.data.looks.map(({ key }) => percent(mean(frame.energies[key])));
      line.append(html("th", label), ...cells.map((cell) => html("td", cell)));
      return line;
    });
    this.find("table").replaceChildren(head, ...lines);
  }

  sorted() {
    return [...this.frames.values()].sort((a, b) => a.epsilon - b.epsilon);
  }

  // Where ε and a share lie on the chart, in its pixels. Steps of ε lie as far from one another as
  // the slider has them, so that its thumb stands on the line.
  measured() {
    const { width, height } = this.svg.getBoundingClientRect();
    // Letters are larger on a projector, and what holds them is too.
    const em = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const [left, right, bottom] = [46 * em, width - THUMB / 2, height - 42 * em];
    const box = { left: left + THUMB / 2, right, top: 10 * em, bottom, width, height, em, edge: left };
    const last = Math.max(1, this.epsilons.length - 1);
    const at = new Map(this.epsilons.map(({ value }, k) => [value, k / last]));
    const x = (epsilon) => box.left + at.get(epsilon) * (box.right - box.left);
    const y = (share) => box.bottom - (share / TOP) * (box.bottom - box.top);
    return { ...box, x, y };
  }

  drawCurve() {
    if (!this.data || !this.svg.clientWidth) return;
    const frames = this.sorted();
    const isNamed = this.data.looks.length <= MOST_NAMED && this.svg.clientWidth > NAMED_FROM;
    this.find(".legend").hidden = isNamed || this.data.looks.length < 2;
    this.place = this.measured(); // asked here alone: while one drags nothing is laid out twice
    const { left, right, top, bottom, width, height, x, y, em, edge } = this.place;
    const style = this.section.style;
    const above = this.svg.getBoundingClientRect().top - this.svg.parentElement.getBoundingClientRect().top;
    const plot = { left, wide: right - left, top: above + top, bottom: above + bottom };
    for (const [name, value] of Object.entries(plot)) style.setProperty(`--${name}`, `${value}px`);
    const names = isNamed ? this.names(frames) : [];
    const parts = [];
    const text = (words, at) => parts.push(make("text", at, words));
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      parts.push(make("path", { class: "grid", d: `M${edge},${y(share)}H${width}` }));
      text(percent(share), { x: edge - 6, y: y(share) + 4 * em, "text-anchor": "end" });
    }
    const isWide = right - left > 560 * em; // room for every step of ε
    for (const { value, label } of this.epsilons) {
      const isPower = Number.isInteger(Math.round(1e6 * Math.log10(value)) / 1e6);
      parts.push(make("path", { class: "tick", d: `M${x(value)},${bottom}v${isPower ? 7 : 4}` }));
      if (isPower || isWide) {
        text(label, { x: x(value), y: bottom + 19 * em, "text-anchor": "middle" });
      }
    }
    const foot = bottom + 38 * em;
    text("← more private", { x: left, y: foot, class: "end" });
    text("less private →", { x: right, y: foot, "text-anchor": "end", class: "end" });
    const floor = frames[0]?.floor;
    if (floor !== undefined) {
      parts.push(make("path", { class: "exact", d: `M${edge},${y(1)}H${width}` }));
      parts.push(make("path", { class: "floor", d: `M${edge},${y(floor)}H${width}` }));
      const named = { class: "line", x: edge + 6 };
      text("no privacy at all", { ...named, y: y(1) + 16 * em });
      const told = { class: "line", x: right, y: y(floor) + 16 * em, "text-anchor": "end" };
      text(`random guess ${percent(floor)}`, told);
    }
    for (const look of [...this.data.looks].reverse()) {
      const at = (how) => frames.map((f) => [x(f.epsilon), y(how(f.energies[look.key]))]);
      const band = [
        ...at((runs) => Math.max(...runs)),
        ...at((runs) => Math.min(...runs)).reverse(),
      ];
      const middles = at(mean);
      if (!middles.length) continue;
      parts.push(make("path", { class: "band", fill: look.colour, d: `M${band.join("L")}Z` }));
      parts.push(make("path", { ...this.stroke(look), d: `M${middles.join("L")}` }));
      const isLead = look === this.data.looks[0];
      for (const point of middles) {
        const shape = drawn(look, isLead ? 4.5 : 3);
        parts.push(make("path", { ...shape, transform: `translate(${point})` }));
      }
    }
    this.now = make("g", { class: "now" });
    this.svg.replaceChildren(...parts, this.now, ...names);
    // Paper has another width, and nothing is asked to draw for it: the drawing scales.
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }

  // A few lines are named where they are farthest apart, each on its own side.
  names(frames) {
    const { looks } = this.data;
    if (frames.length < 3) return [];
    const { x, y, em } = this.place;
    const gap = (frame) => {
      const shares = [...looks.map(({ key }) => mean(frame.energies[key])), 1, frame.floor].sort();
      return Math.min(...shares.slice(1).map((share, k) => share - shares[k]));
    };
    const inside = frames.slice(1, -1);
    const widest = inside.reduce((best, frame) => (gap(frame) > gap(best) ? frame : best));
    const shares = looks.map(({ key }) => mean(widest.energies[key]));
    return looks.map(({ label, colour }, k) => {
      const isTop = shares[k] === Math.max(...shares);
      const at = isTop
        ? { x: x(widest.epsilon) - 12 * em, y: y(shares[k]) - 3 * em, "text-anchor": "end" }
        : { x: x(widest.epsilon) + 12 * em, y: y(shares[k]) + 14 * em };
      return make("text", { ...at, class: "name", style: `--own: ${colour}` }, label);
    });
  }

  // --- what follows the hand -------------------------------------------------------------------

  paint() {
    const here = this.epsilons[this.index];
    if (!here) return;
    const frame = this.frames.get(here.value);
    // Frames of what was asked before stay, in grey, until the new ones come.
    const isOld = !frame || (this.control && this.control.setting !== this.data.setting);
    this.section.classList.toggle("stale", isOld && this.frames.size > 0);
    this.section.classList.toggle("empty", this.frames.size === 0);
    if (this.data) this.paintMarker(here.value, frame);
    this.people.step(here.value);
    if (!frame) return;
    for (const [place, name] of [[".number", "number"], [".meaning", "meaning"], [".by > span", "by"]]) {
      this.find(place).textContent = unbroken(frame[name]);
    }
    this.svg.setAttribute("aria-label", frame.alt);
    this.describe(frame);
  }

  describe(frame = this.frames.get(this.epsilons[this.index]?.value)) {
    const { about } = this.people;
    if (!frame || !about) return;
    const who = about.names.join(", ");
    this.find("canvas").setAttribute("aria-label", `${frame.people_alt} They are: ${who}.`);
  }

  paintMarker(epsilon, frame) {
    if (!this.now) return;
    const { top, bottom, x, y } = this.place;
    const parts = [make("path", { d: `M${x(epsilon)},${top}V${bottom}` })];
    for (const look of [...this.data.looks].reverse()) {
      const runs = frame?.energies[look.key] ?? [];
      for (const share of runs) {
        const at = { cx: x(epsilon), cy: y(share), r: 3.5, fill: look.colour, class: "run" };
        parts.push(make("circle", at));
      }
      if (!runs.length) continue;
      const at = `translate(${x(epsilon)},${y(mean(runs))})`;
      const size = look === this.data.looks[0] ? 9 : 6;
      parts.push(make("path", { ...drawn(look, size), class: "mean", transform: at }));
    }
    this.now.replaceChildren(...parts);
  }
}
