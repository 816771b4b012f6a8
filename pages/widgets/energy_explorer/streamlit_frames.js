// Hands what the server has finished to the explorer on the page, which may come later: frames, or
// the people of one run.
export default function ({ data: [data] }) {
  const link = (globalThis.energyExplorer ??= {});
  if (data.frames) {
    link.frames = data;
    link.explorers?.forEach((explorer) => explorer.fill(data));
    return;
  }
  if (data.setting !== link.met) [link.met, link.rounds] = [data.setting, new Map()];
  link.rounds.set(`${data.run} of ${data.epsilons}`, data);
  link.explorers?.forEach((explorer) => explorer.meet(data));
}
