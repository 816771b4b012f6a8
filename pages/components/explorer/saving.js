// The figure as a PNG or SVG file, and its values as CSV.

const STYLES = [
  "fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight",
  "font-family", "paint-order",
];
const MARGIN = 34; // pixels above the curve for the title
const SIDE = 14; // pixels on the left and on the right
const DENSITY = 2; // pixels of the PNG per pixel of the page

class Saving {
  constructor(explorer) {
    this.explorer = explorer;
    const menu = explorer.find(".save");
    menu.addEventListener("change", () => {
      const kind = menu.value;
      menu.value = "";
      this[kind]?.();
    });
  }

  name() {
    return this.explorer.data.file;
  }

  csv() {
    const { data, steps } = this.explorer;
    const cell = (text) => `"${String(text).replaceAll('"', '""')}"`;
    const lines = [[data.symbol, "line", "runs", "mean", "least", "greatest"].map(cell)];
    for (const frame of this.explorer.sorted()) {
      for (const { id, label } of data.lines) {
        const runs = frame.energies[id] ?? [];
        if (!runs.length) continue;
        const numbers = [runs.length, mean(runs).toFixed(4), Math.min(...runs), Math.max(...runs)];
        lines.push([cell(steps[frame.at].label), cell(label), ...numbers]);
      }
    }
    this.save(lines.map((line) => line.join(",")).join("\n") + "\n", "text/csv", "csv");
  }

  svg() {
    this.save(this.drawing().text, "image/svg+xml", "svg");
  }

  png() {
    const { text, width, height } = this.drawing();
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      Object.assign(canvas, { width: DENSITY * width, height: DENSITY * height });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => this.save(blob, "image/png", "png"));
    };
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  }

  // The curve with its names and a title, without references to the style sheet of the page.
  drawing() {
    const { svg, section } = this.explorer;
    const plot = svg.getBoundingClientRect();
    const [width, height] = [plot.width + 2 * SIDE, plot.height + MARGIN];
    const style = getComputedStyle(section);
    const whole = make("svg", { xmlns: SVG, width, height, viewBox: `${-SIDE} ${-MARGIN} ${width} ${height}` });
    whole.append(make("rect", {
      x: -SIDE, y: -MARGIN, width, height, fill: style.getPropertyValue("--page"),
    }));
    const headline = this.explorer.find("h1").textContent.trim().replace(/\s+/g, " ");
    whole.append(make("text", {
      x: 0, y: -MARGIN / 2, fill: style.color, "font-size": 16, "font-weight": 700,
      "font-family": style.fontFamily,
    }, `${this.explorer.data.dataset}: ${headline}`));
    for (const source of [svg, this.explorer.find(".line-names")]) whole.append(...this.copies(source));
    return { text: new XMLSerializer().serializeToString(whole), width, height };
  }

  copies(source) {
    const copy = source.cloneNode(true);
    const originals = [...source.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((element, k) => {
      const style = getComputedStyle(originals[k]);
      for (const name of STYLES) element.style.setProperty(name, style.getPropertyValue(name));
    });
    return [...copy.childNodes];
  }

  save(content, type, ending) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    link.download = `${this.name()}.${ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}
