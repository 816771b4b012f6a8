"""What a pinned page asks beside its runs along ε: a sweep or a search, which it then finds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpcore.experiments.engine.sweep import Sweep
from dpcore.experiments.ledger.pca_charges import of_plan
from dpcore.experiments.pca.sentences import counted
from pages.explore.tradeoffs.axes import AXES, SETTINGS
from pages.explore.tradeoffs.sweep_controls import asked_sweeps
from pages.presenting.pins import Pin
from pages.presenting.views import run_of, selection_of
from pages.server import visitors_jobs
from pages.server.background_jobs import Progress
from pages.sidebar.navigation import PAGES
from pages.use.plan.panels import count_of
from pages.use.plan.question import Question, question_of
from pages.widgets.watched_job import Request, of_sweeps


@dataclass(frozen=True)
class Asked:
    """A pin's question as a job, as its page would begin it.

    name: Of the pin's page, under which its runs are entered in the books.
    said: How far it is, in words.
    """

    request: Request
    name: str
    said: Callable[[Progress], str]

    @property
    def title(self) -> str:
        return PAGES[self.name].title

    @property
    def has_ended(self) -> bool:
        """Whether it was run to its end, in this session."""
        view = visitors_jobs.find(self.request.page, self.request.question)
        return view is not None and view.progress().state in ("finished", "failed")


def asked_by(pin: Pin) -> Asked | None:
    """The job behind a pin; None for a page without one.

    Raises `ParameterError or DataUnavailable` as `dpcore` says it of settings that cannot run, or
        data that are not there.
    """
    if pin.page == "plan":
        question = plan_of(pin)
        return Asked(Request("plan", question, question.parts, question.cost()), "plan", count_of)
    if pin.page != "tradeoffs":
        return None
    sweeps = sweeps_of(pin)
    specs = [cell.spec for sweep in sweeps for cell in sweep.cells() if cell.spec is not None]
    request = of_sweeps(visitors_jobs.SWEEPS, sweeps, lambda: of_plan(specs))

    def said(progress: Progress) -> str:
        done = sum(events[-1].done for events in progress.arrived.values() if events)
        return f"{done} of {counted(request.cost.draws, 'draw')}"

    return Asked(request, "tradeoffs", said)


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
