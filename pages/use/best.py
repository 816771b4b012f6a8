"""What is best for my ε? Every private way to the components, ranked by real runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial

import streamlit as st

from dpcore.experiments.engine import charges_of
from dpcore.experiments.pca import RunSpec
from dpcore.experiments.summaries import bytes_in_words, counted, percent
from dpcore.experiments.sweep import Points
from dpcore.experiments.targets import (
    Ranked,
    Trusted,
    Way,
    chance_ahead,
    ranked,
    ranking_points,
    reasons_left_out,
    ways_for,
)
from dpcore.figures.energy import dots_by_protocol
from dpcore.params import params
from dpcore.pca.protocols.protocol import Kind
from dpcore.pca.protocols.register import PROTOCOLS
from pages.explore.tradeoffs import open_row
from pages.server import background_jobs
from pages.server.background_jobs import Progress
from pages.shell.controls import Selection
from pages.shell.page import page
from pages.widgets.charts import chart, is_dark, take_away
from pages.widgets.guarantee_card import promised_cards
from pages.widgets.job_progress import (
    JobRequest,
    go_where_clicked,
    of_sweeps,
    point_clicked,
    watch_request,
)
from pages.widgets.notices import (
    big_number,
)

# The ranking on a page: the answer, a row of dots a protocol, the table, what was left out.

_CHART, _TABLE = "best_do_chart", "best_do_table"
_SHARES = ("kept on average, %", "least, %", "most, %")
SHARES_SHOWN = dict.fromkeys(_SHARES, st.column_config.NumberColumn(format="%.1f"))


@dataclass(frozen=True)
class RankingQuestion:
    """What is held, and what is ranked."""

    base: RunSpec
    ways: tuple[Way, ...]

    @property
    def sweeps(self) -> tuple[Points, ...]:
        return ranking_points(self.base, self.ways)

    @property
    def command(self) -> str:
        """What gives the same ranking on the command line."""
        spec, usual = self.base, RunSpec()
        # What its rows differ in is no option, and neither is what stands there in any case.
        left_out = {"epsilon", "calibration", "repetitions", *(each.name for each in fields(Way))}
        names = [name for name in params(RunSpec) if name not in left_out]
        options = {"dataset": spec.dataset, "epsilon": f"{spec.epsilon:g}"} | {
            name: getattr(spec, name)
            for name in names
            if getattr(spec, name) != getattr(usual, name)
        }
        told = (f"--{name.replace('_', '-')} {value}" for name, value in options.items())
        return f"python -m dpcore best {' '.join(told)} --repetitions {spec.repetitions}"


def question_of(spec: RunSpec) -> RankingQuestion:
    """The sidebar's settings, but for what is ranked."""
    ways = ways_for(spec.dataset)
    return RankingQuestion(ways[0].spec(spec), ways)


def request_of(page: str, question: RankingQuestion) -> JobRequest:
    """The question as a job; every way of it is charged."""
    specs = [way.spec(question.base) for way in question.ways]
    asked = of_sweeps(page, question.sweeps, lambda: charges_of(specs))
    return replace(asked, question=question)


def found_so_far(page: str, question: RankingQuestion) -> tuple[Ranked, ...]:
    """The ranking as far as it is."""
    work = background_jobs.find(page, question)
    return () if work is None else ranking_of(work.progress())


def count_of(progress: Progress) -> str:
    """How far a ranking is."""
    events = [arrived[-1] for arrived in progress.arrived.values() if arrived]
    if not events:
        return "Reading the data …"
    stage = ("A few runs of each way", "All runs", "Those that run Markov chains")[len(events) - 1]
    return f"{stage}: {events[-1].done} of {events[-1].total} runs …"


def draw(question: RankingQuestion, progress: Progress) -> None:
    """The answer, the figure and the table of what has arrived."""
    go_where_clicked()
    found = ranking_of(progress)
    if not found:
        big_number("…", f"Running the first runs of {counted(len(question.ways), 'way')}.")
    else:
        _say_best(question, found)
        _buttons(found)
        _dots(question, found)
        _table(found)
        _left_out(progress)


def ranking_of(progress: Progress) -> tuple[Ranked, ...]:
    """The ranking of what has arrived."""
    return ranked(row for part in progress.arrived for row in progress.rows_of(part))


def _say_best(question: RankingQuestion, found: tuple[Ranked, ...]) -> None:
    best = found[0]
    sentence = f"survives with **{best.way.label}**, the most of {counted(len(found), 'way')}"
    more = f"All are private from the first row, at ε = {question.base.epsilon:g} or less. "
    more += f"Here {_must_be_trusted(best.trusted)}."
    untrusting = _first_trusting(found, Trusted.NOBODY)
    if untrusting is not None and untrusting is not best:
        more += f" Without trusting anyone, **{untrusting.way.label}** is best: "
        more += f"{percent(untrusting.mean)}."
    if len(found) > 1 and (chance := chance_ahead(best.energies, found[1].energies)) is not None:
        more += f" Next is {found[1].way.label} with {percent(found[1].mean)}; that the first is "
        more += f"better on average has a chance of {said_chance(chance)}, by "
        more += f"{counted(min(len(best.rows), len(found[1].rows)), 'pair')} of runs."
    big_number(percent(best.mean), f"{sentence}.", more)


def said_chance(chance: float) -> str:
    """A chance in whole percent, never called certain."""
    if chance > 0.99:
        return "more than 99 %"
    return "less than 1 %" if chance < 0.01 else percent(chance)


def _must_be_trusted(trusted: Trusted) -> str:
    return f"{trusted} need be trusted" if trusted is Trusted.NOBODY else f"you trust {trusted}"


def _first_trusting(found: Sequence[Ranked], trusted: Trusted) -> Ranked | None:
    return next((each for each in found if each.trusted is trusted), None)


def _buttons(found: tuple[Ranked, ...]) -> None:
    """The best of each trust: a click opens it."""
    leaders = [_first_trusting(found, trusted) for trusted in Trusted]
    with st.container(horizontal=True):
        for each in filter(None, leaders):
            st.button(
                f"Open {each.way.label}",
                help=f"In the {'Playground' if _has_sites(each) else 'Central algorithms'}, with "
                f"every control as it was run. Trusted: {each.trusted}.",
                key=f"best_do_open_{each.trusted.name}",
                on_click=open_way,
                args=(each,),
            )


def open_way(each: Ranked) -> None:
    """From a callback: every control as this way was run, on the page that has its protocol."""
    if _has_sites(each):
        open_row(each.rows[0], protocols=[each.protocol])
        point_clicked()
    else:
        open_row(each.rows[0])
        point_clicked("central")


def _has_sites(each: Ranked) -> bool:
    return PROTOCOLS[each.protocol].has_sites


def _dots(question: RankingQuestion, found: tuple[Ranked, ...]) -> None:
    leaders = list({each.protocol: each for each in reversed(found)}.values())[::-1]
    chart(
        dots_by_protocol(found, found[0].rows[0]["random_ratio"], dark=is_dark()),
        key=_CHART,
        alt=f"What survives at ε = {question.base.epsilon:g}, best first: "
        + "; ".join(f"{each.way.label}, {percent(each.mean)}" for each in leaders),
        on_select=partial(_open_dot, found),
        selection_mode="points",
    )
    st.caption(
        "A row is a protocol, a dot its rows and what is publicly known: the large one its best, "
        "with its range over the runs. Click a dot to open it with every control set."
    )


def _open_dot(found: tuple[Ranked, ...]) -> None:
    for point in st.session_state[_CHART].selection.points:
        open_way(found[point["customdata"][0]])
        return


def _table(found: tuple[Ranked, ...]) -> None:
    with st.expander(f"The ranking as a table: {counted(len(found), 'way')}"):
        st.dataframe(
            [_line(number, each) for number, each in enumerate(found, start=1)],
            column_config=SHARES_SHOWN,
            hide_index=True,
            key=_TABLE,
            on_select=partial(_open_line, found),
            selection_mode="single-row",
        )


def _open_line(found: tuple[Ranked, ...]) -> None:
    for number in st.session_state[_TABLE].selection.rows:
        open_way(found[number])


def shares_of(each: Ranked) -> dict[str, float]:
    """What the draws of a way keep, as columns of a table."""
    shares = each.mean, min(each.energies), max(each.energies)
    return {name: 100 * share for name, share in zip(_SHARES, shares, strict=True)}


def _line(number: int, each: Ranked) -> dict[str, object]:
    entry, first = PROTOCOLS[each.protocol], each.rows[0]
    return {
        "place": number,
        "protocol": entry.title,
        "rows, and what is publicly known": each.prepared,
        **shares_of(each),
        "draws": len(each.rows),
        "trusted": str(each.trusted),
        "bytes a site": bytes_in_words(each.bytes_per_site),
        "rounds": each.n_rounds,
        "exact ε": first["exact_epsilon"],
        "δ": 0.0 if entry.kind is Kind.PURE else first["delta"],
    }


def _left_out(progress: Progress) -> None:
    # Parts after the first say again what it said.
    skipped = {str(row): row for part in progress.arrived for row in progress.skipped_of(part)}
    left_out = reasons_left_out().items()
    lines = [{"what": PROTOCOLS[key].title, "why": reason} for key, reason in left_out]
    lines += [
        {
            "what": ", ".join(str(value) for key, value in row.items() if key != "skipped"),
            "why": str(row["skipped"]),
        }
        for row in skipped.values()
    ]
    with st.expander(f"Left out, and why: {len(lines)}"):
        st.dataframe(lines, hide_index=True)


PAGE = "best"


@page(
    reads=True, ledger=True, formulas="best",
    beside=(
        "The 100 % line, every share and the order of ways",
        "are measured on the rows, without any noise: what is best for a table tells of its rows.",
    ),
)  # fmt: skip
def show_best(selection: Selection) -> None:
    """What is best for my ε? Every private way to the components, ranked by real runs."""
    question = question_of(selection.spec)
    watch_request(
        request_of(PAGE, question),
        selection.dataset,
        partial(draw, question),
        count_of,
        is_there=lambda progress: bool(ranking_of(progress)),
    )
    found = found_so_far(PAGE, question)
    leader = found[0].way if found else question.ways[0]
    promised_cards(
        leader.spec(question.base),
        selection.dataset,
        (leader.protocol,),
        f"Of {leader.label}. Every other way promises that ε or less, against those named in "
        "its row.",
    )
    take_away(PAGE, [row for each in found for row in each.rows], commands=[question.command])
