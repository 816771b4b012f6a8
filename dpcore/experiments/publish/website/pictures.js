// People as pictures of sixteen shades, on both pages of the folder.
const SHADES = 15;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const DARK = matchMedia("(prefers-color-scheme: dark)");
const at = (id) => document.getElementById(id);
const isNarrow = () => innerWidth <= 896;

// Two pixels a byte, from 0 to 1.
function shadesOf(packed, { names, shape: [height, width] }) {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const shade = (n) => (n % 2 ? bytes[n >> 1] & 15 : bytes[n >> 1] >> 4) / SHADES;
  return Float32Array.from({ length: names.length * height * width }, (_, n) => shade(n));
}

// Ink on paper, white on black in the dark: shade 0 is the page. Rows of a table are no pictures.
function paint(canvas, shades, { names, shape: [height, width] }) {
  canvas.hidden = height === 1;
  const count = names.length, across = isNarrow() ? Math.ceil(count / 2) : count;
  const down = Math.ceil(count / across), gap = 1;
  if (canvas.width !== across * (width + gap) || canvas.height !== down * (height + gap)) {
    canvas.width = across * (width + gap);
    canvas.height = down * (height + gap);
    canvas.style.aspectRatio = `${canvas.width} / ${canvas.height}`;
  }
  const pen = canvas.getContext("2d"), image = pen.createImageData(canvas.width, canvas.height);
  const ink = DARK.matches ? [242, 242, 242] : [26, 26, 26];
  for (let person = 0; person < count; person++)
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) {
        const column = (person % across) * (width + gap) + x;
        const row = Math.floor(person / across) * (height + gap) + y;
        const place = 4 * (row * canvas.width + column);
        image.data.set(ink, place);
        image.data[place + 3] = 255 * shades[(person * height + y) * width + x];
      }
  pen.putImageData(image, 0, 0);
}

const SVG = "http://www.w3.org/2000/svg";
function drawn(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return parent.appendChild(element);
}

function drawMark() {
  for (let n = 0; n < 24; n++) {
    const column = n % 6, row = Math.floor(n / 6), fade = column / 5;
    drawn("rect", {
      x: column * 7.6 + Math.sin(7 * n) * 2 * fade, y: row * 7.4 + Math.cos(5 * n) * 3 * fade,
      width: 6 - 3.4 * fade, height: 6 - 3.4 * fade, rx: 1, opacity: 1 - 0.7 * fade,
      fill: n % 5 === 4 ? "#D55E00" : "currentColor",
    }, at("mark"));
  }
}

function choices(id, entries) {
  at(id).replaceChildren(...entries.map(([value, title]) => new Option(title, value)));
}
