// A table to type limits into. Its inputs are the browser's own, and no run of the page writes into
// one: the server hears of what was typed when typing pauses, and of another table by its version.
const FIELDS = [
  ["lower", "Lowest", "decimal", "No value is below; one that is counts as this."],
  ["upper", "Highest", "decimal", "No value is above; one that is counts as this."],
  ["middle", "Middle", "decimal", "What counts as zero and stands for what is missing; halfway if left out."],
  ["levels", "Or levels", "text", "The answers there are, with semicolons between them. Each becomes a feature."],
];
const PAUSE_MS = 300;

const made = (tag, more = {}) => Object.assign(document.createElement(tag), more);

class Grid {
  constructor(root) {
    this.root = root;
    this.body = root.querySelector("tbody");
    const head = root.querySelector("thead tr");
    for (const [, title, , hint] of FIELDS)
      head.append(made("th", { scope: "col", textContent: title, title: hint }));
    this.body.addEventListener("input", (event) => this.note(event.target));
    this.body.addEventListener("focusout", () => this.tell());
    this.body.addEventListener("keydown", (event) => this.move(event));
    this.body.addEventListener("paste", (event) => this.paste(event));
  }

  show({ version, rows }, send) {
    this.send = send;
    if (version === this.version) return;
    this.version = version;
    this.typed = {};
    this.isNew = false;
    this.body.replaceChildren(...rows.map(([name, kind, texts]) => {
      const row = made("tr");
      row.append(made("th", { scope: "row", textContent: name, title: name }), made("td", { textContent: kind }));
      for (const [field, title, mode] of FIELDS) {
        const input = made("input", { type: "text", inputMode: mode, value: texts[field], autocomplete: "off", spellcheck: false });
        input.setAttribute("aria-label", `${title} of ${name}`);
        Object.assign(input.dataset, { name, field });
        const cell = made("td");
        cell.append(input);
        row.append(cell);
      }
      return row;
    }));
  }

  note(input) {
    const { name, field } = input.dataset;
    (this.typed[name] ??= {})[field] = input.value;
    this.isNew = true;
    clearTimeout(this.pause);
    this.pause = setTimeout(() => this.tell(), PAUSE_MS);
  }

  tell() {
    clearTimeout(this.pause);
    if (!this.isNew) return;
    this.isNew = false;
    this.send(structuredClone(this.typed));
  }

  // By rows with Enter and the arrows, as in a spreadsheet; Tab goes on by itself.
  move(event) {
    const by = { Enter: event.shiftKey ? -1 : 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || event.isComposing) return;
    const there = this.cell(event.target, by, 0);
    event.preventDefault();
    if (there) { there.focus(); there.select(); } else this.tell();
  }

  // Several cells from a spreadsheet: tabs between columns, lines between rows.
  paste(event) {
    const text = event.clipboardData.getData("text").replace(/\r?\n$/, "");
    if (!/[\t\n]/.test(text)) return;
    event.preventDefault();
    text.split(/\r?\n/).forEach((line, down) => line.split("\t").forEach((value, right) => {
      const input = this.cell(event.target, down, right);
      if (!input) return;
      input.value = value.trim();
      this.note(input);
    }));
  }

  cell(input, down, right) {
    const row = input.closest("tr"), rows = [...this.body.rows];
    const inputs = rows[rows.indexOf(row) + down]?.querySelectorAll("input");
    return inputs?.[[...row.querySelectorAll("input")].indexOf(input) + right];
  }
}

const grids = new WeakMap();

export default function ({ data, parentElement, setStateValue }) {
  if (!grids.has(parentElement)) grids.set(parentElement, new Grid(parentElement));
  grids.get(parentElement).show(data, (typed) => setStateValue("typed", typed));
}
