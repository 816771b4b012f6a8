// Counts down in the browser from the seconds that the server reports; no request per second.
const timers = new WeakMap();

export default function ({ parentElement, data }) {
  const line = parentElement.querySelector(".countdown");
  const end = performance.now() + 1000 * data.left;
  line.classList.toggle("is-wall", data.wall);
  const show = () => {
    const left = Math.ceil((end - performance.now()) / 1000);
    line.textContent = left > 0 ? `${left} s` : "Time is up";
    if (left <= 0) clearInterval(timers.get(parentElement));
  };
  clearInterval(timers.get(parentElement));
  timers.set(parentElement, setInterval(show, 250));
  show();
  return () => clearInterval(timers.get(parentElement));
}
