// A deck in a file of its own: ← and → move ε, Page Up and Page Down the slides. Nothing is asked
// of anybody: every frame is in here.
const slides = [...document.querySelectorAll(".slide")];
const deck = JSON.parse(document.getElementById("deck").textContent);
const players = slides.map((slide, number) => {
  if (!deck[number].views.length) return null;
  const player = new Player(slide);
  player.show(deck[number].control, deck[number].views);
  slide.querySelectorAll(".view > h2").forEach((title, k) => {
    title.textContent = deck[number].captions[k];
  });
  return player;
});
let at = 0;

function showSlide(number) {
  players[at]?.control.stop();
  at = Math.min(Math.max(number, 0), slides.length - 1);
  slides.forEach((slide, k) => { slide.hidden = k !== at; });
  globalThis.figureWords = { settings: deck[at].settings, promises: deck[at].promises };
  document.querySelector("nav output").textContent = `${at + 1} of ${slides.length}`;
  scrollTo(0, 0);
  fit();
}

// What a slide promises stands last in it, and a wall is not scrolled: the letters give way.
function fit() {
  const root = document.documentElement;
  root.style.fontSize = "";
  for (let size = parseFloat(getComputedStyle(root).fontSize);
    innerWidth > 800 && size > 14 && root.scrollHeight > innerHeight; size -= .5) {
    root.style.fontSize = `${size - .5}px`;
  }
}

function moved(by) {
  const control = players[at]?.control;
  const index = (control?.index ?? -1) + by;
  if (control?.epsilons[index]) control.go(index);
}

const keys = {
  ArrowLeft: () => moved(-1), ArrowRight: () => moved(1),
  PageUp: () => showSlide(at - 1), PageDown: () => showSlide(at + 1),
  Home: () => showSlide(0), End: () => showSlide(slides.length - 1),
};
addEventListener("resize", fit);
addEventListener("keydown", (event) => {
  if (!keys[event.key] || event.target.matches("input, select")) return;
  event.preventDefault();
  keys[event.key]();
});
document.querySelector(".previous").onclick = keys.PageUp;
document.querySelector(".next").onclick = keys.PageDown;
showSlide(0);
