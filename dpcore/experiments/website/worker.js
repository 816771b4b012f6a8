// dpcore on Pyodide. A table is read before NumPy is there, and runs wait for it.
const NUMERICAL = ["numpy", "scipy"];
let tab = null, numerical = null;

async function begin({ pyodide, folder, version }) {
  postMessage({ status: "Fetching Python …" });
  const home = new URL(pyodide, folder).href;
  const { loadPyodide, version: there } = await import(`${home}pyodide.mjs`);
  if (there !== version) throw new Error(`Pyodide ${version} is needed, and ${there} is there.`);
  const python = await loadPyodide({ indexURL: home, packageBaseUrl: home });
  const source = await fetch(new URL("dpcore.zip", folder));
  if (!source.ok) throw new Error("dpcore.zip is not beside this page.");
  python.unpackArchive(await source.arrayBuffer(), "zip");
  return python;
}

async function loadNumerical(python) {
  postMessage({ status: "Fetching NumPy and SciPy …" });
  await python.loadPackage(NUMERICAL, { messageCallback: () => {} });
  // What cannot be fetched is said on the console alone.
  const absent = NUMERICAL.filter((name) => !(name in python.loadedPackages));
  if (absent.length) throw new Error(`${absent.join(" and ")} could not be fetched.`);
  postMessage({ status: "Running …" });
}

let python = null;
addEventListener("message", async ({ data: { live, id, question } }) => {
  if (live) {
    python = begin(live);
    python.catch(() => {}); // said to whoever asks
    return;
  }
  try {
    const here = await python;
    tab ??= here.pyimport("dpcore.experiments.tab").Tab();
    if (JSON.parse(question).ask === "run") {
      numerical ??= loadNumerical(here);
      await numerical.catch((error) => { numerical = null; throw error; });
    }
    postMessage({ id, answer: tab.answer(question) });
  } catch (error) {
    postMessage({ id, failure: `Python could not be used: ${String(error.message ?? error).trim().split("\n").at(-1)}` });
  }
});
