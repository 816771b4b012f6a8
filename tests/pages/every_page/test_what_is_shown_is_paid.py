"""Whatever a page gets hold of that has noise in it is in the ledger when the page is done.

Pages come by private results through the caches of `pages/server` alone. Every public
function there is sorted below: what it hands over has to be paid, or entered as beyond any
budget, or has nothing private in it. While a page runs, each hand-over is written down, and so is
every stream of noise that is opened in any other way; what was written down is then compared with
the ledger. A new page is held to it without anybody thinking of it, and so is a result that comes
from a cache.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from streamlit.runtime.scriptrunner import get_script_run_ctx

import pages.server
from dpcore.experiments import statistic_runs
from dpcore.experiments.cca_runs import CcaSpec, dataset_of
from dpcore.experiments.charge_keys import compute_charges
from dpcore.experiments.classification_runs import canonical, promised_stages
from dpcore.experiments.engine import joined
from dpcore.privacy import Charge
from dpcore.streams import Purpose
from pages.server import caches, family_caches
from pages.shell.navigation import PAGES

NOISE = {
    Purpose.SITE_NOISE,
    Purpose.POOLED_NOISE,
    Purpose.MASK,
    Purpose.PREPARATION,
    Purpose.SUBSPACE,
    Purpose.TRAINING,
    Purpose.STATISTIC,
}
CURVES, CHAINS = "Curves beside the result", "Traces of PPCA's chains"


def of_subspaces(found, spec, repetition=0) -> list[Charge]:
    guarantees = {key: subspace.guarantee for key, subspace in found.items()}
    return numbered(spec.charges(guarantees, 1), {repetition})


def numbered(charges: list[Charge], numbers: set[int]) -> list[Charge]:
    return [Charge(p.release, frozenset(numbers), p.what, p.seen) for p in charges]


def of_walk(found, spec, site) -> list[Charge]:
    return of_subspaces(caches.subspaces(spec), spec)


def of_found(found, spec, protocol) -> list[Charge]:
    guarantees = {protocol: found[0][0].guarantee}
    return spec.charges(guarantees)


def of_learnt(found, specs, **_) -> list[Charge]:
    return [
        charge
        for spec in map(canonical, specs)
        for charge in spec.charges(promised_stages(spec, family_caches.problem(spec.key())))
    ]


def of_outcome(found, spec) -> list[Charge]:
    return canonical(spec).charges(found.guarantees, 1)


def of_batch(found, spec) -> list[Charge]:
    return compute_charges(found.rows[:1])


# What each function hands over that has to be paid.
RESULTS: dict[str, Callable[..., list[Charge]]] = {
    "caches.rows": lambda found, spec: compute_charges(found),
    "caches.first_rows": lambda found, spec: compute_charges(found[0]),
    "caches.subspaces": of_subspaces,
    # Ten people rebuilt from one run.
    "caches.levels": lambda found, spec, run: of_subspaces(caches.subspaces(spec, run), spec, run),
    # What releases say of themselves is made of what they are.
    "caches.self_assessed": lambda found, spec: of_subspaces(caches.subspaces(spec), spec),
    "caches.frame": lambda found, *_: compute_charges(found.rows),
    "family_caches.steps": of_walk,
    "family_caches.central_rows": lambda found, specs, **_: compute_charges(found),
    "family_caches.batch": of_batch,
    "family_caches.found_pairs": of_found,
    "family_caches.rows": of_learnt,
    "family_caches.outcome": of_outcome,
}


def of_cells(found, *_) -> list[str]:
    return [row["dataset"] for row in found[0]]


def of_frames(found, *_) -> list[str]:
    return [frame.spec.dataset for frame in found[0]]


def of_rounds(found, specs) -> list[str]:
    # Runs of one epsilon are those of the answer, which are paid for.
    return [specs[0].dataset] if any(len(each.levels) > 1 for each in found) else []


def of_curves(job, name, sweeps) -> list[str]:
    specs = [cell.spec for sweep in sweeps for cell in sweep.cells()]
    found = [
        dataset_of(spec.source) if isinstance(spec, CcaSpec) else spec.dataset_read()
        for spec in filter(None, specs if job.rows_so_far()[0] else [])
    ]
    # Measurements on a spectrum that is given read nobody's rows.
    return [dataset for dataset in found if dataset is not None]


# What each hands over that nobody asked for: whose data, and as what it has to be entered.
BEYOND: dict[str, tuple[str, Callable[..., list[str]]]] = {
    "caches.finished_rows": (CURVES, of_cells),
    "caches.finished": (CURVES, of_frames),
    "caches.rounds": (CURVES, of_rounds),
    "background_jobs.live": (CURVES, of_curves),
    "family_caches.errors_of": (
        CURVES,
        lambda found, identity, *_: [
            "the typed numbers" if identity[0] == "typed" else identity[0]
        ],
    ),
    "family_caches.panel_states": (
        CURVES,
        lambda states: [state.figure.base.dataset for state in states if state.draws],
    ),
    "family_caches.chains": (CHAINS, lambda found, spec, *_: [spec.dataset]),
}
# Rows of these arrive while one looks, and are paid as they come.
FOLLOWED = {
    "background_jobs.find": lambda job: job.rows_so_far()[0],
    "background_jobs.find_sweeps": lambda job: job.rows_so_far()[0],
}
# No row of any data set, or nothing but what is exact and carries its badge.
FREE = {
    "caches.one_blas_thread", "caches.visitor",
    "caches.prepared", "caches.problem_of", "caches.feature_names",
    "caches.statement", "caches.shown", "caches.dataset_statuses",
    "caches.cells", "caches.of_one_draw", "caches.is_self_assessed",
    "caches.exact_pictures", "caches.features_of", "caches.people",
    "caches.n_pictured", "caches.true_and_exact",
    "family_caches.views", "family_caches.columns", "family_caches.cca_problem",
    "family_caches.exact_pairs",
    "family_caches.central_problem", "family_caches.different",
    "family_caches.halves", "family_caches.problem", "family_caches.column",
    "family_caches.tutorial_outputs",
    "background_jobs.cost_of", "background_jobs.goes_on", "background_jobs.scheduler",
    "background_jobs.run_options", "background_jobs.forget_gone",
    "background_jobs.read_ahead",
}  # fmt: skip
# Compute or begin what others hand over, or cut up what they have handed over.
INSIDE = {
    "caches.cached", "caches.waited_for", "caches.counted_out", "caches.cell_rows",
    "caches.is_self_assessed",
    "family_caches.people",
    "family_caches.guarantee_of", "family_caches.step_pictures", "background_jobs.rows_now",
    "background_jobs.rows_of", "background_jobs.start", "background_jobs.sweep_part",
    "background_jobs.parts_of_sweeps",
}  # fmt: skip


def public_functions() -> dict[str, object]:
    """Every function that the caches offer to pages, cached ones too."""
    found = {}
    for found_module in pkgutil.iter_modules(pages.server.__path__):
        if not found_module.name.endswith(("caches", "background_jobs")):
            continue
        module = importlib.import_module(f"pages.server.{found_module.name}")
        for name, value in vars(module).items():
            if name.startswith("_") or inspect.isclass(value) or not callable(value):
                continue
            if getattr(value, "__module__", None) == module.__name__:
                found[f"{module.__name__.rpartition('.')[2]}.{name}"] = value
    return found


def test_every_function_that_hands_results_to_pages_is_sorted():
    assert set(public_functions()) == {*RESULTS, *BEYOND, *FOLLOWED, *FREE, *INSIDE}


class Recorder:
    """What pages were handed, and noise that came in no known way."""

    def __init__(self):
        self.due: list[Charge] = []
        self.beyond: set[tuple[str, str]] = set()
        self.statistics: list[tuple] = []
        self.unknown: list[Purpose] = []
        self._inside = threading.local()

    def patch(self, monkeypatch) -> None:
        for name, function in public_functions().items():
            module, _, attribute = name.partition(".")
            wrapped = self._wrapped(name, function)
            monkeypatch.setattr(f"pages.server.{module}.{attribute}", wrapped)
        monkeypatch.setattr(
            statistic_runs, "release", self._wrapped("release", statistic_runs.release)
        )
        make = np.random.default_rng
        monkeypatch.setattr(np.random, "default_rng", lambda seed=None: self._opened(make, seed))

    def _wrapped(self, name: str, function: Callable) -> Callable:
        @functools.wraps(function)
        def handed_over(*args, **kwargs):
            depth = getattr(self._inside, "depth", 0)
            self._inside.depth = depth + 1
            try:
                found = function(*args, **kwargs)
                if depth == 0 and get_script_run_ctx(suppress_warning=True) is not None:
                    caller = sys._getframe(1).f_globals["__name__"]
                    self._note(name, found, args, kwargs, caller)
            finally:
                self._inside.depth = depth
            return found

        return handed_over

    def _note(self, name: str, found: object, args: tuple, kwargs: dict, caller: str) -> None:
        if name in RESULTS:
            self.due += RESULTS[name](found, *args, **kwargs)
        elif name in BEYOND:
            what, whose = BEYOND[name]
            self.beyond |= {(dataset, what) for dataset in whose(found, *args, **kwargs)}
        elif name in FOLLOWED and found is not None:
            self.due += compute_charges(FOLLOWED[name](found))
        elif name == "release" and not caller.startswith("dpcore"):
            # Within dpcore it is called for the scale of its noise alone.
            spec = args[1]
            settings = (spec.kind, spec.low, spec.high, spec.epsilon, spec.mechanism, spec.seed)
            self.statistics.append(settings)

    def _opened(self, make: Callable, seed: object) -> np.random.Generator:
        key = getattr(seed, "spawn_key", ())
        on_a_page = get_script_run_ctx(suppress_warning=True) is not None
        if on_a_page and key and not getattr(self._inside, "depth", 0) and key[0] in NOISE:
            self.unknown.append(Purpose(key[0]))
        return make(seed)

    def check(self, at) -> None:
        """Everything handed over is paid or entered, by the draw."""
        books = at.session_state["_spent"] if "_spent" in at.session_state else {}
        for charge in self.due:
            dataset, key = charge.release.identity
            paid = books[dataset].charges.get(key) if dataset in books else None
            assert paid is not None, f"{charge.seen} of {dataset} is not paid: {key}"
            assert charge.numbers <= paid.numbers, f"not all draws are paid: {key}"
        for dataset, what in self.beyond:
            assert what in books[dataset].uncovered, f"{what} of {dataset} is not entered"
        keys = [key for book in books.values() for key in book.charges]
        for settings in self.statistics:
            assert any(joined(*settings) in key for key in keys), f"{settings} is not paid"
        assert not self.unknown, f"noise drawn by a way the ledger knows nothing of: {self.unknown}"


@pytest.fixture
def recorder(monkeypatch, tmp_path) -> Recorder:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path / "cache"))
    found = Recorder()
    found.patch(monkeypatch)
    return found


SHORT = {"repetitions": "2"}
# Attacks draw as they like, on invented people.
INVENTED = {"audit"}


def path_of(name: str) -> str:
    return f"{PAGES[name].section.lower()}/{name}"


@pytest.mark.parametrize("name", list(PAGES))
def test_every_page_pays_for_what_it_shows(open_page, recorder, name):
    at = open_page(path_of(name), **SHORT)
    # Curves begin to fill in at the second look.
    at.run()
    assert not at.exception
    if name in INVENTED:
        recorder.unknown.clear()
    recorder.check(at)


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("play", {"protocols": "Pooled, trusted"}),
        ("play", {"protocols": "DPdisPCA", "compare": "true"}),
        ("play", {"protocols": "CAPE", "preparation": "private"}),
        ("eigen_images", {"method": "One site alone"}),
        ("statistics", {"stat_kind": "Histogram"}),
        ("statistics", {"stat_source": "Typed numbers", "stat_kind": "Variance"}),
        ("classification", {"class_view": "Look inside", "class_draws": "2"}),
        ("classification", {"class_view": "Split the budget", "class_draws": "2"}),
        ("cca", {"compare": "true"}),
        ("algorithm", {"step": "5"}),
    ],
    ids=str,
)
def test_so_does_every_view(open_page, recorder, name, query):
    at = open_page(path_of(name), **SHORT, **query)
    assert not at.exception
    recorder.check(at)


@pytest.mark.parametrize("name", ["tradeoffs", "reproduce_2012"])
def test_so_does_every_run_beside_a_page(open_page, recorder, name):
    at = open_page(path_of(name), **SHORT, tradeoffs_values_epsilon="0.5, 1")
    next(b for b in at.button if b.label == "Run").click().run()
    deadline = time.monotonic() + 180
    while at.session_state.get("_spent_followed"):
        assert time.monotonic() < deadline
        time.sleep(0.1)
        at.run()
    assert recorder.due
    recorder.check(at)


def test_a_forgotten_payment_is_found(open_page, recorder, monkeypatch):
    monkeypatch.setattr("pages.widgets.session_ledger.charge_run", lambda *_, **__: None)
    at = open_page("explore/play", **SHORT)
    with pytest.raises(AssertionError, match="is not paid"):
        recorder.check(at)


def test_curves_that_are_not_entered_are_found(open_page, recorder, monkeypatch):
    monkeypatch.setattr("pages.widgets.session_ledger.curves", lambda *_: True)
    at = open_page("explore/play", **SHORT).run()
    with pytest.raises(AssertionError, match="Curves beside the result"):
        recorder.check(at)


def test_one_site_alone_is_pictured_when_it_is_chosen(open_page):
    def pictured(**query: str) -> bool:
        at = open_page("explore/play", play_tab="components", **SHORT, **query)
        return any("One site alone" in each.proto.body for each in at.get("html"))

    assert pictured()
    assert not pictured(protocols="DPdisPCA")
