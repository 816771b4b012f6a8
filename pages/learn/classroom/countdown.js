// Counts down in the browser from the seconds that the server says are left: no request a second.
// At zero it says so and does nothing else.
const clocks = new WeakMap();

export default function ({ parentElement, data }) {
  const line = parentElement.querySelector(".countdown");
  const endsAt = performance.now() + 1000 * data.left;
  line.classList.toggle("is-wall", data.wall);
  const show = () => {
    const left = Math.ceil((endsAt - performance.now()) / 1000);
    line.textContent = left > 0 ? `${left} s` : "Time is up";
    if (left <= 0) clearInterval(clocks.get(parentElement));
  };
  clearInterval(clocks.get(parentElement));
  clocks.set(parentElement, setInterval(show, 250));
  show();
  return () => clearInterval(clocks.get(parentElement));
}
