// A digit drawn on 32 x 32 dots, made as large as they are and counted in blocks of 4 x 4, 0 to 16
// each: as the digits that come with the lab were made. Whoever listens hears of 64 counts when the
// pen is lifted.
const SIDE = 32;
const BLOCK = 4;
const PEN = 1.9;
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

class Pad {
  constructor(root) {
    this.canvas = root.querySelector("canvas");
    this.dots = new Uint8Array(SIDE * SIDE);
    this.lifted = () => {};
    this.pen = null; // where it is while a finger or a mouse is down
    this.cursor = [SIDE / 2, SIDE / 2]; // of the arrow keys
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      this.draw(this.pen = this.place(event));
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!this.pen) return;
      for (const each of event.getCoalescedEvents?.() ?? [event]) this.line(this.place(each));
    });
    for (const end of ["pointerup", "pointercancel"])
      this.canvas.addEventListener(end, () => this.lift());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    root.querySelector("button").addEventListener("click", () => {
      this.dots.fill(0);
      this.show();
      this.lifted(this.counts());
    });
    this.show();
  }

  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [
      ((event.clientX - box.left) / box.width) * SIDE,
      ((event.clientY - box.top) / box.height) * SIDE,
    ];
  }

  line([x, y]) {
    const [fromX, fromY] = this.pen;
    const steps = Math.max(1, Math.ceil(Math.hypot(x - fromX, y - fromY)));
    for (let n = 1; n <= steps; n++)
      this.draw([fromX + ((x - fromX) * n) / steps, fromY + ((y - fromY) * n) / steps]);
    this.pen = [x, y];
  }

  draw([x, y]) {
    for (let row = 0; row < SIDE; row++)
      for (let column = 0; column < SIDE; column++)
        if (Math.hypot(column + 0.5 - x, row + 0.5 - y) <= PEN) this.dots[row * SIDE + column] = 1;
    this.show();
  }

  lift() {
    if (!this.pen) return;
    this.pen = null;
    this.lifted(this.counts());
  }

  key(event) {
    const step = STEPS[event.key];
    if (!step && event.key !== " ") return;
    event.preventDefault();
    if (step) {
      this.cursor = this.cursor.map((at, k) => Math.min(SIDE - 1, Math.max(1, at + 2 * step[k])));
      this.show(true);
    } else {
      this.draw(this.cursor);
      this.lifted(this.counts());
    }
  }

  counts() {
    const counts = new Array((SIDE / BLOCK) ** 2).fill(0);
    const inked = [...this.dots.keys()].filter((dot) => this.dots[dot]);
    if (!inked.length) return counts;
    const rows = inked.map((dot) => Math.floor(dot / SIDE));
    const columns = inked.map((dot) => dot % SIDE);
    const [top, bottom] = [Math.min(...rows), Math.max(...rows) + 1];
    const [left, right] = [Math.min(...columns), Math.max(...columns) + 1];
    const scale = Math.max(bottom - top, right - left) / SIDE;
    const source = (at, from, to) => Math.floor((from + to) / 2 + (at + 0.5 - SIDE / 2) * scale);
    for (let row = 0; row < SIDE; row++)
      for (let column = 0; column < SIDE; column++) {
        const [y, x] = [source(row, top, bottom), source(column, left, right)];
        const isInside = y >= top && y < bottom && x >= left && x < right;
        if (isInside && this.dots[y * SIDE + x])
          counts[Math.floor(row / BLOCK) * (SIDE / BLOCK) + Math.floor(column / BLOCK)] += 1;
      }
    return counts;
  }

  show(withCursor = false) {
    const paper = this.canvas.getContext("2d");
    paper.clearRect(0, 0, SIDE, SIDE);
    paper.fillStyle = "#fff";
    this.dots.forEach((ink, dot) => {
      if (ink) paper.fillRect(dot % SIDE, Math.floor(dot / SIDE), 1, 1);
    });
    if (!withCursor) return;
    paper.fillStyle = "#2f8fd0";
    paper.fillRect(this.cursor[0] - 1, this.cursor[1] - 1, 2, 2);
  }
}

const pads = new WeakMap();

export default function ({ parentElement, setStateValue }) {
  if (!pads.has(parentElement)) pads.set(parentElement, new Pad(parentElement));
  pads.get(parentElement).lifted = (counts) => setStateValue("counts", counts);
}
