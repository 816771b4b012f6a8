// One step of the browser's history for each setting that a page was left standing at.
//
// Streamlit writes a moved control over the present step, so that Back would leave the site, and
// makes several steps of several controls set at once. Here, what it writes on one page stays on
// one step until the run has ended; then the step before gets back what it said.
function keepHistory() {
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  const kept = {
    settled: new URL(location.href),
    number: history.state?.number ?? 0, // of steps on this page that Undo can take back
    arriving: true, // by a link, a reload, Back or Forward: nothing was moved
  };

  history.pushState = (state, title, url) => {
    const next = new URL(url ?? location.href, location.href);
    if (next.pathname === location.pathname) {
      replace(history.state, title, next);
      return;
    }
    if (kept.settled.pathname === location.pathname) {
      replace({ number: kept.number }, "", kept.settled);
    }
    kept.number = 0;
    kept.arriving = true;
    push(state, title, next);
  };

  addEventListener("popstate", ({ state }) => {
    const { pathname, search } = kept.settled;
    if (location.pathname === pathname && location.search === search) return; // a heading's link
    kept.settled = new URL(location.href);
    kept.number = state?.number ?? 0;
    kept.arriving = true;
  });

  // The run that `query` belongs to has ended; somebody may have moved on since then.
  kept.settle = (query) => {
    if (location.search.slice(1) !== query) return;
    const here = new URL(location.href);
    if (!kept.arriving && here.search !== kept.settled.search) {
      replace({ number: kept.number }, "", kept.settled);
      kept.number += 1;
      push({}, "", here);
    }
    replace({ number: kept.number }, "", here);
    kept.settled = here;
    kept.arriving = false;
  };
  return kept;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const kept = (globalThis.keptHistory ??= keepHistory());
  const [undo, defaults] = parentElement.querySelectorAll("button");
  undo.onclick = () => history.back();
  defaults.onclick = () => setTriggerValue("defaults", true);
  // The address is written by other messages, of which the last may come a moment later.
  const settle = () => {
    kept.settle(data.query);
    undo.disabled = !kept.number;
    defaults.disabled = !data.query;
  };
  settle();
  const later = setTimeout(settle, 100);
  return () => clearTimeout(later);
}
