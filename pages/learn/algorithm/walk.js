// Scrolls to the step that the address names, and to one that is pressed, without the server.
const section = (step) => document.querySelector(`.stMain [class*="st-key-walk_"][class*="_of_${step}"]`);

function scroll(step) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  section(step)?.scrollIntoView({ block: "start", behavior: still ? "auto" : "smooth" });
}

const walks = new WeakMap();

export default function ({ data, parentElement }) {
  // A run that moves another control leaves the page where it stands.
  const walk = walks.get(parentElement) ?? { step: data.steps[0].key };
  walks.set(parentElement, walk);
  document.removeEventListener("click", walk.press);
  walk.press = (event) => {
    const pressed = event.target.closest?.(".st-key-step button")?.innerText.trim();
    const found = data.steps.find(({ title }) => title === pressed);
    if (!found) return;
    walk.step = found.key;
    scroll(found.key);
  };
  document.addEventListener("click", walk.press);
  if (walk.step !== data.step) {
    walk.step = data.step;
    scroll(data.step);
  }
  return () => document.removeEventListener("click", walk.press);
}
