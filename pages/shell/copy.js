// A link and its Copy button. Browsers have no clipboard for scripts on plain http from another
// machine; there the selected field is copied as by hand.
export default function ({ data, parentElement }) {
  const field = parentElement.querySelector("input");
  const button = parentElement.querySelector("button");
  field.value = data.link;
  button.textContent = "Copy";
  field.onfocus = () => field.select();
  button.onclick = async () => {
    let copied = false;
    try {
      await navigator.clipboard.writeText(field.value);
      copied = true;
    } catch {
      field.focus();
      field.select();
      copied = document.execCommand("copy");
    }
    button.textContent = copied ? "Copied" : "Press Ctrl+C";
  };
}
