// What Streamlit calls for the picture; slider and frames come by other ways, before or after it.
const explorers = new WeakMap();

export default function ({ parentElement }) {
  const link = (globalThis.energyExplorer ??= {});
  if (!explorers.has(parentElement)) explorers.set(parentElement, new Explorer(parentElement));
  const explorer = explorers.get(parentElement);
  link.explorer = explorer;
  if (link.frames) explorer.fill(link.frames);
  if (link.control) explorer.follow(link.control);
  return () => {
    link.control?.follow(null);
    if (link.explorer === explorer) delete link.explorer;
  };
}
