// What Streamlit calls for two views side by side, again with each change of `data`.
const players = new WeakMap();

export default function ({ data, parentElement }) {
  if (!players.has(parentElement)) players.set(parentElement, new Player(parentElement));
  const player = players.get(parentElement);
  player.show(data.control, data.views);
  parentElement.querySelectorAll(".view > h2").forEach((title, number) => {
    title.textContent = data.captions[number];
  });
  return () => player.control.stop();
}
