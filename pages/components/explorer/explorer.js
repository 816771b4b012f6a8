// Headline, pictures and curve that follow the upright line without the server. A frame contains all
// results at one step of the axis; the component's Python module (component.py) computes frames and
// words.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = { dash: "9 5", dot: "2 4", dashdot: "9 4 2 4", longdash: "14 5" };
const MAX_SHARE = 1.06; // of the vertical axis: 100 % and a margin
const THUMB = 44; // width of the slider's thumb in control.css
// Lines are named in the plot up to this number and from this width; others have a legend.
const MAX_NAMED = 4, MIN_NAMED_WIDTH = 620;
const MIN_POINTS = 3; // of a line with a name
const DIM = 0.55; // opacity of the name of a hidden line
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
    this.frames = new Map(); // number of the step -> frame
    this.steps = [];
    this.hidden = new Set(); // lines that the visitor has hidden
    this.index = 0;
    this.data = null; // numbers that arrived last
    this.received = new Set();
    this.values = new Values(this);
    new Saving(this);
    this.firstSteps = new FirstSteps(this);
    new ResizeObserver(() => { this.drawCurve(); this.paint(); }).observe(this.svg);
  }

  follow(control) {
    this.control = control;
    control.follow(this);
  }

  has(index) {
    return this.frames.has(index);
  }

  lowestReadable() {
    const lead = this.data?.lines[0].id;
    const isReadable = (_, at) => {
      const frame = this.frames.get(at);
      return frame && mean(frame.energies[lead]) > frame.floor + READABLE;
    };
    const index = this.steps.findIndex(isReadable);
    return Math.max(0, index - 1);
  }

  // Show the results of one step and return its frame for the slider's text.
  step(index) {
    this.index = index;
    this.paintSoon();
    return this.frames.get(index);
  }

  paintSoon() {
    this.waiting ??= requestAnimationFrame(() => { this.waiting = undefined; this.paint(); });
  }

  receive({ numbers, about, runs }) {
    if (numbers && numbers !== this.data) this.fill(numbers);
    if (about && about.setting === this.data?.setting) this.pictures.meet(about);
    for (const run of runs.values()) {
      if (run.setting !== this.data?.setting || this.received.has(run)) continue;
      this.received.add(run);
      this.pictures.add(run);
    }
    this.paintSoon();
  }

  fill(data) {
    if (data.setting !== this.data?.setting) {
      this.frames = new Map();
      this.received = new Set();
      this.values.hide();
    }
    this.data = data;
    this.steps = data.steps;
    for (const frame of data.frames) this.frames.set(frame.at, frame);
    this.find(".count").textContent = data.count;
    this.drawLegend();
    this.drawCurve();
    if (this.control) this.control.step(this.control.index);
    this.firstSteps.show();
  }

  // ---- drawn when data arrive or the size changes

  drawLegend() {
    const items = this.data.lines.map((look) => {
      const item = html("span");
      this.makeSwitch(item, look);
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

  // The name of a line hides it and shows it again.
  makeSwitch(name, { id, label }) {
    const isHidden = this.hidden.has(id);
    for (const [key, value] of Object.entries({
      role: "button", tabindex: 0, "aria-pressed": !isHidden,
      "aria-label": `${isHidden ? "Show" : "Hide"} ${label}`,
    })) name.setAttribute(key, value);
    name.style.opacity = isHidden ? DIM : 1;
    name.style.textDecoration = isHidden ? "line-through" : "none";
    const change = () => {
      if (!this.hidden.delete(id)) this.hidden.add(id);
      this.drawLegend();
      this.drawCurve();
      this.paint();
    };
    name.addEventListener("click", change);
    name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      change();
    });
  }

  visibleLines() {
    return this.data.lines.filter(({ id }) => !this.hidden.has(id));
  }

  stroke(look) {
    const isLead = look === this.data.lines[0];
    return {
      fill: "none", stroke: look.colour, "stroke-width": look.thin ? 1.25 : isLead ? 3.5 : 2,
      "stroke-dasharray": DASHES[look.dash] ?? "none",
    };
  }

  sorted() {
    return [...this.frames.values()].sort((a, b) => a.at - b.at);
  }

  // Position of a step and of a share in the plot. Steps are as far apart as the slider's.
  measure() {
    const { width, height } = this.svg.getBoundingClientRect();
    const em = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const [left, right, bottom] = [46 * em, width - THUMB / 2, height - 30 * em];
    const box = { left: left + THUMB / 2, right, top: 6 * em, bottom, width, height, em, edge: left };
    const last = Math.max(1, this.steps.length - 1);
    const x = (at) => box.left + (at / last) * (box.right - box.left);
    const y = (share) => box.bottom - (share / MAX_SHARE) * (box.bottom - box.top);
    return { ...box, x, y };
  }

  drawCurve() {
    if (!this.data || !this.svg.clientWidth) return;
    const frames = this.sorted();
    const isNamed = this.data.lines.length <= MAX_NAMED && this.svg.clientWidth > MIN_NAMED_WIDTH;
    this.find(".legend").hidden = isNamed || this.data.lines.length < 2;
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
    this.steps.forEach((step, at) => {
      parts.push(make("path", { class: "tick", d: `M${x(at)},${bottom}v${step.major ? 7 : 4}` }));
      if (step.major || isWide) {
        const label = this.frames.get(at)?.label ?? step.label;
        text(label, { x: x(at), y: bottom + 21 * em, "text-anchor": "middle" });
      }
    });
    if (frames.length) this.drawReferences(frames, parts);
    for (const look of this.visibleLines().reverse()) this.drawLine(look, frames, parts);
    this.now = make("g", { class: "now" });
    this.svg.replaceChildren(...parts, this.now);
    this.find(".line-names").replaceChildren(...(isNamed ? this.names(frames) : []));
    Object.assign(this.find(".line-names").style, { width: `${width}px`, height: `${height}px` });
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  }

  drawReferences(frames, parts) {
    const { right, width, y, em, edge } = this.place;
    parts.push(make("path", { class: "exact-line", d: `M${edge},${y(1)}H${width}` }));
    const exact = make("text", { class: "reference", y: y(1) - 4 * em }, "exact PCA");
    const floor = make("text", { class: "reference" }, this.data.floorLabel);
    parts.push(exact);
    if (frames.length) {
      const { x } = this.place;
      const points = frames.map(({ at, floor: share }) => `${x(at)},${y(share)}`);
      const ends = [y(frames[0].floor), y(frames.at(-1).floor)];
      const d = `M${[`${edge},${ends[0]}`, ...points, `${width},${ends[1]}`].join("L")}`;
      parts.push(make("path", { class: "floor-line", d }), floor);
      floor.setAttribute("y", ends[1] - 5 * em);
      floor.setAttribute("text-anchor", "end");
    }
    // The names are at the free ends of their lines, and leave the end that the slider is at.
    this.placeNames = (position) => {
      const isLeft = position < edge + 90 * em, isRight = position > right - 95 * em;
      exact.setAttribute("x", isLeft ? position + 8 * em : edge + 6);
      floor.setAttribute("x", isRight ? position - 8 * em : right);
    };
  }

  drawLine(look, frames, parts) {
    const { x, y } = this.place;
    const known = frames.filter((frame) => frame.energies[look.id]?.length);
    if (!known.length) return;
    const at = (reduce) => known.map((f) => [x(f.at), y(reduce(f.energies[look.id]))]);
    const band = [
      ...at((runs) => Math.max(...runs)),
      ...at((runs) => Math.min(...runs)).reverse(),
    ];
    const middles = at(mean);
    if (!look.thin) {
      parts.push(make("path", { class: "band", fill: look.colour, d: `M${band.join("L")}Z` }));
    }
    parts.push(make("path", { ...this.stroke(look), "data-line": look.id, d: `M${middles.join("L")}` }));
    if (look.thin) return;
    const isLead = look === this.data.lines[0];
    for (const point of middles) {
      const shape = markerOf(look, isLead ? 4.5 : 3);
      parts.push(make("path", { ...shape, transform: `translate(${point})` }));
    }
  }

  // Labels of up to four lines, each next to its line where it covers the least of other lines.
  names(frames) {
    const isKnown = (frame, { id }) => frame.energies[id]?.length;
    const lines = this.data.lines
      .filter((line) => frames.filter((frame) => isKnown(frame, line)).length >= MIN_POINTS);
    const whole = frames.filter((frame) => lines.every((line) => isKnown(frame, line)));
    if (!whole.length) return [];
    const { x, y } = this.place;
    const paths = lines.map(({ id }) => whole.map((f) => [x(f.at), y(mean(f.energies[id]))]));
    const levels = [y(1), y(whole[0].floor)];
    const boxes = [];
    return lines.map((line, k) => {
      const places = paths[k].flatMap(([px, py]) => this.placesAt(line, px, py));
      const cost = (box) => this.covered(box, paths, levels, boxes);
      const best = places.reduce((least, box) => (cost(box) < cost(least) ? box : least));
      boxes.push(best);
      const at = { x: best.left, y: best.bottom - 3 };
      const name = make("text", { ...at, class: "name", style: `--own: ${line.colour}` }, line.label);
      this.makeSwitch(name, line);
      return name;
    });
  }

  // Boxes at the four corners of a point.
  placesAt({ label }, px, py) {
    const { em, edge, width, top, bottom } = this.place;
    const [wide, high] = [7.6 * em * label.length, 15 * em];
    const boxes = [
      { left: px - 10 * em - wide, top: py - high - 2 * em },
      { left: px + 12 * em, top: py + 3 * em },
      { left: px + 10 * em, top: py - high - 2 * em },
      { left: px - 12 * em - wide, top: py + 3 * em },
    ].map((box) => ({ ...box, right: box.left + wide, bottom: box.top + high }));
    return boxes.map((box) => ({
      ...box,
      isOutside: box.left < edge || box.right > width || box.top < top || box.bottom > bottom,
    }));
  }

  covered(box, paths, levels, boxes) {
    const isIn = (px, py, room) =>
      px > box.left - room && px < box.right + room && py > box.top - room && py < box.bottom + room;
    const step = 5;
    let sum = box.isOutside ? 1000 : 0;
    for (const level of levels) if (level > box.top - 4 && level < box.bottom + 4) sum += 60;
    for (const other of boxes) {
      const isApart = other.right < box.left || other.left > box.right
        || other.bottom < box.top || other.top > box.bottom;
      if (!isApart) sum += 200;
    }
    for (const path of paths) {
      for (let k = 1; k < path.length; k += 1) {
        const [[ax, ay], [bx, by]] = [path[k - 1], path[k]];
        const n = Math.ceil(Math.hypot(bx - ax, by - ay) / step);
        for (let i = 0; i <= n; i += 1) {
          const [px, py] = [ax + ((bx - ax) * i) / n, ay + ((by - ay) * i) / n];
          if (isIn(px, py, 0)) sum += 10;
          else if (isIn(px, py, 8)) sum += 1;
        }
      }
    }
    return sum;
  }

  // ---- drawn at each step of the slider

  paint() {
    if (!this.steps[this.index]) return;
    const frame = this.frames.get(this.index);
    // Results of the previous setting stay visible in grey until new ones arrive.
    const isOld = !frame || (this.control && this.control.setting !== this.data.setting);
    this.section.classList.toggle("stale", isOld && this.frames.size > 0);
    this.section.classList.toggle("empty", this.frames.size === 0);
    this.paintMarker(this.index, frame);
    if (!frame) return;
    this.pictures.step(this.index);
    this.find(".where").textContent = unbroken(frame.where);
    this.find(".number").textContent = unbroken(frame.number);
    this.find(".other").textContent = frame.other ? unbroken(` · ${frame.other}`) : "";
    this.find(".range").textContent = unbroken(frame.range);
    this.find(".floor-text").textContent = unbroken(frame.floorText);
    this.svg.setAttribute("aria-label", frame.alt);
  }

  paintMarker(step, frame) {
    if (!this.now) return;
    const { top, bottom, x, y } = this.place;
    const parts = [make("path", { d: `M${x(step)},${top}V${bottom}` })];
    this.placeNames?.(x(step));
    for (const look of this.visibleLines().reverse()) {
      const runs = frame?.energies[look.id] ?? [];
      for (const share of look.thin ? [] : runs) {
        const at = { cx: x(step), cy: y(share), r: 3.5, fill: look.colour, class: "run" };
        parts.push(make("circle", at));
      }
      if (!runs.length) continue;
      const at = `translate(${x(step)},${y(mean(runs))})`;
      const size = look.thin ? 4 : look === this.data.lines[0] ? 9 : 6;
      parts.push(make("path", { ...markerOf(look, size), class: "mean", transform: at }));
    }
    this.now.replaceChildren(...parts);
  }
}
