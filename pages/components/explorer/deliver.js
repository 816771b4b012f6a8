// Deliver data from the server to the explorer on the page, which may be mounted later. Numbers,
// exact pictures and the pictures of one run are separate elements, so that unchanged data are not
// sent again.
export default function ({ data: bytes }) {
  const data = JSON.parse(new TextDecoder().decode(bytes));
  const link = (globalThis.dpPcaExplorer ??= { explorers: new Set(), runs: new Map() });
  if (data.frames) link.numbers = data;
  else if (data.names) link.about = data;
  else {
    if (data.setting !== link.runsOf) [link.runsOf, link.runs] = [data.setting, new Map()];
    link.runs.set(data.run, data);
  }
  link.explorers.forEach((explorer) => explorer.receive(link));
}
