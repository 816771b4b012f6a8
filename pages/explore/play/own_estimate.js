// A drawing that the server made, and under it, as under every chart, its numbers and its pictures.
const FRAME = `<div class="drawing"></div><div class="figure-tools own"><details>
  <summary>As a table</summary>
  <div class="scroll" tabindex="0" role="region" aria-label="Table"></div>
</details></div>`;

export default function ({ data: [data], parentElement }) {
  const find = (selector) => parentElement.querySelector(selector);
  if (!find(".drawing")) {
    parentElement.innerHTML = FRAME;
    const drawing = () => find(".drawing > svg");
    find(".figure-tools").append(
      ...saveButtons(() => "dp-pca-lab-own-estimate", () => [drawing()], () => drawing().ariaLabel),
    );
  }
  find(".drawing").innerHTML = data.svg;
  find(".scroll").innerHTML = data.table;
}
