// What Streamlit calls for the slider, again with each change of `data`; the slider itself stays.
const controls = new WeakMap();

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const link = (globalThis.energyExplorer ??= {});
  if (!controls.has(parentElement)) controls.set(parentElement, new Control(parentElement));
  const control = controls.get(parentElement);
  control.released = (epsilon) => setTriggerValue("released", epsilon);
  link.control = control;
  control.show(data);
  if (link.explorer) link.explorer.follow(control);
  return () => {
    control.stop();
    if (link.control === control) delete link.control;
  };
}
