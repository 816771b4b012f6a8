// One person on a circle. The exact first direction follows her, the private one hardly moves. The
// server computed both for every angle.
const SVG = "http://www.w3.org/2000/svg";

function draw(parent, name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return parent.appendChild(element);
}

const radians = (degrees) => (degrees * Math.PI) / 180;
const needle = (degrees) => {
  const [x, y] = [Math.cos(radians(degrees)), -Math.sin(radians(degrees))];
  return { x1: -x, y1: -y, x2: x, y2: y };
};
const set = (element, attributes) => {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
};

class Circle {
  constructor(root) {
    this.svg = root.querySelector("svg");
    this.range = root.querySelector("input");
    this.output = root.querySelector("output");
    this.texts = root.querySelector(".texts");
    this.range.addEventListener("input", () => this.move(Number(this.range.value)));
    this.svg.addEventListener("pointerdown", (event) => {
      this.svg.setPointerCapture(event.pointerId);
      this.isDragged = true;
      this.follow(event);
    });
    this.svg.addEventListener("pointermove", (event) => this.isDragged && this.follow(event));
    for (const end of ["pointerup", "pointercancel"])
      this.svg.addEventListener(end, () => {
        if (!this.isDragged) return;
        this.isDragged = false;
        this.person.classList.remove("dragged");
      });
  }

  show(data) {
    if (this.key === data.key) return;
    Object.assign(this, data);
    this.svg.replaceChildren();
    draw(this.svg, "circle", { class: "rim", r: 1 });
    const fan = draw(this.svg, "g", { class: "fan" });
    this.fan = this.frames[0].fan.map(() => draw(fan, "line", {}));
    this.exact = draw(this.svg, "line", { class: "exact" });
    for (const [cx, cy] of this.people) draw(this.svg, "circle", { class: "people", cx, cy: -cy, r: 0.026 });
    draw(this.svg, "circle", { class: "was", cx: 1, cy: 0, r: 0.06 });
    this.person = draw(this.svg, "circle", { class: "person", r: 0.075 });
    const angles = this.frames.map(({ degrees }) => degrees);
    set(this.range, { min: angles[0], max: angles.at(-1), step: angles[1] - angles[0] });
    this.move(this.degrees ?? this.begins);
  }

  follow(event) {
    this.person.classList.add("dragged");
    const box = this.svg.getBoundingClientRect();
    const x = event.clientX - box.left - box.width / 2;
    const y = box.top + box.height / 2 - event.clientY;
    let degrees = (Math.atan2(y, x) * 180) / Math.PI;
    // A row and its negative have the same second moment, so that half a circle is enough.
    if (degrees > 90) degrees -= 180;
    if (degrees < -90) degrees += 180;
    this.flipped = x < 0;
    this.move(degrees);
  }

  move(degrees) {
    const frame = this.frames.reduce((best, each) =>
      Math.abs(each.degrees - degrees) < Math.abs(best.degrees - degrees) ? each : best);
    this.degrees = frame.degrees;
    this.range.value = frame.degrees;
    this.output.textContent = `${frame.degrees}°`;
    const side = this.isDragged && this.flipped ? -1 : 1;
    set(this.person, {
      cx: side * Math.cos(radians(frame.degrees)), cy: -side * Math.sin(radians(frame.degrees)),
    });
    set(this.exact, needle(frame.exact));
    frame.fan.forEach((degree, n) => set(this.fan[n], needle(degree)));
    this.texts.innerHTML = frame.text;
    this.svg.setAttribute("aria-label", frame.alt);
  }
}

const circles = new WeakMap();

export default function ({ data, parentElement }) {
  if (!circles.has(parentElement)) circles.set(parentElement, new Circle(parentElement));
  circles.get(parentElement).show(data);
}
