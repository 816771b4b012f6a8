// Three short first steps that point at the line, the curve and the pictures. Each is a bubble that
// goes when it is clicked; the visitor's browser remembers that all were seen.

const STEPS_SEEN = "dp-pca-lab.first-steps";
const FIRST_STEPS = [
  [".curve .control label", "1/3 Drag: smaller ε, more privacy"],
  [".curve > svg", "2/3 Height: how much structure is left"],
  [".block.rows .tiles", "3/3 Real digits, rebuilt from what is left"],
];

class FirstSteps {
  constructor(explorer) {
    this.explorer = explorer;
    this.bubble = explorer.find(".first-step");
    this.bubble.addEventListener("click", () => this.next());
    this.bubble.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") this.next();
      if (event.key === "Escape") this.end();
    });
    this.number = FirstSteps.areSeen() ? FIRST_STEPS.length : 0;
  }

  static areSeen() {
    try {
      return localStorage.getItem(STEPS_SEEN) !== null;
    } catch {
      return true; // the browser stores nothing, so the steps would come back with every visit
    }
  }

  next() {
    this.number += 1;
    if (this.number >= FIRST_STEPS.length) return this.end();
    this.show();
  }

  end() {
    this.number = FIRST_STEPS.length;
    this.bubble.hidden = true;
    try {
      localStorage.setItem(STEPS_SEEN, "1");
    } catch { /* nothing is stored */ }
  }

  // Point at the middle of the element, once it has its place.
  show() {
    const step = FIRST_STEPS[this.number];
    const isAlongEpsilon = this.explorer.data?.symbol === "ε";
    this.bubble.hidden = true;
    if (!step || !isAlongEpsilon || !this.explorer.frames.size) return;
    const [target, text] = step;
    const whole = this.explorer.section.getBoundingClientRect();
    const box = this.explorer.find(target).getBoundingClientRect();
    this.bubble.textContent = text;
    this.bubble.hidden = false;
    const { width, height } = this.bubble.getBoundingClientRect();
    const middle = box.left + box.width / 2 - whole.left - width / 2;
    const left = Math.min(Math.max(0, middle), whole.width - width);
    const isLabel = this.number === 0;
    const top = isLabel ? box.top - whole.top - height - 34 : box.top - whole.top + box.height * 0.4;
    this.bubble.style.left = `${left}px`;
    this.bubble.style.top = `${top}px`;
  }
}
