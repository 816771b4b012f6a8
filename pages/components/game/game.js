// The game "Was she in the data?". Each round is one release that the server drew. The best attacker
// uses one number of it: the position between the result without her and the result with her.
const PER_GAME = 10;
const FALL_MS = 420;
const FILL_MS = 12;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

class Game {
  constructor(root) {
    this.root = root;
    this.find = (selector) => root.querySelector(selector);
    this.canvas = this.find("canvas");
    this.find(".with").addEventListener("click", () => this.guess(true));
    this.find(".without").addEventListener("click", () => this.guess(false));
    this.find(".fill").addEventListener("click", () => this.fill());
    this.find(".again").addEventListener("click", () => this.playAgain());
    this.playAgain = () => {};
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.canvas);
  }

  show(data) {
    if (this.game === data.game) return;
    Object.assign(this, data);
    this.guesses = [];
    this.report("");
    clearInterval(this.filling);
    const dots = this.releases.map(() => document.createElement("i"));
    this.find(".dots").replaceChildren(...dots);
    dots[Math.round(100 * this.bound) - 1]?.classList.add("bound");
    this.next();
  }

  get round() { return this.guesses.length; }

  next() {
    const isOver = this.round >= PER_GAME;
    for (const button of this.root.querySelectorAll(".choices button")) button.disabled = isOver;
    this.find(".choices").hidden = isOver;
    this.find(".after").hidden = !isOver;
    this.find(".fill").disabled = this.round >= this.releases.length;
    const question = this.find(".question");
    if (isOver) question.innerHTML = this.summary();
    else question.innerHTML = `<b>Round ${this.round + 1} of ${PER_GAME}.</b> The dot is one private result. `
      + "Was her record in the data?";
    this.count();
    this.fall();
  }

  guess(saysIn) {
    if (this.round >= PER_GAME) return;
    const wasIn = this.isIn[this.round];
    this.guesses.push(saysIn === wasIn);
    this.report(`${saysIn === wasIn ? "Right" : "Wrong"}: she was ${wasIn ? "" : "not "}in the data.`);
    this.next();
    if (this.round >= PER_GAME) this.find(".after button").focus({ preventScroll: true });
  }

  // The best attacker says "in" if the release is nearer to her side.
  fill() {
    clearInterval(this.filling);
    this.find(".fill").disabled = true;
    const step = () => {
      const release = this.releases[this.round];
      this.guesses.push((release > this.mu / 2) === this.isIn[this.round]);
      this.count();
      if (this.round < this.releases.length) return;
      clearInterval(this.filling);
      this.find(".question").innerHTML = this.summary();
      this.draw();
    };
    if (STILL.matches) while (this.round < this.releases.length) step();
    else this.filling = setInterval(step, FILL_MS);
  }

  report(words) { this.find(".verdict").textContent = words; }

  hits(count) { return this.guesses.slice(0, count).filter(Boolean).length; }

  summary() {
    const mine = this.hits(PER_GAME);
    const best = `The best attacker averages <b>${this.boundText}</b> in 100.`;
    if (this.round < this.releases.length) return `You were right <b>${mine} times in 10</b>. ${best}`;
    return `You: <b>${mine} of 10</b>. With the best attacker’s 90 rounds: `
      + `<b>${this.hits(this.round)} of 100</b>. ${best}`;
  }

  count() {
    const dots = [...this.find(".dots").children];
    // Right guesses come first, so that their number can be compared with the bound.
    const ordered = this.guesses.filter(Boolean).length;
    dots.forEach((dot, n) => dot.classList.toggle("right", n < ordered));
    const result = `${ordered} of ${this.round} right`;
    this.find(".dots").setAttribute("aria-label", `${result}; the bound is ${this.boundText} of 100`);
    this.find(".score").textContent = `${this.round ? `${result}. ` : ""}`
      + `Ring: the best anyone can do, ${this.boundText} of 100.`;
  }

  fall() {
    const began = performance.now();
    cancelAnimationFrame(this.frame);
    const go = (now) => {
      this.fallen = STILL.matches ? 1 : Math.min(1, (now - began) / FALL_MS);
      this.draw();
      if (this.fallen < 1) this.frame = requestAnimationFrame(go);
    };
    this.frame = requestAnimationFrame(go);
  }

  draw() {
    if (!this.releases) return;
    const { canvas } = this;
    const scale = devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return;
    canvas.width = width * scale;
    canvas.height = height * scale;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    const style = getComputedStyle(this.find(".game"));
    const ink = style.color;
    const colour = { true: this.colour("--with"), false: this.colour("--without") };
    const low = -3.4, high = this.mu + 3.4;
    const across = (place) => ((Math.min(high, Math.max(low, place)) - low) / (high - low)) * (width - 24) + 12;
    const ground = height - 30, top = 26;
    const bell = (centre, key) => {
      pen.beginPath();
      pen.moveTo(0, ground);
      for (let x = 0; x <= width; x += 2) {
        const place = low + ((x - 12) / (width - 24)) * (high - low);
        pen.lineTo(x, ground - (ground - top) * Math.exp(-((place - centre) ** 2) / 2));
      }
      pen.lineTo(width, ground);
      pen.globalAlpha = 0.16;
      pen.fillStyle = colour[key];
      pen.fill();
      pen.globalAlpha = 0.9;
      pen.strokeStyle = colour[key];
      pen.lineWidth = 2;
      pen.setLineDash(key ? [] : [6, 5]);
      pen.stroke();
      pen.setLineDash([]);
      pen.globalAlpha = 1;
    };
    bell(0, false);
    bell(this.mu, true);
    pen.font = `600 13px ${style.fontFamily}`;
    pen.fillStyle = ink;
    pen.textBaseline = "top";
    pen.textAlign = "left";
    pen.fillText("◂ results without her", 4, 4);
    pen.textAlign = "right";
    pen.fillText("results with her ▸", width - 4, 4);
    pen.strokeStyle = ink;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(0, ground);
    pen.lineTo(width, ground);
    pen.stroke();
    pen.textAlign = "center";
    pen.font = `12px ${style.fontFamily}`;
    pen.fillText("position of the private result", width / 2, ground + 12);
    const dot = (place, y, size, fill) => {
      pen.beginPath();
      pen.arc(across(place), y, size, 0, 7);
      pen.fillStyle = fill;
      pen.fill();
    };
    // Finished rounds are on the axis in the colour of the truth.
    pen.globalAlpha = 0.85;
    for (let n = 0; n < Math.min(this.round, PER_GAME); n++)
      dot(this.releases[n], ground, 6, colour[this.isIn[n]]);
    pen.globalAlpha = 1;
    if (this.round < PER_GAME) {
      const eased = 1 - (1 - (this.fallen ?? 1)) ** 3;
      const x = across(this.releases[this.round]);
      pen.strokeStyle = ink;
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(x, ground);
      pen.lineTo(x, ground - eased * (ground - top) * 0.55);
      pen.stroke();
      dot(this.releases[this.round], top + (ground - top) * 0.45 * eased, 9, ink);
    }
    canvas.setAttribute("aria-label", this.round < PER_GAME
      ? `The result is ${this.releases[this.round].toFixed(1)}. Without her it is `
        + `around 0, with her around ${this.mu.toFixed(1)}, with a spread of 1.`
      : "The results of ten rounds and the two laws.");
  }

  colour(name) {
    const probe = this.find(name === "--with" ? ".with" : ".without");
    return getComputedStyle(probe).borderTopColor;
  }
}

const games = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  if (!games.has(parentElement)) games.set(parentElement, new Game(parentElement));
  const game = games.get(parentElement);
  game.playAgain = () => setTriggerValue("again", true);
  game.show(data);
  return () => clearInterval(game.filling);
}
