// A digit drawn by hand becomes person 10,001. The server computes what results show of it. The game
// of ten rounds needs no server.
const WIDTH = 14, BOX = 10, BOARD = 280, PEN = 22, PER_GAME = 10;
const PAUSE_MS = 700, BLINK_MS = 700, FILL_MS = 12;
const game = { key: "", guesses: [] };
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

// Scale the drawing as in MNIST: its box becomes 10 x 10, its centre of mass is in the middle.
const scaled = (board) => {
  const ink = board.getContext("2d").getImageData(0, 0, BOARD, BOARD).data;
  let left = BOARD, right = -1, top = BOARD, bottom = -1, mass = 0, across = 0, down = 0;
  for (let y = 0; y < BOARD; y++) for (let x = 0; x < BOARD; x++) {
    const here = ink[4 * (y * BOARD + x) + 3];
    if (!here) continue;
    left = Math.min(left, x); right = Math.max(right, x);
    top = Math.min(top, y); bottom = Math.max(bottom, y);
    mass += here; across += here * (x + 0.5); down += here * (y + 0.5);
  }
  if (right < 0) return null;
  const scale = BOX / Math.max(right - left + 1, bottom - top + 1);
  const small = document.createElement("canvas");
  small.width = small.height = WIDTH;
  const pen = small.getContext("2d", { willReadFrequently: true });
  pen.imageSmoothingQuality = "high";
  pen.setTransform(scale, 0, 0, scale, WIDTH / 2 - scale * across / mass, WIDTH / 2 - scale * down / mass);
  pen.drawImage(board, 0, 0);
  const values = pen.getImageData(0, 0, WIDTH, WIDTH).data;
  return Array.from({ length: WIDTH ** 2 }, (_, n) => Math.round(values[4 * n + 3] / 2.55) / 100);
};

class Drawing {
  constructor(root) {
    this.find = (selector) => root.querySelector(selector);
    this.root = root;
    this.board = this.find(".board");
    this.pen = this.board.getContext("2d", { willReadFrequently: true });
    this.board.addEventListener("pointerdown", (event) => this.begin(event));
    this.board.addEventListener("pointermove", (event) => this.go(event));
    for (const name of ["pointerup", "pointercancel"]) this.board.addEventListener(name, () => this.lift());
    this.find(".clear").addEventListener("click", () => this.clean());
    this.find(".with").addEventListener("click", () => this.guess(true));
    this.find(".without").addEventListener("click", () => this.guess(false));
    this.find(".fill").addEventListener("click", () => this.fill());
    this.find(".again").addEventListener("click", () => this.sit(null));
    this.find(".swap").addEventListener("click", () => { this.blink(false); this.turn(); });
    this.find(".stop").addEventListener("click", () => this.blink(!this.blinker));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());
    STILL.addEventListener("change", () => this.blink(!STILL.matches));
  }

  at(event) {
    const { left, top, width } = this.board.getBoundingClientRect();
    return [(event.clientX - left) * BOARD / width, (event.clientY - top) * BOARD / width];
  }

  begin(event) {
    this.board.setPointerCapture(event.pointerId);
    clearTimeout(this.pause);
    if (!this.isOwn) this.clean();
    this.isOwn = true;
    this.last = this.at(event);
    this.go(event);
  }

  go(event) {
    if (!this.last) return;
    const here = this.at(event);
    Object.assign(this.pen, { lineWidth: PEN, lineCap: "round", lineJoin: "round", strokeStyle: this.ink() });
    this.pen.beginPath();
    this.pen.moveTo(...this.last);
    this.pen.lineTo(...here);
    this.pen.stroke();
    this.last = here;
  }

  // Send the drawing after a pause, because a digit may have several strokes.
  lift() {
    this.last = null;
    clearTimeout(this.pause);
    this.pause = setTimeout(() => { const ink = scaled(this.board); if (ink) this.sit({ ink }); }, PAUSE_MS);
  }

  clean() {
    clearTimeout(this.pause);
    this.pen.clearRect(0, 0, BOARD, BOARD);
    this.isOwn = true;
    // The results belong to the previous drawing.
    this.find("canvas.exact").getContext("2d").clearRect(0, 0, WIDTH, WIDTH);
    this.find(".suspects").replaceChildren();
    for (const name of ["exact", "suspects"]) {
      this.find(`.${name}`).setAttribute("aria-label", "Empty until you draw a digit");
      this.find(`.${name} + figcaption span`).textContent = "";
    }
    this.find(".examples [aria-pressed=true]")?.setAttribute("aria-pressed", "false");
    this.find(".text").hidden = false;
    this.find(".text").textContent = "Draw a digit on the empty sheet.";
    this.find(".rounds").hidden = true;
    this.data = null;
  }

  ink() { return getComputedStyle(this.find(".seated")).color; }

  // Draw positive values as ink and negative values in blue, relative to the largest.
  picture(canvas, values, most = Math.max(...values.map(Math.abs))) {
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(WIDTH, WIDTH);
    const shade = (colour) => colour.match(/[\d.]+/g).slice(0, 3).map(Number);
    const above = shade(this.ink()), below = shade(getComputedStyle(this.find(".without")).borderTopColor);
    values.forEach((value, n) => {
      const strength = Math.min(1, Math.abs(value) / (most || 1));
      image.data.set([...(value < 0 ? below : above), 255 * strength], 4 * n);
    });
    pen.putImageData(image, 0, 0);
  }

  show(data) {
    if (this.data?.key === data.key) return;
    this.data = data;
    this.find(".rounds").hidden = false;
    // The guesses are kept outside of the element, which Streamlit may create anew.
    if (game.key !== data.key) Object.assign(game, { key: data.key, guesses: [] });
    this.guesses = game.guesses;
    this.verdict = "";
    clearInterval(this.filling);
    this.find(".examples").replaceChildren(...data.examples.map((name) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.setAttribute("aria-label", `Take a drawn ${name}`);
      button.setAttribute("aria-pressed", String(name === data.example));
      button.addEventListener("click", () => { this.isOwn = false; this.sit({ example: name }); });
      return button;
    }));
    this.isOwn = data.example === "";
    this.find(".text").hidden = true;
    this.find(".seat").textContent = data.seat;
    for (const [name, part] of [["exact", data.exact], ["suspects", data.private]]) {
      this.find(`.${name}`).setAttribute("aria-label", part.alt);
      this.find(`.${name} + figcaption span`).textContent = part.caption;
    }
    this.find(".suspects").replaceChildren(...data.private.beliefs.map((belief, n) => {
      const suspect = document.createElement("div");
      suspect.className = n ? "" : "you";
      const canvas = Object.assign(document.createElement("canvas"), { width: WIDTH, height: WIDTH });
      const text = Object.assign(document.createElement("span"), { textContent: belief });
      suspect.append(canvas, text);
      return suspect;
    }));
    const dots = data.leanings.map(() => document.createElement("i"));
    dots[Math.round(100 * data.bound) - 1]?.classList.add("bound");
    this.find(".dots").replaceChildren(...dots);
    this.isWith = false;
    this.next();
    this.blink(!STILL.matches);
    this.paint();
  }

  paint() {
    if (!this.data) return;
    if (!this.isOwn) {
      const small = document.createElement("canvas");
      small.width = small.height = WIDTH;
      this.picture(small, this.data.ink, 1);
      this.pen.clearRect(0, 0, BOARD, BOARD);
      this.pen.imageSmoothingEnabled = false;
      this.pen.drawImage(small, 0, 0, BOARD, BOARD);
    }
    this.picture(this.find("canvas.exact"), this.data.exact.values);
    const suspects = this.root.querySelectorAll(".suspects canvas");
    this.data.private.suspects.forEach((values, n) => this.picture(suspects[n], values));
    this.paintRelease();
  }

  get round() { return this.guesses.length; }

  paintRelease() {
    const seen = this.data.pictures[Math.min(this.round, PER_GAME - 1)];
    // Use the same scale for both pictures, so that only the drawing blinks.
    const most = Math.max(...seen.map(Math.abs));
    this.picture(this.find(".release"), this.isWith ? seen.map((v, n) => v - this.data.row[n]) : seen, most);
    const side = this.isWith ? "the data with your drawing" : "the data without your drawing";
    this.find(".which").innerHTML = `Private result minus <b>${side}</b>`;
    this.find(".release").setAttribute("aria-label", `The private result without ${side}`);
  }

  turn() { if (!this.data) return; this.isWith = !this.isWith; this.paintRelease(); }

  blink(isOn) {
    clearInterval(this.blinker);
    this.blinker = isOn ? setInterval(() => this.turn(), BLINK_MS) : 0;
    this.find(".stop").textContent = isOn ? "Stop blinking" : "Blink";
  }

  next() {
    const isOver = this.round >= PER_GAME;
    this.find(".choices").hidden = isOver;
    this.find(".after").hidden = !isOver;
    this.find(".fill").disabled = this.round > PER_GAME;
    this.find(".question").innerHTML = isOver ? this.summary()
      : `<b>Round ${this.round + 1} of ${PER_GAME}.</b> The data contained your drawing or a blank sheet. `
        + "Subtract the right one, and only noise remains. Was your drawing in the data?";
    this.find(".verdict").textContent = this.verdict;
    const right = this.guesses.filter(Boolean).length;
    [...this.find(".dots").children].forEach((dot, n) => dot.classList.toggle("right", n < right));
    this.find(".dots").setAttribute("aria-label", `${right} of ${this.round} right; the bound is ${this.data.boundText} of 100`);
    this.find(".score").textContent = `${this.round ? `${right} of ${this.round} right. ` : ""}`
      + `Ring: the best anyone can do at ε = ${this.data.epsilon}, ${this.data.boundText} of 100.`;
    this.paintRelease();
  }

  guess(guessIn) {
    if (this.round >= PER_GAME) return;
    const wasIn = this.data.isIn[this.round], lean = this.data.leanings[this.round];
    this.verdict = `${guessIn === wasIn ? "Right" : "Wrong"}: your drawing was ${wasIn ? "" : "not "}in the data. `
      + `The best attacker would have said “${lean > 0.5 ? "in" : "not in"}”.`;
    this.guesses.push(guessIn === wasIn);
    this.next();
    if (this.round >= PER_GAME) this.find(".fill").focus({ preventScroll: true });
  }

  summary() {
    const mine = this.guesses.slice(0, PER_GAME).filter(Boolean).length;
    const more = this.round > PER_GAME
      ? ` The best attacker was right <b>${this.guesses.slice(PER_GAME).filter(Boolean).length} times in ${this.round - PER_GAME}</b>.` : "";
    return `You were right <b>${mine} times in 10</b>.${more} On average the best attacker is right `
      + `${this.data.best} times in 100, at most ${this.data.boundText} for any person; a coin 50 times.`;
  }

  fill() {
    const step = () => {
      this.guesses.push((this.data.leanings[this.round] > 0.5) === this.data.isIn[this.round]);
      if (this.round >= this.data.leanings.length) clearInterval(this.filling);
      this.next();
    };
    this.find(".fill").disabled = true;
    clearInterval(this.filling);
    if (STILL.matches) while (this.round < this.data.leanings.length) step();
    else this.filling = setInterval(step, FILL_MS);
  }
}

const drawings = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  if (!drawings.has(parentElement)) drawings.set(parentElement, new Drawing(parentElement));
  const drawing = drawings.get(parentElement);
  drawing.sit = (person) => setTriggerValue("seated", person ?? "again");
  drawing.show(data);
  return () => { drawing.blink(false); clearInterval(drawing.filling); clearTimeout(drawing.pause); };
}
