// A digit drawn on dots, made as large as the data set's are and counted in blocks of 4 x 4, 0 to 16
// each: 8 x 8 blocks without a margin as in the digits of scikit-learn, or 14 x 14 with a margin of 2
// as in MNIST at half its size. The counts are handed over when the pen is lifted.
const BLOCK = 4;
const PEN = 0.06; // of the side
const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

class Pad {
  constructor(root, cells, margin) {
    this.canvas = root.querySelector("canvas");
    this.cells = cells;
    this.side = this.canvas.width = this.canvas.height = cells * BLOCK;
    this.core = this.side - 2 * margin * BLOCK;
    this.dots = new Uint8Array(this.side * this.side);
    this.lifted = () => {};
    this.pen = null; // where it is while a finger or a mouse is down
    this.cursor = [this.side / 2, this.side / 2]; // of the arrow keys
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
      ((event.clientX - box.left) / box.width) * this.side,
      ((event.clientY - box.top) / box.height) * this.side,
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
    for (let row = 0; row < this.side; row++)
      for (let column = 0; column < this.side; column++)
        if (Math.hypot(column + 0.5 - x, row + 0.5 - y) <= PEN * this.side) this.dots[row * this.side + column] = 1;
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
      this.cursor = this.cursor.map((at, k) => Math.min(this.side - 1, Math.max(1, at + 2 * step[k])));
      this.show(true);
    } else {
      this.draw(this.cursor);
      this.lifted(this.counts());
    }
  }

  counts() {
    const counts = new Array((this.cells) ** 2).fill(0);
    const inked = [...this.dots.keys()].filter((dot) => this.dots[dot]);
    if (!inked.length) return counts;
    const rows = inked.map((dot) => Math.floor(dot / this.side));
    const columns = inked.map((dot) => dot % this.side);
    const [top, bottom] = [Math.min(...rows), Math.max(...rows) + 1];
    const [left, right] = [Math.min(...columns), Math.max(...columns) + 1];
    const scale = Math.max(bottom - top, right - left) / this.core;
    const source = (at, from, to) => Math.floor((from + to) / 2 + (at + 0.5 - this.side / 2) * scale);
    for (let row = 0; row < this.side; row++)
      for (let column = 0; column < this.side; column++) {
        const [y, x] = [source(row, top, bottom), source(column, left, right)];
        const isInside = y >= top && y < bottom && x >= left && x < right;
        if (isInside && this.dots[y * this.side + x])
          counts[Math.floor(row / BLOCK) * (this.cells) + Math.floor(column / BLOCK)] += 1;
      }
    return counts;
  }

  show(withCursor = false) {
    const paper = this.canvas.getContext("2d");
    paper.clearRect(0, 0, this.side, this.side);
    paper.fillStyle = "#fff";
    this.dots.forEach((ink, dot) => {
      if (ink) paper.fillRect(dot % this.side, Math.floor(dot / this.side), 1, 1);
    });
    if (!withCursor) return;
    paper.fillStyle = "#2f8fd0";
    paper.fillRect(this.cursor[0] - 1, this.cursor[1] - 1, 2, 2);
  }
}

const pads = new WeakMap();

export default function ({ parentElement, setStateValue, data }) {
  if (!pads.has(parentElement))
    pads.set(parentElement, new Pad(parentElement, data.cells, data.margin));
  pads.get(parentElement).lifted = (counts) => setStateValue("counts", counts);
}
