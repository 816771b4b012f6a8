// What Streamlit calls, again with each change of `data`; the explorer itself stays.
const explorers = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const link = (globalThis.energyExplorer ??= {});
  if (!explorers.has(parentElement)) {
    explorers.set(parentElement, new Explorer(parentElement));
  }
  const explorer = explorers.get(parentElement);
  explorer.released = (epsilon) => setTriggerValue("released", epsilon);
  explorer.show(data);
  link.fill = (frames) => explorer.fill(frames);
  if (link.frames) explorer.fill(link.frames);
  return () => {
    delete link.fill;
    explorer.stop();
  };
}
