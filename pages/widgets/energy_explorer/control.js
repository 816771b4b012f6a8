// A slider over given values of ε. Whoever shows what ε does hears of every step; `released` is
// called once somebody has let go, with the ε it was let go at.
//
//   const control = new Control(element);            // element holds control.html
//   control.released = (epsilon) => { ... };
//   control.show({ setting, epsilon, epsilons });    // of what it asks, where it stands, among what
//   control.follow(explorer);                        // explorer.step(index), explorer.has(index)

const STEP_MS = 380; // of Play
const KEY_MS = 250; // after the last arrow key it counts as let go
const TRUST_MS = 8000; // how long an answer to something older is not believed
const PLAY_DOWN_TO = 0.01;

class Control {
  constructor(root) {
    this.slider = root.querySelector("input");
    this.output = root.querySelector("output");
    this.button = root.querySelector("button");
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
    // Whoever has moved on since then is not pulled back.
    const hasMovedOn = this.asked && this.epsilons[this.index].value !== this.asked.epsilon;
    this.asked = null;
    this.epsilon = epsilon;
    if (hasMovedOn || this.timer) return;
    this.step(epsilons.findIndex(({ value }) => value === epsilon));
  }

  follow(explorer) {
    this.explorer = explorer;
    this.button.hidden = !explorer;
    if (this.epsilons.length) this.step(this.index);
  }

  // Somebody's hand: on the slider, or on the curve.
  go(index) {
    this.stop();
    this.step(index);
  }

  step(index) {
    this.index = index;
    this.slider.value = index;
    const { label } = this.epsilons[index];
    this.output.textContent = label;
    const found = this.explorer?.step(index);
    this.slider.setAttribute("aria-valuetext", `ε = ${label}${found ? `: ${found} kept` : ""}`);
  }

  release() {
    const epsilon = this.epsilons[this.index].value;
    if (epsilon === (this.asked?.epsilon ?? this.epsilon)) return;
    this.asked = { epsilon, at: performance.now() };
    this.released(epsilon);
  }

  play() {
    const there = this.epsilons
      .map(({ value }, index) => ({ value, index }))
      .filter(({ value, index }) => value >= PLAY_DOWN_TO && this.explorer.has(index))
      .map(({ index }) => index);
    if (there.length < 2) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.button.textContent = "■ Stop";
    this.step(there.pop());
    this.timer = setInterval(() => {
      this.step(there.pop());
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
