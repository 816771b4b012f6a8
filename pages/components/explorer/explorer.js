// Headline, pictures and curve that follow the slider of ε without the server. A frame contains all
// results at one ε; the component's Python module (component.py) computes frames and words.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = { dash: "9 5", dot: "2 4", dashdot: "9 4 2 4", longdash: "14 5" };
const MAX_SHARE = 1.06; // of the vertical axis: 100 % and a margin
const THUMB = 44; // width of the slider's thumb in control.css
// Lines are named in the plot up to this number and from this width; others have a legend.
const MAX_NAMED = 4, MIN_NAMED_WIDTH = 620;
const READABLE = 0.1; // captured energy above the floor from which pictures can be read

const percent = (share) => `${Math.round(100 * share)} %`;
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const unbroken = (text) => text.replaceAll(" %", "\u00a0%").replaceAll("ε = ", "ε\u00a0=\u00a0");

function make(name, attributes = {}, text = "") {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

// SVG path of a marker around (0, 0); symbols have Plotly's names.
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

function markerOf(look, r) {
  const isOpen = look.symbol.endsWith("-open");
  return { d: marker(look.symbol, r), fill: isOpen ? "none" : look.colour, stroke: look.colour };
}

class Explorer {
  constructor(root) {
    this.find = (selector) => root.querySelector(selector);
    this.section = this.find(".explorer");
    this.svg = this.find(".curve > svg");
    this.pictures = new Pictures(this.section);
    this.frames = new Map(); // ε -> frame
    this.epsilons = [];
    this.index = 0;
    this.data = null; // numbers that arrived last
    this.received = new Set();
    new ResizeObserver(() => { this.drawCurve(); this.paint(); }).observe(this.svg);
  }

  follow(control) {
    this.control = control;
    control.follow(this);
  }

  has(index) {
    return this.frames.has(this.epsilons[index]?.value);
  }

  lowestReadable() {
    const lead = this.data?.looks[0].key;
    const isReadable = ({ value }) => {
      const frame = this.frames.get(value);
      return frame && mean(frame.energies[lead]) > frame.floor + READABLE;
    };
    const index = this.epsilons.findIndex(isReadable);
    return Math.max(0, index - 1);
  }

  // Show the results of one step and return its number for the slider's text.
  step(index) {
    this.index = index;
    this.waiting ??= requestAnimationFrame(() => { this.waiting = undefined; this.paint(); });
    return this.frames.get(this.epsilons[index]?.value)?.number;
  }

  receive({ numbers, about, runs }) {
    if (numbers && numbers !== this.data) this.fill(numbers);
    if (about && about.setting === this.data?.setting) this.pictures.meet(about);
    for (const run of runs.values()) {
      if (run.setting !== this.data?.setting || this.received.has(run)) continue;
      this.received.add(run);
      this.pictures.add(run);
    }
  }

  fill(data) {
    if (data.setting !== this.data?.setting) {
      this.frames = new Map();
      this.received = new Set();
    }
    this.data = data;
    this.epsilons = data.epsilons;
    for (const frame of data.frames) this.frames.set(frame.epsilon, frame);
    this.find(".count").textContent = data.count;
    this.drawLegend();
    this.drawCurve();
    if (this.control) this.control.step(this.control.index);
  }

  // ---- drawn when data arrive or the size changes

  drawLegend() {
    const items = this.data.looks.map((look) => {
      const item = html("li");
      const swatch = make("svg", { width: 34, height: 14 });
      swatch.append(
        make("path", { d: "M0,7H34", ...this.stroke(look) }),
        make("path", { ...markerOf(look, 4.5), transform: "translate(17,7)" }),
      );
      item.append(swatch, look.label);
      return item;
    });
    this.find(".legend").replaceChildren(...items);
  }

  stroke(look) {
    const isLead = look === this.data.looks[0];
    return {
      fill: "none", stroke: look.colour, "stroke-width": isLead ? 3.5 : 2,
      "stroke-dasharray": DASHES[look.dash] ?? "none",
    };
  }

  sorted() {
    return [...this.frames.values()].sort((a, b) => a.epsilon - b.epsilon);
  }

  // Position of ε and of a share in the plot. Steps of ε are as far apart as the slider's.
  measure() {
    const { width, height } = this.svg.getBoundingClientRect();
    const em = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const [left, right, bottom] = [46 * em, width - THUMB / 2, height - 30 * em];
    const box = { left: left + THUMB / 2, right, top: 6 * em, bottom, width, height, em, edge: left };
    const last = Math.max(1, this.epsilons.length - 1);
    const at = new Map(this.epsilons.map(({ value }, k) => [value, k / last]));
    const x = (epsilon) => box.left + at.get(epsilon) * (box.right - box.left);
    const y = (share) => box.bottom - (share / MAX_SHARE) * (box.bottom - box.top);
    return { ...box, x, y };
  }

  drawCurve() {
    if (!this.data || !this.svg.clientWidth) return;
    const frames = this.sorted();
    const isNamed = this.data.looks.length <= MAX_NAMED && this.svg.clientWidth > MIN_NAMED_WIDTH;
    this.find(".legend").hidden = isNamed || this.data.looks.length < 2;
    this.place = this.measure();
    const { left, right, top, bottom, width, height, x, y, em, edge } = this.place;
    const offset =
      this.svg.getBoundingClientRect().top - this.svg.parentElement.getBoundingClientRect().top;
    const plot = { left, wide: right - left, top: offset + top, bottom: offset + bottom };
    for (const [name, value] of Object.entries(plot)) {
      this.section.style.setProperty(`--${name}`, `${value}px`);
    }
    const parts = [];
    const text = (words, at) => parts.push(make("text", at, words));
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      parts.push(make("path", { class: "grid", d: `M${edge},${y(share)}H${width}` }));
      text(percent(share), { x: edge - 6, y: y(share) + 4 * em, "text-anchor": "end" });
    }
    const isWide = right - left > 560 * em; // room for a label at every step
    for (const { value, label } of this.epsilons) {
      const isPower = Number.isInteger(Math.round(1e6 * Math.log10(value)) / 1e6);
      parts.push(make("path", { class: "tick", d: `M${x(value)},${bottom}v${isPower ? 7 : 4}` }));
      if (isPower || isWide) {
        text(label, { x: x(value), y: bottom + 21 * em, "text-anchor": "middle" });
      }
    }
    if (frames.length) this.drawReferences(frames, parts);
    for (const look of [...this.data.looks].reverse()) this.drawLine(look, frames, parts);
    this.now = make("g", { class: "now" });
    this.svg.replaceChildren(...parts, this.now, ...(isNamed ? this.names(frames) : []));
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }

  drawReferences(frames, parts) {
    const { right, width, y, em, edge } = this.place;
    parts.push(make("path", { class: "exact-line", d: `M${edge},${y(1)}H${width}` }));
    const exact = make("text", { class: "reference", y: y(1) + 14 * em }, "exact PCA");
    const floor = make("text", { class: "reference" }, "without any data");
    parts.push(exact);
    if (frames.length) {
      const level = y(frames[0].floor);
      parts.push(make("path", { class: "floor-line", d: `M${edge},${level}H${width}` }), floor);
      floor.setAttribute("y", level - 5 * em);
      floor.setAttribute("text-anchor", "end");
    }
    // The names are at the free ends of their lines, and leave the end that the slider is at.
    this.placeNames = (position) => {
      const isLeft = position < edge + 90 * em, isRight = position > right - 110 * em;
      exact.setAttribute("x", isLeft ? position + 8 * em : edge + 6);
      floor.setAttribute("x", isRight ? position - 8 * em : right);
    };
  }

  drawLine(look, frames, parts) {
    const { x, y } = this.place;
    const known = frames.filter((frame) => frame.energies[look.key]?.length);
    if (!known.length) return;
    const at = (reduce) => known.map((f) => [x(f.epsilon), y(reduce(f.energies[look.key]))]);
    const band = [
      ...at((runs) => Math.max(...runs)),
      ...at((runs) => Math.min(...runs)).reverse(),
    ];
    const middles = at(mean);
    parts.push(make("path", { class: "band", fill: look.colour, d: `M${band.join("L")}Z` }));
    parts.push(make("path", { ...this.stroke(look), d: `M${middles.join("L")}` }));
    const isLead = look === this.data.looks[0];
    for (const point of middles) {
      const shape = markerOf(look, isLead ? 4.5 : 3);
      parts.push(make("path", { ...shape, transform: `translate(${point})` }));
    }
  }

  // Labels of up to four lines, at the ε where the lines are farthest apart.
  names(frames) {
    const { looks } = this.data;
    const whole = frames.filter((frame) => looks.every(({ key }) => frame.energies[key]?.length));
    if (whole.length < 3) return [];
    const { x, y, em } = this.place;
    const gap = (frame) => {
      const shares = [...looks.map(({ key }) => mean(frame.energies[key])), 1];
      shares.push(frame.floor);
      shares.sort((a, b) => a - b);
      return Math.min(...shares.slice(1).map((share, k) => share - shares[k]));
    };
    const widest = whole.slice(1, -1).reduce((best, each) => (gap(each) > gap(best) ? each : best));
    const shares = looks.map(({ key }) => mean(widest.energies[key]));
    return looks.map(({ label, colour }, k) => {
      const isTop = shares[k] === Math.max(...shares);
      const at = isTop
        ? { x: x(widest.epsilon) - 12 * em, y: y(shares[k]) - 3 * em, "text-anchor": "end" }
        : { x: x(widest.epsilon) + 12 * em, y: y(shares[k]) + 14 * em };
      return make("text", { ...at, class: "name", style: `--own: ${colour}` }, label);
    });
  }

  // ---- drawn at each step of the slider

  paint() {
    const here = this.epsilons[this.index];
    if (!here) return;
    const frame = this.frames.get(here.value);
    // Results of the previous setting stay visible in grey until new ones arrive.
    const isOld = !frame || (this.control && this.control.setting !== this.data.setting);
    this.section.classList.toggle("stale", isOld && this.frames.size > 0);
    this.section.classList.toggle("empty", this.frames.size === 0);
    this.paintMarker(here.value, frame);
    if (!frame) return;
    this.pictures.step(here.value);
    this.find(".epsilon").textContent = here.label;
    this.find(".number").textContent = unbroken(frame.number);
    this.find(".range").textContent = unbroken(frame.range);
    this.find(".floor-text").textContent = unbroken(frame.floorText);
    this.svg.setAttribute("aria-label", frame.alt);
  }

  paintMarker(epsilon, frame) {
    if (!this.now) return;
    const { top, bottom, x, y } = this.place;
    const parts = [make("path", { d: `M${x(epsilon)},${top}V${bottom}` })];
    this.placeNames?.(x(epsilon));
    for (const look of [...this.data.looks].reverse()) {
      const runs = frame?.energies[look.key] ?? [];
      for (const share of runs) {
        const at = { cx: x(epsilon), cy: y(share), r: 3.5, fill: look.colour, class: "run" };
        parts.push(make("circle", at));
      }
      if (!runs.length) continue;
      const at = `translate(${x(epsilon)},${y(mean(runs))})`;
      const size = look === this.data.looks[0] ? 9 : 6;
      parts.push(make("path", { ...markerOf(look, size), class: "mean", transform: at }));
    }
    this.now.replaceChildren(...parts);
  }
}
