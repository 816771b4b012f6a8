// Slider over the steps of an axis. It calls `explorer.step(index)` for each step and `released`
// with the setting and the step at which the visitor released the slider.
//
//   const control = new Control(element);            // element contains control.html
//   control.released = (setting, index) => { ... };
//   control.show({ setting, at, symbol, steps });
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
    this.steps = [];
    this.index = 0;
    this.pending = null; // released step that the server has not answered
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

  show({ setting, at, symbol, title, steps }) {
    if (symbol !== this.symbol) this.pending = null;
    Object.assign(this, { setting, symbol, steps });
    this.slider.max = steps.length - 1;
    this.slider.setAttribute("aria-label", title);
    this.root.querySelector("label").firstChild.textContent = `${symbol} = `;
    const isPending = this.pending && performance.now() - this.pending.time < PENDING_MS;
    if (isPending && at !== this.pending.at) return;
    const hasMoved = this.pending && this.index !== this.pending.at;
    this.pending = null;
    this.at = at;
    if (hasMoved || this.timer) return;
    this.step(at);
  }

  follow(explorer) {
    this.explorer = explorer;
    this.step(this.index);
  }

  step(index) {
    if (!this.steps[index]) return;
    this.index = index;
    this.slider.value = index;
    const frame = this.explorer?.step(index);
    const label = frame?.label ?? this.steps[index].label;
    this.output.textContent = label;
    this.root.style.setProperty("--at", index / Math.max(1, this.steps.length - 1));
    const result = frame ? `: ${frame.number} captured energy. ${frame.alt}` : "";
    this.slider.setAttribute("aria-valuetext", `${this.symbol} = ${label}${result}`);
  }

  release() {
    if (this.index === (this.pending?.at ?? this.at)) return;
    this.pending = { at: this.index, time: performance.now() };
    this.released(this.setting, this.index);
  }

  // Step down to the lowest step at which pictures can be read, then back to the start.
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
