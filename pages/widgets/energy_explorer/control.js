// A slider over given values of ε. What it moves hears of every step; `released` is called once it
// is let go, with the ε it was let go at.
//
//   const control = new Control(element);            // element holds control.html
//   control.released = (epsilon) => { ... };
//   control.show({ setting, epsilon, epsilons });    // of what it asks, where it stands, among what
//   control.follow(explorer);                        // explorer.step(index), explorer.has(index)

const STEP_MS = 300; // of Play
const KEY_MS = 250; // after the last arrow key it counts as let go
const TRUST_MS = 8000; // how long an answer to something older is not believed
const PLAY_LOWEST = 0.01, PLAY_HIGHEST = 10;

class Control {
  constructor(root) {
    this.root = root.querySelector(".explorer") ?? root.querySelector(".control") ?? root;
    this.slider = root.querySelector("input[type=range]");
    this.output = root.querySelector("output");
    this.button = root.querySelector("button.play");
    this.released = () => {};
    this.explorer = null;
    this.epsilons = [];
    this.index = 0;
    this.asked = null; // ε that was let go and is not answered yet
    this.listen();
  }

  listen() {
    let byKey = false;
    let waiting;
    this.slider.addEventListener("keydown", () => { byKey = true; });
    this.slider.addEventListener("pointerdown", () => { byKey = false; });
    this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
    this.slider.addEventListener("change", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.release(), byKey ? KEY_MS : 0);
    });
    this.button.addEventListener("click", () => (this.timer ? this.stop(true) : this.play()));
  }

  show({ setting, epsilon, epsilons }) {
    this.setting = setting;
    this.epsilons = epsilons;
    this.slider.max = epsilons.length - 1;
    const old = this.asked && performance.now() - this.asked.at < TRUST_MS;
    if (old && epsilon !== this.asked.epsilon) return;
    // A hand that has moved on since then is not pulled back.
    const hasMovedOn = this.asked && this.epsilons[this.index].value !== this.asked.epsilon;
    this.asked = null;
    this.epsilon = epsilon;
    if (hasMovedOn || this.timer) return;
    this.step(epsilons.findIndex(({ value }) => value === epsilon));
  }

  follow(explorer) {
    this.explorer = explorer;
    this.step(this.index);
  }

  // By hand: on the slider, or by a key elsewhere.
  go(index) {
    this.stop();
    this.step(index);
  }

  step(index) {
    if (!this.epsilons.length) return;
    this.index = index;
    this.slider.value = index;
    const { label } = this.epsilons[index];
    this.output.textContent = label;
    this.root.style.setProperty("--at", index / (this.epsilons.length - 1));
    const found = this.explorer?.step(index);
    const survives = found ? `: ${found} survives` : "";
    this.slider.setAttribute("aria-valuetext", `ε = ${label}${survives}`);
  }

  release() {
    const epsilon = this.epsilons[this.index].value;
    if (epsilon === (this.asked?.epsilon ?? this.epsilon)) return;
    this.asked = { epsilon, at: performance.now() };
    this.released(epsilon);
  }

  // Down until nothing is left, up until all is there, and back to where it stood.
  play() {
    const isThere = (index) => this.explorer?.has(index);
    const at = (epsilon) => this.epsilons.findIndex(({ value }) => value >= epsilon);
    const [low, high] = [at(PLAY_LOWEST), at(PLAY_HIGHEST)];
    const way = [];
    const walk = (from, to) => {
      for (let k = from; k !== to; k += Math.sign(to - from)) way.push(k + Math.sign(to - from));
    };
    walk(this.index, Math.min(low, this.index));
    walk(way.at(-1) ?? this.index, Math.max(high, this.index));
    walk(way.at(-1) ?? this.index, this.index);
    const there = way.filter(isThere);
    if (there.length < 2) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.button.textContent = "■ Stop";
    this.timer = setInterval(() => {
      this.step(there.shift());
      if (!there.length) this.stop(true);
    }, still ? 3 * STEP_MS : STEP_MS);
  }

  stop(letGo = false) {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = undefined;
    this.button.textContent = "▶ Play";
    if (letGo) this.release();
  }
}
