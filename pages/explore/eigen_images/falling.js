// The components of one draw at every ε, exact ones above; the slider of control.js goes through
// them. All of them are here before it is moved, and moving it asks nothing of the server.
class Falling {
  constructor(root) {
    this.find = (selector) => root.querySelector(`.falling ${selector}`);
    this.control = new Control(root.querySelector(".control"));
    this.control.release = () => {}; // nothing else on the page hangs on it
  }

  show({ setting, epsilon, epsilons, exact, frames, count }) {
    this.frames = epsilons.map(({ value }) => frames.find((frame) => frame.epsilon === value));
    for (const frame of frames) frame.image = this.pictured(frame);
    this.find(".exact").replaceChildren(this.pictured(exact));
    this.find(".count").textContent = count;
    if (setting !== this.setting) this.control.show({ setting, epsilon, epsilons });
    this.setting = setting;
    this.control.follow(this); // shows the step it stands at
  }

  pictured({ sprite, alt }) {
    const image = new Image();
    image.src = `data:image/png;base64,${sprite}`;
    image.alt = alt;
    return image;
  }

  has(index) {
    return Boolean(this.frames[index]);
  }

  step(index) {
    const frame = this.frames[index];
    if (!frame) return "";
    this.find("figcaption").textContent = frame.told;
    this.find(".private").replaceChildren(frame.image);
    this.find(".cosines").replaceChildren(...frame.cosines.map((cosine) => {
      const cell = document.createElement("span");
      cell.textContent = cosine;
      return cell;
    }));
    return frame.kept;
  }
}

const shown = new WeakMap();

export default function ({ data, parentElement }) {
  if (!shown.has(parentElement)) shown.set(parentElement, new Falling(parentElement));
  const falling = shown.get(parentElement);
  falling.show(data);
  return () => falling.control.stop();
}
