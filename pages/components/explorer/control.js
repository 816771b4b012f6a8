// Slider over a list of values of ε. It calls `explorer.step(index)` for each step and `released`
// with the value at which the visitor released the slider.
//
//   const control = new Control(element);            // element contains control.html
//   control.released = (epsilon) => { ... };
//   control.show({ setting, epsilon, epsilons });
//   control.follow(explorer);

const ANIMATION_STEP_MS = 300;
const KEY_RELEASE_MS = 250; // pause after the last arrow key that counts as a release
// The server's answer to an older release is ignored for this long.
const PENDING_MS = 8000;

class Control {
  constructor(root) {
    this.root = root.querySelector(".explorer");
    this.slider = root.querySelector("input[type=range]");
    this.output = root.querySelector("output");
    this.button = root.querySelector("button.animate");
    this.released = () => {};
    this.explorer = null;
    this.epsilons = [];
    this.index = 0;
    this.pending = null; // released value that the server has not answered
    this.listen();
  }

  listen() {
    let isKey = false;
    let waiting;
    this.slider.addEventListener("keydown", () => { isKey = true; });
    this.slider.addEventListener("pointerdown", () => { isKey = false; });
    this.slider.addEventListener("input", () => {
      this.stop();
      this.step(Number(this.slider.value));
    });
    this.slider.addEventListener("change", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.release(), isKey ? KEY_RELEASE_MS : 0);
    });
    this.button.addEventListener("click", () => (this.timer ? this.stop(true) : this.animate()));
  }

  show({ setting, epsilon, epsilons }) {
    this.setting = setting;
    this.epsilons = epsilons;
    this.slider.max = epsilons.length - 1;
    const isPending = this.pending && performance.now() - this.pending.at < PENDING_MS;
    if (isPending && epsilon !== this.pending.epsilon) return;
    const hasMoved = this.pending && this.epsilons[this.index].value !== this.pending.epsilon;
    this.pending = null;
    this.epsilon = epsilon;
    if (hasMoved || this.timer) return;
    this.step(epsilons.findIndex(({ value }) => value === epsilon));
  }

  follow(explorer) {
    this.explorer = explorer;
    this.step(this.index);
  }

  step(index) {
    if (!this.epsilons.length) return;
    this.index = index;
    this.slider.value = index;
    const { label } = this.epsilons[index];
    this.output.textContent = label;
    this.root.style.setProperty("--at", index / (this.epsilons.length - 1));
    const number = this.explorer?.step(index);
    const result = number ? `: ${number} captured energy` : "";
    this.slider.setAttribute("aria-valuetext", `ε = ${label}${result}`);
  }

  release() {
    const epsilon = this.epsilons[this.index].value;
    if (epsilon === (this.pending?.epsilon ?? this.epsilon)) return;
    this.pending = { epsilon, at: performance.now() };
    this.released(epsilon);
  }

  // Step down to the lowest ε at which pictures can be read, then back to the start.
  animate() {
    const low = Math.min(this.explorer?.lowestReadable() ?? 0, this.index);
    const way = [];
    for (let k = this.index - 1; k >= low; k -= 1) way.push(k);
    for (let k = low + 1; k <= this.index; k += 1) way.push(k);
    const steps = way.filter((index) => this.explorer?.has(index));
    if (steps.length < 2) return;
    const isSlow = matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.button.textContent = "■ Stop";
    this.timer = setInterval(() => {
      this.step(steps.shift());
      if (!steps.length) this.stop(true);
    }, isSlow ? 3 * ANIMATION_STEP_MS : ANIMATION_STEP_MS);
  }

  stop(isRelease = false) {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = undefined;
    this.button.textContent = "▶ Animate";
    if (isRelease) this.release();
  }
}
