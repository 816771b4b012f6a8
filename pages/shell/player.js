// Views that were pinned, with all their frames: one, or two side by side at one scale, under one
// slider. Knows no server: a page mounts it, and so does a file that somebody took home.
//
//   const player = new Player(element);            // holds control.html, an explorer.html a view
//   player.show({ setting, epsilon, epsilons }, views);
class Player {
  constructor(root) {
    this.control = new Control(root.querySelector(".control"));
    this.control.release = () => {}; // nothing else hangs on it
    this.explorers = [...root.querySelectorAll(".view")].map((place) => new Explorer(place));
  }

  show(control, views) {
    const { explorers } = this;
    views.forEach((data, number) => {
      explorers[number].fill(data);
      const hand = { setting: data.setting, index: 0, release: () => {} };
      hand.go = (index) => this.control.go(index);
      hand.step = () => this.control.step(this.control.index);
      explorers[number].control = hand;
    });
    this.control.show(control);
    this.control.follow(this);
  }

  has(index) {
    return this.explorers.every((explorer) => explorer.has(index));
  }

  step(index) {
    return this.explorers.map((explorer) => explorer.step(index)).filter(Boolean).join(", ");
  }
}
