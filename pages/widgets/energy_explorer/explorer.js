// What follows the slider while it is dragged: the number, the curve's marker, every draw, the
// eigen-images. All of it was computed elsewhere: a frame is what one ε gave, and moving the slider
// changes which frame is shown. This file knows nothing of who computed them.
//
//   const explorer = new Explorer(element);              // element holds explorer.html
//   explorer.fill({ setting, epsilons, frames, ... });   // frames that are there, as they arrive
//   explorer.follow(control);                            // the slider, of control.js
//
// What is in a frame stands in frames.py. Sentences arrive written; nothing is worded here.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = { dash: "9 5", dot: "2 4", dashdot: "9 4 2 4", longdash: "14 5" };
const TOP = 1.05; // of the vertical axis: 100 % and a little air

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

class Explorer {
  constructor(root) {
    const find = (selector) => root.querySelector(selector);
    this.section = find(".explorer");
    this.svg = find(".curve > svg");
    this.select = find("select");
    this.find = find;
    this.frames = new Map(); // by ε
    this.epsilons = []; // all of them, with how each is written
    this.index = 0; // of the one that is shown
    this.data = null; // the latest of what `fill` got
    this.listen();
  }

  // The slider that moves this. The curve is its second handle.
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
    this.select.addEventListener("change", () => this.paint());
    let held = false;
    const go = (event) => { if (held) this.control.go(this.nearest(event)); };
    this.svg.addEventListener("pointerdown", (event) => {
      held = Boolean(this.control);
      if (held) this.svg.setPointerCapture(event.pointerId);
      go(event);
    });
    this.svg.addEventListener("pointermove", go);
    this.svg.addEventListener("pointerup", () => {
      if (held) this.control.release();
      held = false;
    });
    this.svg.addEventListener("pointercancel", () => { held = false; });
    new ResizeObserver(() => { this.drawCurve(); this.paint(); }).observe(this.svg);
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
    const known = this.data?.exact;
    this.data = data;
    this.epsilons = data.epsilons;
    for (const frame of data.frames) {
      const before = this.frames.get(frame.epsilon);
      if (before?.sprite && before.sprite === frame.sprite) frame.picture = before.picture;
      this.frames.set(frame.epsilon, frame);
      this.decode(frame);
    }
    if (known?.sprite === data.exact.sprite) data.exact.picture = known?.picture;
    this.decode(data.exact);
    this.find(".count").textContent = data.count;
    this.drawLegend();
    this.drawTable();
    this.drawComponents();
    this.drawCurve();
    if (this.control) this.control.step(this.control.index);
    else this.paint();
  }

  // Ready before it is asked for: what is dragged only copies pixels.
  decode(holder) {
    if (!holder.sprite || holder.picture) return;
    const picture = new Image();
    picture.src = `data:image/png;base64,${holder.sprite}`;
    // A bitmap stays decoded; an image may have to be decoded anew in the middle of a drag.
    picture.decode().then(() => createImageBitmap(picture)).then(
      (bitmap) => { holder.picture = bitmap; this.paint(); }, () => {},
    );
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
    return { fill: "none", stroke: look.colour, "stroke-width": 2.5, "stroke-dasharray": dash };
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

  drawComponents() {
    const { exact, lead } = this.data;
    const isBars = !exact.sprite;
    this.section.classList.toggle("bars", isBars);
    const count = exact.loadings?.length ?? 0;
    if (isBars && this.select.options.length !== count) {
      const options = Array.from({ length: count }, (_, k) => new Option(k + 1, k));
      this.select.replaceChildren(...options);
    }
    for (const [name, title] of [["exact", "Exact PCA"], ["private", lead]]) {
      const strip = this.find(`.strip.${name}`);
      const caption = html("figcaption", title);
      const body = isBars ? html("div", "", "loadings") : document.createElement("canvas");
      body.setAttribute("role", "img");
      strip.replaceChildren(caption, body, html("div", "", "cosines"));
    }
  }

  // Where ε and an energy lie on the chart, in its pixels.
  measured() {
    const { width, height } = this.svg.getBoundingClientRect();
    const columns = this.data.looks.length;
    // Letters are larger on a projector, and what holds them is too.
    const em = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const dots = width < 460 * em ? 0 : (22 * columns + 18) * em;
    const [left, right, bottom] = [46 * em, width - dots - 12, height - 40 * em];
    const box = { left, right, top: 8, bottom, width, height, em };
    const [low, high] = [this.epsilons[0].value, this.epsilons.at(-1).value].map(Math.log10);
    const x = (epsilon) =>
      box.left + 8 + ((Math.log10(epsilon) - low) / (high - low)) * (box.right - box.left - 16);
    const y = (share) => box.bottom - (share / TOP) * (box.bottom - box.top);
    return { ...box, dots, x, y };
  }

  nearest(event) {
    const { left } = this.svg.getBoundingClientRect();
    const { x } = this.place;
    const away = this.epsilons.map(({ value }) => Math.abs(x(value) - (event.clientX - left)));
    return away.indexOf(Math.min(...away));
  }

  drawCurve() {
    if (!this.data || !this.svg.clientWidth) return;
    this.place = this.measured(); // asked here alone: while one drags nothing is laid out twice
    const { left, right, top, bottom, width, height, dots, x, y, em } = this.place;
    const frames = this.sorted();
    const parts = [];
    const text = (words, at) => parts.push(make("text", at, words));
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      parts.push(make("path", { class: "grid", d: `M${left},${y(share)}H${width - 4}` }));
      text(percent(share), { x: left - 6, y: y(share) + 4 * em, "text-anchor": "end" });
    }
    for (const { value, label } of this.epsilons) {
      const isPower = Number.isInteger(Math.round(1e6 * Math.log10(value)) / 1e6);
      const length = isPower ? 6 : 3;
      parts.push(make("path", { class: "tick", d: `M${x(value)},${bottom}v${length}` }));
      if (isPower) text(label, { x: x(value), y: bottom + 18 * em, "text-anchor": "middle" });
    }
    const middle = (left + right) / 2;
    const axis = { x: middle, y: bottom + 35 * em, "text-anchor": "middle" };
    text("← more private\u2003asked ε\u2003less private →", axis);
    if (dots) {
      const at = { x: right + 10 + dots / 2, y: bottom + 18 * em, "text-anchor": "middle" };
      text("each draw", at);
    }
    const floor = frames[0]?.floor;
    if (floor !== undefined) {
      parts.push(make("path", { class: "exact", d: `M${left},${y(1)}H${width - 4}` }));
      parts.push(make("path", { class: "floor", d: `M${left},${y(floor)}H${width - 4}` }));
      text("exact PCA", { class: "line", x: left + 6, y: y(1) + 15 * em });
      text("pure chance", { class: "line", x: right, y: y(floor) - 5, "text-anchor": "end" });
    }
    for (const look of this.data.looks) {
      const at = (how) => frames.map((f) => [x(f.epsilon), y(how(f.energies[look.key]))]);
      const band = [
        ...at((draws) => Math.max(...draws)),
        ...at((draws) => Math.min(...draws)).reverse(),
      ];
      const middles = at(mean);
      if (!middles.length) continue;
      parts.push(make("path", { class: "band", fill: look.colour, d: `M${band.join("L")}Z` }));
      parts.push(make("path", { ...this.stroke(look), d: `M${middles.join("L")}` }));
      for (const point of middles) {
        parts.push(make("path", { ...drawn(look, 4), transform: `translate(${point})` }));
      }
    }
    this.now = make("g", { class: "now" });
    this.svg.replaceChildren(...parts, this.now);
    // Paper has another width, and nobody is asked to draw for it: the drawing scales.
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
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
    if (!frame) return;
    for (const name of ["number", "kept", "by", "holds"]) {
      this.find(`.${name}`).textContent = unbroken(frame[name]);
    }
    this.svg.setAttribute("aria-label", frame.alt);
    this.paintStrip("exact", this.data.exact, this.data.exact);
    this.paintStrip("private", this.data.exact, frame);
  }

  paintMarker(epsilon, frame) {
    if (!this.now) return;
    const { top, right, bottom, dots, x, y, em } = this.place;
    const parts = [make("path", { d: `M${x(epsilon)},${top}V${bottom}` })];
    this.data.looks.forEach((look, column) => {
      const draws = frame?.energies[look.key] ?? [];
      const across = dots ? right + (22 + 22 * column) * em + 10 : x(epsilon);
      for (const share of draws) {
        const at = { cx: across, cy: y(share), r: 3.5, fill: look.colour, class: "draw" };
        parts.push(make("circle", at));
      }
      if (!draws.length) return;
      const at = `translate(${across},${y(mean(draws))})`;
      parts.push(make("path", { ...drawn(look, 6.5), class: "mean", transform: at }));
    });
    this.now.replaceChildren(...parts);
  }

  paintStrip(name, exact, holder) {
    const strip = this.find(`.strip.${name}`);
    const body = strip.children[1];
    const shown = holder.picture ?? holder;
    if (!body || (body.shown === shown && !exact.loadings)) return;
    body.shown = shown;
    body.setAttribute("aria-label", holder.picture_alt);
    if (exact.loadings) this.paintLoadings(body, exact, holder);
    else if (holder.picture) this.paintPicture(body, holder.picture);
    else if (holder !== exact) body.style.opacity = 0.3;
    const cosines = holder.cosines.map((cosine) => html("span", cosine));
    strip.children[2].replaceChildren(...(exact.loadings ? [] : cosines));
  }

  paintPicture(canvas, picture) {
    canvas.style.opacity = 1;
    const { width, height } = picture;
    // Even the same size, set again, has the page laid out again.
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, width, height);
    pen.drawImage(picture, 0, 0);
  }

  paintLoadings(body, exact, holder) {
    const component = Number(this.select.value || 0);
    const bars = holder.loadings[component].map((loading, feature) => {
      const line = html("div");
      const bar = html("i");
      bar.style.width = `${50 * Math.abs(loading)}%`;
      bar.style.marginLeft = `${loading < 0 ? 50 - 50 * Math.abs(loading) : 50}%`;
      const track = html("span");
      track.append(bar);
      line.append(html("b", exact.names[component][feature]), track);
      return line;
    });
    body.replaceChildren(...bars);
    if (holder === exact) return;
    const cosine = holder.cosines[component];
    body.parentElement.firstChild.textContent = `${this.data.lead}, |cosine| ${cosine}`;
  }
}
