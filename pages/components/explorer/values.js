// Values of every line at one step: under the mouse, after a tap, and at the step of the arrow keys.

class Values {
  constructor(explorer) {
    this.explorer = explorer;
    this.box = explorer.find(".values");
    const slider = explorer.find("input[type=range]");
    slider.addEventListener("pointermove", (event) => this.show(this.stepAt(event.clientX)));
    slider.addEventListener("pointerleave", () => this.hide());
    slider.addEventListener("blur", () => this.hide());
    slider.addEventListener("input", () => this.show(Number(slider.value)));
    slider.addEventListener("keydown", (event) => { if (event.key === "Escape") this.hide(); });
  }

  stepAt(clientX) {
    const { left, right } = this.explorer.place;
    const offset = clientX - this.explorer.svg.getBoundingClientRect().left;
    const share = (offset - left) / (right - left);
    const last = this.explorer.steps.length - 1;
    return Math.min(last, Math.max(0, Math.round(share * last)));
  }

  hide() {
    this.box.hidden = true;
  }

  show(at) {
    const { frames, place, data } = this.explorer;
    const frame = frames.get(at);
    if (!frame || !place) return this.hide();
    const rows = this.explorer.visibleLines().map((line) => [line, frame.energies[line.id] ?? []])
      .filter(([, runs]) => runs.length)
      .sort(([, a], [, b]) => mean(b) - mean(a))
      .map(([line, runs]) => this.row(line, runs));
    const head = html("tr");
    head.append(html("th", unbroken(frame.where)), html("th", "mean"), html("th", "runs"));
    this.box.replaceChildren(head, ...rows);
    this.box.hidden = false;
    const position = place.left + (at / Math.max(1, data.steps.length - 1)) * (place.right - place.left);
    const isRight = position > (place.left + place.right) / 2;
    this.box.style.left = isRight ? "auto" : `${position + 14}px`;
    this.box.style.right = isRight ? `${place.width - position + 14}px` : "auto";
  }

  row({ label, colour }, runs) {
    const row = html("tr");
    const name = html("th", label);
    name.style.borderLeft = `4px solid ${colour}`;
    const [least, greatest] = [percent(Math.min(...runs)), percent(Math.max(...runs))];
    const range = runs.length === 1 ? "1 run" : `${least} to ${greatest}`;
    row.append(name, html("td", percent(mean(runs))), html("td", range));
    return row;
  }
}
