// What Streamlit calls for the explorer with its slider, again with each change of `data`. Frames
// come by another way, before or after it (streamlit_frames.js).
const mounted = new WeakMap();

function mount(root) {
  const [explorer, control] = [new Explorer(root), new Control(root)];
  explorer.follow(control);
  const settings = html("button", "Change data, sites or protocols");
  settings.type = "button";
  settings.addEventListener("click", () => {
    document.querySelector("[data-testid=stExpandSidebarButton]")?.click();
  });
  explorer.find(".settings").append(settings);
  return { explorer, control };
}

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const link = (globalThis.energyExplorer ??= {});
  // One that the page is about to drop may be called once more, after its successor.
  link.explorers ??= new Set();
  if (!mounted.has(parentElement)) mounted.set(parentElement, mount(parentElement));
  const { explorer, control } = mounted.get(parentElement);
  link.explorers.add(explorer);
  link.control = control;
  control.released = (epsilon) => setTriggerValue("released", epsilon);
  control.show(data);
  // What came while there was no explorer.
  if (link.frames && explorer.data !== link.frames) explorer.fill(link.frames);
  for (const round of link.rounds?.values() ?? []) {
    if (!explorer.people.has(round)) explorer.meet(round);
  }
  return () => {
    control.stop();
    link.explorers.delete(explorer);
  };
}
