// A drawing of the page as a picture of 16:9: its title above, what made it in small type below.
const WIDE = 1600, HIGH = 900, EDGE = 48;
const FONT = "Helvetica, Arial, sans-serif";
const SPACE = "http://www.w3.org/2000/svg";
// What style sheets may say of a drawing; a picture stands alone and has none.
const STYLES = [
  "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray",
  "opacity", "visibility", "font-size", "font-weight", "text-anchor",
];

function node(name, attributes = {}, text = "") {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

// A layer as it looks here. Letters keep the width they have in the page's font.
function standalone(layer, left, top) {
  const copy = layer.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [layer, ...layer.querySelectorAll("*")].forEach((original, index) => {
    const computed = getComputedStyle(original);
    for (const style of STYLES) copies[index].style[style] = computed[style];
    if (!/^t(ext|span)$/.test(original.tagName) || !original.textContent) return;
    copies[index].style.fontFamily = FONT;
    if (original.querySelector("tspan")) return;
    copies[index].setAttribute("textLength", original.getComputedTextLength());
    copies[index].setAttribute("lengthAdjust", "spacingAndGlyphs");
  });
  const at = layer.getBoundingClientRect();
  copy.removeAttribute("aria-label"); // the picture has its own
  copy.style.background = "none";
  const place = { x: at.left - left, y: at.top - top, width: at.width, height: at.height };
  for (const [key, value] of Object.entries(place)) copy.setAttribute(key, value);
  return copy;
}

const pen = document.createElement("canvas").getContext("2d");

function lengthOf(text, size) {
  pen.font = `${size}px ${FONT}`;
  return pen.measureText(text).width;
}

function wrapped(text, size) {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (lengthOf(longer, size) <= WIDE - 2 * EDGE) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// Layers lie on each other on the page; words are { title, told, notes }, the last one a list; keys
// are { swatch, label }, of a drawing whose legend is not in it.
function pictureOf(layers, words, keys) {
  const boxes = layers.map((layer) => layer.getBoundingClientRect());
  const left = Math.min(...boxes.map((box) => box.left));
  const top = Math.min(...boxes.map((box) => box.top));
  const width = Math.max(...boxes.map((box) => box.right)) - left;
  const height = Math.max(...boxes.map((box) => box.bottom)) - top;
  const app = getComputedStyle(document.querySelector(".stApp"));
  const picture = node("svg", {
    xmlns: SPACE, viewBox: `0 0 ${WIDE} ${HIGH}`, width: WIDE, height: HIGH,
    "font-family": FONT, fill: app.color, role: "img",
  });
  picture.append(
    node("title", {}, words.title),
    node("desc", {}, [words.told, ...words.notes].join(" ")),
    node("rect", { width: "100%", height: "100%", fill: app.backgroundColor }),
  );
  const write = (text, size, weight, y) => {
    picture.append(node("text", { x: EDGE, y, "font-size": size, "font-weight": weight }, text));
  };
  let above = EDGE + 12;
  for (const line of wrapped(words.title, 37)) { write(line, 34, 700, above); above += 42; }
  for (const line of wrapped(words.told, 22)) { write(line, 22, 400, above); above += 28; }
  let across = EDGE;
  for (const { swatch, label } of keys) {
    const copy = standalone(swatch, 0, 0);
    copy.setAttribute("x", across);
    copy.setAttribute("y", above);
    const said = node("text", { x: across + 42, y: above + 13, "font-size": 17 }, label);
    picture.append(copy, said);
    across += 42 + lengthOf(label, 17) + 28;
  }
  if (keys.length) above += 36;
  const notes = words.notes.flatMap((note) => wrapped(note, 15));
  let below = HIGH - EDGE / 2 - 20 * (notes.length - 1);
  const room = below - 30 - above;
  for (const line of notes) { write(line, 15, 400, below); below += 20; }
  const scale = Math.min((WIDE - 2 * EDGE) / width, room / height);
  const move = `translate(${(WIDE - scale * width) / 2} ${above}) scale(${scale})`;
  const drawing = node("g", { transform: move });
  drawing.append(...layers.map((layer) => standalone(layer, left, top)));
  picture.append(drawing);
  return new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" });
}

async function asPng(blob) {
  const address = URL.createObjectURL(blob);
  const image = new Image();
  image.src = address;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [WIDE, HIGH];
  canvas.getContext("2d").drawImage(image, 0, 0, WIDE, HIGH);
  URL.revokeObjectURL(address);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// The buttons of a drawing; `layers` and `told` are asked for when one is pressed.
function saveButtons(name, layers, told, keys = () => []) {
  return ["PNG", "SVG"].map((kind) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = kind;
    button.title = `This figure, 16:9, with its settings, as ${kind}`;
    button.addEventListener("click", async () => {
      const drawing = layers();
      const picture = pictureOf(drawing, wordsFor(drawing[0], told()), keys());
      save(kind === "PNG" ? await asPng(picture) : picture, `${name()}.${kind.toLowerCase()}`);
    });
    return button;
  });
}

// The heading a figure stands under, what it shows, what made it, and where it is made again.
function wordsFor(drawing, told) {
  const inPage = drawing.getRootNode().host ?? drawing;
  const headings = [...document.querySelectorAll(".stMain :is(h1, h2, h3)")].filter(
    (heading) => heading.checkVisibility() &&
      heading.compareDocumentPosition(inPage) & Node.DOCUMENT_POSITION_FOLLOWING,
  );
  const title = headings.at(-1)?.querySelector("[id], span")?.textContent
    ?? headings.at(-1)?.textContent ?? document.title;
  const { settings = "", promises = [] } = globalThis.figureWords ?? {};
  const notes = [settings, ...promises, `DP-PCA Lab: ${location.href}`].filter(Boolean);
  return { title: title.trim(), told, notes };
}
