// Two rows of small canvases: exact results above private ones. Rebuilt rows change from run to run
// eight times a second; components show the first run.

const RUN_MS = 125;
const BAR_HEIGHT = 13, BAR_STEP = 16; // pixels of a canvas for one column of a table

function decode(base64) {
  const text = atob(base64);
  const levels = new Uint8Array(text.length);
  for (let k = 0; k < text.length; k += 1) levels[k] = text.charCodeAt(k);
  return levels;
}

function html(name, text = "", className = "") {
  const element = document.createElement(name);
  element.textContent = text;
  element.className = className;
  return element;
}

// Numbers of a CSS colour, which browsers report as rgb(), rgba() or color(srgb …).
function channels(colour) {
  const numbers = colour.match(/[\d.]+/g).slice(0, 3).map(Number);
  return colour.startsWith("color(") ? numbers.map((share) => 255 * share) : numbers;
}

const NEGATIVE = [0, 114, 178], POSITIVE = [213, 94, 0];

class Pictures {
  constructor(root) {
    this.root = root;
    this.rows = root.querySelector(".block.rows");
    this.components = root.querySelector(".block.components");
    this.runs = new Map(); // run -> step -> { rows, components, cosines }
    this.turn = 0;
    this.isPaused = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const button = root.querySelector(".still");
    const label = () => {
      button.setAttribute("aria-pressed", this.isPaused);
      button.textContent = this.isPaused ? "▶ Runs" : "❚❚ Pause";
    };
    label();
    button.addEventListener("click", () => { this.isPaused = !this.isPaused; label(); });
    this.visible = new IntersectionObserver(([entry]) => {
      clearInterval(this.timer);
      if (entry.isIntersecting && this.root.isConnected) this.timer = setInterval(() => this.tick(), RUN_MS);
    });
    this.visible.observe(root);
  }

  stop() {
    this.visible.disconnect();
    clearInterval(this.timer);
  }

  // Exact pictures of a setting: kind, height, width, names, columns, rows, components.
  meet(about) {
    if (about === this.about) return;
    if (about.setting !== this.setting) [this.runs, this.setting] = [new Map(), about.setting];
    this.about = about;
    this.exact = { rows: decode(about.rows), components: decode(about.components) };
    this.build();
  }

  // Private pictures of one run at several steps. The explorer draws them with its next frame.
  add({ setting, run, steps, rows, components, cosines }) {
    if (setting !== this.setting) [this.runs, this.setting] = [new Map(), setting];
    const known = this.runs.get(run) ?? new Map();
    const [allRows, allComponents] = [decode(rows), decode(components)];
    const sizes = [allRows, allComponents].map((all) => all.length / steps.length);
    steps.forEach((at, k) => known.set(at, {
      rows: allRows.subarray(k * sizes[0], (k + 1) * sizes[0]),
      components: allComponents.subarray(k * sizes[1], (k + 1) * sizes[1]),
      cosines: cosines[k],
    }));
    this.runs.set(run, known);
  }

  step(at) {
    this.at = at;
    this.draw();
  }

  tick() {
    if (this.isPaused || document.hidden || !this.about) return;
    this.turn += 1;
    const results = this.results();
    if (results.length > 1) this.drawRows(results[this.turn % results.length]);
  }

  results() {
    return [...this.runs.entries()].sort(([a], [b]) => a - b)
      .map(([, known]) => known.get(this.at)).filter(Boolean);
  }

  build() {
    const { about } = this;
    this.root.classList.toggle("table", about.kind === "bars");
    this.root.style.setProperty("--bars", about.columns.length);
    this.fill(this.rows, about.captions[0], about.names, about.kind === "bars");
    const ranks = about.ranks.map((rank) => `component ${rank}`);
    this.fill(this.components, about.captions[1], ranks, about.kind === "bars");
  }

  fill(block, caption, names, isTable) {
    block.querySelector(".caption").textContent = caption;
    const tiles = block.querySelector(".tiles");
    tiles.style.setProperty("--columns", names.length);
    const lines = ["exact", "private"].map((kind) => {
      const line = html("div", "", `line ${kind}`);
      if (isTable) {
        const list = html("div", "", "names");
        list.append(...this.about.columns.map((name) => {
          const label = html("span");
          // Names that are cut keep their end, in which similar names differ.
          label.append(html("bdi", name));
          label.title = name;
          return label;
        }));
        line.append(list);
      }
      line.append(...names.map((name) => {
        const canvas = document.createElement("canvas");
        canvas.setAttribute("role", "img");
        canvas.setAttribute("aria-label", `${name}, ${kind}`);
        return canvas;
      }));
      return line;
    });
    const foot = html("div", "", "line foot");
    if (isTable) foot.append(html("div", "", "names"));
    const isComponents = block === this.components;
    foot.append(...names.map((name) => html("span", isComponents || !isTable ? "" : name)));
    tiles.replaceChildren(...lines, foot);
  }

  draw() {
    const { about } = this;
    if (!about) return;
    const style = getComputedStyle(this.root);
    if (!style.color) return; // removed from the page
    this.ink = channels(style.color);
    if (this.drawnExact !== about || this.drawnInk !== style.color) {
      [this.drawnExact, this.drawnInk] = [about, style.color];
      this.paintLine(this.rows, "exact", this.exact.rows, false);
      this.paintLine(this.components, "exact", this.exact.components, true);
    }
    const results = this.results();
    if (!results.length) return;
    this.drawRows(results[this.turn % results.length]);
    this.paintLine(this.components, "private", results[0].components, true);
    const cosines = this.components.querySelectorAll(".foot span");
    const tiles = this.components.querySelectorAll(".private canvas");
    results[0].cosines.forEach((cosine, k) => {
      const text = cosine === null ? "" : cosine.toFixed(2);
      if (!cosines[k] || cosines[k].textContent === text) return;
      cosines[k].textContent = text;
      cosines[k].title = `|cosine| between component ${k + 1} and the exact one`;
      tiles[k].setAttribute("aria-label", `component ${k + 1}, private, |cosine| ${text}`);
    });
  }

  drawRows(result) {
    this.paintLine(this.rows, "private", result.rows, false);
  }

  paintLine(block, kind, levels, isSigned) {
    const canvases = block.querySelectorAll(`.${kind} canvas`);
    const size = levels.length / canvases.length;
    canvases.forEach((canvas, k) => {
      const own = levels.subarray(k * size, (k + 1) * size);
      if (this.about.kind === "bars") this.paintBars(canvas, own, isSigned);
      else this.paintPicture(canvas, own, isSigned);
    });
  }

  paintPicture(canvas, levels, isSigned) {
    const { width, height, kind } = this.about;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const image = new ImageData(width, height);
    const { data } = image;
    const [red, green, blue] = this.ink;
    levels.forEach((level, k) => {
      const at = 4 * k;
      if (isSigned) {
        const [r, g, b] = level < 128 ? NEGATIVE : POSITIVE;
        data[at] = r; data[at + 1] = g; data[at + 2] = b;
        data[at + 3] = Math.min(255, 2 * Math.abs(level - 128));
      } else if (kind === "ink") {
        data[at] = red; data[at + 1] = green; data[at + 2] = blue; data[at + 3] = level;
      } else {
        data[at] = data[at + 1] = data[at + 2] = level; data[at + 3] = 255;
      }
    });
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  // One horizontal bar for each named column.
  paintBars(canvas, levels, isSigned) {
    const [width, height] = [120, BAR_STEP * levels.length];
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const pen = canvas.getContext("2d");
    pen.clearRect(0, 0, width, height);
    levels.forEach((level, k) => {
      const y = k * BAR_STEP + (BAR_STEP - BAR_HEIGHT) / 2;
      pen.fillStyle = `rgba(${this.ink}, .1)`;
      pen.fillRect(0, y, width, BAR_HEIGHT);
      if (isSigned) {
        pen.fillStyle = `rgb(${level < 128 ? NEGATIVE : POSITIVE})`;
        const long = ((level - 128) / 127) * (width / 2);
        pen.fillRect(width / 2 + Math.min(0, long), y, Math.abs(long), BAR_HEIGHT);
      } else {
        pen.fillStyle = `rgba(${this.ink}, .8)`;
        pen.fillRect(0, y, (width * level) / 255, BAR_HEIGHT);
      }
    });
  }
}
