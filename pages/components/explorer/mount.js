// Entry point for Streamlit: called again with each change of `data`.
const mounted = new WeakMap();

function mount(root) {
  const [explorer, control] = [new Explorer(root), new Control(root)];
  explorer.follow(control);
  return { explorer, control };
}

export default function ({ data: [data], parentElement, setTriggerValue, setStateValue }) {
  const link = (globalThis.dpPcaExplorer ??= { explorers: new Set(), runs: new Map() });
  if (!mounted.has(parentElement)) {
    mounted.set(parentElement, mount(parentElement));
    if (matchMedia("(max-width: 640px)").matches) setStateValue("narrow", true);
  }
  const { explorer, control } = mounted.get(parentElement);
  link.explorers.add(explorer);
  control.released = (setting, at) => setTriggerValue("released", { setting, at });
  control.show(data);
  explorer.receive(link);
  return () => {
    control.stop();
    explorer.pictures.stop();
    mounted.delete(parentElement);
    link.explorers.delete(explorer);
  };
}
