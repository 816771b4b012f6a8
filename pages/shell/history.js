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
    ended: null, // what the address says, or is about to, as the last run has ended
  };

  history.pushState = (state, title, url) => {
    const next = new URL(url ?? location.href, location.href);
    if (next.pathname === location.pathname) {
      next.hash ||= location.hash; // which Streamlit leaves out
      history.replaceState(history.state, title, next);
      return;
    }
    if (kept.settled.pathname === location.pathname) {
      replace({ number: kept.number }, "", kept.settled);
    }
    kept.number = 0;
    kept.arriving = true;
    kept.ended = null;
    push(state, title, next);
  };

  // The address and the word that a run has ended come by different messages, in any order.
  history.replaceState = (state, title, url) => {
    replace(state, title, url);
    settle();
  };

  addEventListener("popstate", ({ state }) => {
    const { pathname, search } = kept.settled;
    if (location.pathname === pathname && location.search === search) return; // a heading's link
    kept.settled = new URL(location.href);
    kept.number = state?.number ?? 0;
    kept.arriving = true;
    kept.ended = null;
  });

  // Somebody may have moved on since the run ended.
  function settle() {
    if (location.search.slice(1) !== kept.ended) return;
    const here = new URL(location.href);
    if (!kept.arriving && here.search !== kept.settled.search) {
      replace({ number: kept.number }, "", kept.settled);
      kept.number += 1;
      push({}, "", here);
    }
    replace({ number: kept.number }, "", here);
    kept.settled = here;
    kept.arriving = false;
    kept.onSettled?.();
  }

  kept.hasEnded = (query, onSettled) => {
    Object.assign(kept, { ended: query, onSettled });
    settle();
  };
  return kept;
}

export default function ({ data: [data], parentElement, setTriggerValue }) {
  const kept = (globalThis.keptHistory ??= keepHistory());
  const [undo, defaults] = parentElement.querySelectorAll("button");
  undo.onclick = () => history.back();
  defaults.onclick = () => setTriggerValue("defaults", true);
  const say = () => {
    undo.disabled = !kept.number;
    defaults.disabled = !data.query;
  };
  say();
  kept.hasEnded(data.query, say);
}
