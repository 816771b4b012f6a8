"""What a pinned page asks beside its runs along ε: a sweep or a search, which it then finds."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from dpcore.experiments.engine.run_cost import RunCost
from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.ledger.pca_charges import of_plan
from dpcore.experiments.pca.sentences import counted
from pages.explore.tradeoffs.axes import AXES, SETTINGS
from pages.explore.tradeoffs.sweep_controls import asked_sweeps
from pages.presenting.pins import Pin
from pages.presenting.views import run_of, selection_of
from pages.server import visitors_jobs
from pages.server.background_jobs import Parts, Progress
from pages.sidebar.navigation import PAGES
from pages.use.plan.panels import count_of
from pages.use.plan.question import Question, question_of
from pages.widgets.session_ledger import Planned


@dataclass(frozen=True)
class Asked:
    """A pin's question as a job, as its page would begin it.

    Parameters
    ----------
    page, question, parts
        As `visitors_jobs.start` takes them.
    name : str
        Of the pin's page, under which its runs are entered in the books.
    cost : RunCost
    charge : callable or None
        As for `session_ledger.has_room`.
    said : callable
        How far it is, in words.
    """

    page: str
    question: Hashable
    parts: Callable[[], Parts]
    name: str
    cost: RunCost
    charge: Planned
    said: Callable[[Progress], str]

    @property
    def title(self) -> str:
        return PAGES[self.name].title

    @property
    def has_ended(self) -> bool:
        """Whether it was run to its end, in this session."""
        view = visitors_jobs.find(self.page, self.question)
        return view is not None and view.progress().state in ("finished", "failed")


def asked_by(pin: Pin) -> Asked | None:
    """The job behind a pin; None for a page without one.

    Raises
    ------
    ParameterError or DataUnavailable
        As `dpcore` says it of settings that cannot run, or data that are not there.
    """
    if pin.page == "plan":
        question = plan_of(pin)
        return Asked("plan", question, question.parts, "plan", question.cost(), None, count_of)
    if pin.page != "tradeoffs":
        return None
    sweeps = sweeps_of(pin)
    cost = visitors_jobs.cost_of(sweeps)
    specs = [cell.spec for sweep in sweeps for cell in sweep.cells() if cell.spec is not None]

    def said(progress: Progress) -> str:
        done = sum(events[-1].done for events in progress.arrived.values() if events)
        return f"{done} of {counted(cost.draws, 'draw')}"

    return Asked(
        visitors_jobs.SWEEPS, sweeps, lambda: visitors_jobs.parts_of_sweeps(sweeps), "tradeoffs",
        cost, lambda: of_plan(specs), said,
    )  # fmt: skip


def plan_of(pin: Pin) -> Question:
    """What a pin of *What would it take?* asks."""
    target, field, over = (pin.stands(f"plan_{name}") for name in ("target", "find", "protocol"))
    return question_of(run_of(pin).spec, target / 100, field, over)


def sweeps_of(pin: Pin) -> tuple[Sweep, ...]:
    """What a pin of the Trade-offs compares."""
    field = pin.stands("tradeoffs_field")
    return asked_sweeps(
        selection_of(pin),
        field,
        pin.stands(f"tradeoffs_values_{field}") or AXES[field].values,
        pin.stands("tradeoffs_datasets"),
        {name: pin.stands(f"tradeoffs_{name}") for name in SETTINGS},
        published=pin.stands("tradeoffs_published"),
    )
